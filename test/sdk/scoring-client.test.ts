import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { expect } from 'chai';
import {
  BadRequestError,
  ConnectionError,
  IdempotencyKeyReusedError,
  MalformedBodyError,
  NotProvisionedError,
  ScoringClient,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
  UnknownKeyError,
  waitUntil,
} from '../../src/sdk/client.ts';
import { type RunningService, startService } from '../service/running-service.ts';

const REQUEST = {
  sellPointKey: 'shop-1',
  clientIdKey: 'ann',
  method: 'card',
  amountRequested: '25.00',
  orderRef: 'order-1',
};

const { method, orderRef, ...rest } = REQUEST;
const SCORE = { ...rest, selectedMethodKey: method };

/** What a promise rejected with; fails when it did not. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`it gave ${JSON.stringify(value)} for ${orderRef}`);
    },
    (error: unknown) => error,
  );
}

describe('the scoring client at a running service', () => {
  let service: RunningService;
  let client: ScoringClient;
  let connect: (accessKey: string) => ScoringClient;
  before(async () => {
    service = await startService({ basePath: '/pay' });
    connect = (accessKey) => new ScoringClient({ baseUrl: `${service.application.callerUrl}/`, accessKey });
    client = connect((await service.tenant()).key);
  });
  after(() => service.stop());

  it('scores a payer', async () => {
    expect(await client.score(SCORE)).to.deep.equal({
      clientGroup: 'NEW',
      paymentScore: '0.5000',
      isBot: false,
    });
  });

  it('gives a verdict with what leads back to it', async () => {
    const first = await client.verdict(REQUEST);
    expect(first.answer).to.include({ verdict: 'GET_NEW', ruleVersion: 'p2.v10', isBot: false });
    expect(first.decisionId).to.match(/^.{22}\.1$/);
    expect(first.replayed).to.equal(false);
    expect(waitUntil(first.answer)).to.equal(null);
    const again = await client.verdict(REQUEST, { idempotencyKey: first.idempotencyKey });
    expect(again).to.deep.equal({ ...first, replayed: true });
  });

  it('says when to ask again after WAIT, never too early', async () => {
    const { answer } = await client.verdict({ ...REQUEST, clientIdKey: 'bob' });
    expect(answer.verdict).to.equal('GET_NEW');
    const waiting = (await client.verdict({ ...REQUEST, clientIdKey: 'bob' })).answer;
    if (waiting.verdict !== 'WAIT') throw new Error('no WAIT');
    const moment = waitUntil(waiting, new Date(1_000_000));
    expect(moment?.getTime()).to.equal(1_000_000 + waiting.waitSeconds * 1000 + 250);
  });

  it('tells refusals apart by class', async () => {
    const unknown = await failure(connect('nonsense').score(SCORE));
    expect(unknown).to.be.instanceOf(UnknownKeyError);
    const scoreOnly = connect((await service.tenant('shop', ['score'])).key);
    expect(await failure(scoreOnly.verdict(REQUEST))).to.be.instanceOf(NotProvisionedError);
    const reused = await failure(
      client
        .verdict({ ...REQUEST, method: 'other' }, { idempotencyKey: 'a' })
        .then(() => client.verdict(REQUEST, { idempotencyKey: 'a' })),
    );
    expect(reused).to.be.instanceOf(IdempotencyKeyReusedError);
    const badKey = await failure(client.verdict(REQUEST, { idempotencyKey: 'a b' }));
    expect(badKey).to.be.instanceOf(BadRequestError).and.not.instanceOf(MalformedBodyError);
  });

  it('points at what is wrong in a body', async () => {
    const error = await failure(client.score({ ...SCORE, amountRequested: '-1' }, { requestId: 'r-1' }));
    if (!(error instanceof MalformedBodyError)) throw error;
    expect(error.errors.map(({ pointer }) => pointer)).to.deep.equal(['/amountRequested']);
    expect(error.requestId).to.equal('r-1');
    expect(error.message).to.match(/^400 malformed JSON body: \/amountRequested must be a decimal number/);
  });
});

describe('the scoring client in trouble', () => {
  let server: Server;
  let url: string;
  let seen: (string | undefined)[];
  let answers: RequestListener[];

  const verdict: RequestListener = (_, res) => {
    res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify({ verdict: 'GET_NEW', reason: 'r', ruleVersion: 'p2.v10', isBot: false }));
  };
  const away =
    (retryAfter: string): RequestListener =>
    (_, res) => {
      res.writeHead(503, { 'Content-Type': 'application/problem+json', 'Retry-After': retryAfter });
      res.end(
        JSON.stringify({ title: 'temporarily unavailable', status: 503, detail: 'away', requestId: 'r' }),
      );
    };
  const drop: RequestListener = (req) => req.socket.destroy();
  const silence: RequestListener = () => {};

  beforeEach(async () => {
    seen = [];
    server = createServer((req, res) => {
      seen.push(req.headers['idempotency-key']?.toString());
      req.resume();
      (answers.shift() ?? verdict)(req, res);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const client = (retry = true) => new ScoringClient({ baseUrl: url, accessKey: 'k', timeoutMs: 400, retry });

  for (const { title, first } of [
    { title: 'a dropped connection', first: drop },
    { title: 'no answer in time', first: silence },
    { title: 'a 503', first: away('0') },
  ]) {
    it(`asks once more after ${title}, with the same Idempotency-Key`, async () => {
      answers = [first];
      const { answer, idempotencyKey } = await client().verdict(REQUEST);
      expect(answer.verdict).to.equal('GET_NEW');
      expect(seen).to.deep.equal([idempotencyKey, idempotencyKey]);
    });
  }

  it('waits as long as Retry-After says', async () => {
    answers = [away('1')];
    const started = performance.now();
    await client().verdict(REQUEST);
    expect(performance.now() - started).to.be.above(1000);
  });

  it('leaves a long Retry-After to the application', async () => {
    answers = [away('60')];
    const error = await failure(client().verdict(REQUEST));
    expect(error).to.be.instanceOf(UnavailableError).with.property('retryAfterSeconds', 60);
    expect(seen).to.have.length(1);
  });

  it('gives up after the second failure, and says which', async () => {
    answers = [drop, silence];
    expect(await failure(client().verdict(REQUEST)))
      .to.be.instanceOf(TimeoutError)
      .with.property('message', 'no answer within 400 ms');
    answers = [silence, drop];
    expect(await failure(client().verdict(REQUEST))).to.be.instanceOf(ConnectionError);
    expect(seen).to.have.length(4);
  });

  it('asks only once when told so, and never again after a refusal', async () => {
    answers = [drop];
    expect(await failure(client(false).verdict(REQUEST))).to.be.instanceOf(ConnectionError);
    answers = [
      (_, res) => {
        res.writeHead(401, { 'Content-Type': 'application/problem+json' });
        res.end('{"title":"unknown X-KA-Access-Key","status":401,"detail":"d"}');
      },
    ];
    expect(await failure(client().verdict(REQUEST))).to.be.instanceOf(UnknownKeyError);
    expect(seen).to.have.length(2);
  });

  it('tells a page of a proxy from an answer of the service', async () => {
    answers = [(_, res) => res.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad Gateway</h1>')];
    expect(await failure(client().verdict(REQUEST)))
      .to.be.instanceOf(UnexpectedAnswerError)
      .with.property('status', 502);
  });

  it("ends with the reason of the caller's signal, without a retry", async () => {
    answers = [silence];
    const controller = new AbortController();
    const ended = failure(client().verdict(REQUEST, { signal: controller.signal }));
    await once(server, 'request');
    controller.abort(new Error('the payer left'));
    expect(await ended).to.have.property('message', 'the payer left');
    expect(seen).to.have.length(1);
  });
});
