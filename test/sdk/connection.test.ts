import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import packageFile from '../../package.json' with { type: 'json' };
import {
  type Attempt,
  BadRequestError,
  ConnectionError,
  type ConnectionOptions,
  IdempotencyKeyReusedError,
  ScoringClient,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
  UnknownKeyError,
  VERSION,
} from '../../src/sdk/client.ts';
import { listening } from '../servers/listening.ts';
import { REQUEST } from './verdict-request.ts';

const ANSWER = { verdict: 'GET_NEW', reason: 'r', ruleVersion: 'p2.v10', isBot: false };

type Headers = Readonly<Record<string, string>>;

function answer(status: number, text: string, headers: Headers = {}): RequestListener {
  return (_, res) => res.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(text);
}

function problem(status: number, members: object | string, headers: Headers = {}): RequestListener {
  const text = typeof members === 'string' ? members : JSON.stringify(members);
  return answer(status, text, { 'Content-Type': 'application/problem+json', ...headers });
}

const verdict = answer(200, JSON.stringify(ANSWER));
const drop: RequestListener = (req) => req.socket.destroy();
const silence: RequestListener = () => {};
const half: RequestListener = (req, res) => {
  res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 1000 });
  res.write('{"verdict":', () => req.socket.destroy());
};

describe('the connection of the client library', () => {
  let server: Server;
  let url: string;
  let seen: IncomingHttpHeaders[];
  let answers: RequestListener[];

  beforeEach(async () => {
    seen = [];
    answers = [];
    server = createServer((req, res) => {
      seen.push(req.headers);
      req.resume();
      (answers.shift() ?? verdict)(req, res);
    });
    url = await listening(server);
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const client = (options: Partial<ConnectionOptions> = {}) =>
    new ScoringClient({ baseUrl: url, accessKey: 'k', ...options });

  /** The error of a verdict; fails when the verdict was given. */
  async function failure(options: Partial<ConnectionOptions> = {}): Promise<unknown> {
    return client(options)
      .verdict(REQUEST)
      .then(
        (value) => {
          throw new Error(`it gave ${JSON.stringify(value)}`);
        },
        (error: unknown) => error,
      );
  }

  describe('a retry', () => {
    for (const { title, first } of [
      { title: 'a dropped connection', first: drop },
      { title: 'no answer in time', first: silence },
      { title: 'a 408', first: problem(408, {}) },
      { title: 'a 429', first: problem(429, {}, { 'Retry-After': '0' }) },
      { title: "a proxy's 502", first: answer(502, '<h1>Bad Gateway</h1>', { 'Content-Type': 'text/html' }) },
      { title: 'a 503', first: problem(503, {}, { 'Retry-After': '0' }) },
      { title: 'a 504', first: answer(504, '') },
      { title: 'a fault of the service', first: problem(500, { retryable: true }) },
      { title: 'half an answer', first: half },
    ]) {
      it(`happens after ${title}, with the same Idempotency-Key and request id`, async () => {
        answers = [first, first];
        const attemptTimeoutMs = first === silence ? 1000 : 3000;
        const given = await client({ attemptTimeoutMs, timeoutMs: 10_000 }).verdict(REQUEST);
        expect(given.verdict).to.equal('GET_NEW');
        const sent = seen.map((headers) => [headers['idempotency-key'], headers['x-request-id']]);
        expect(sent).to.deep.equal(Array.from({ length: 3 }, () => [given.idempotencyKey, given.requestId]));
      });
    }

    it('waits as long as Retry-After says', async () => {
      answers = [problem(503, {}, { 'Retry-After': '1' })];
      const startedMs = performance.now();
      await client().verdict(REQUEST);
      expect(performance.now() - startedMs).to.be.above(1000);
    });

    it('is left to the application when Retry-After, in seconds or as a date, is beyond the deadline', async () => {
      const date = new Date(Date.now() + 3_600_000).toUTCString();
      for (const [after, least, most] of [
        ['60', 60, 60],
        [date, 3500, 3600],
      ] as const) {
        seen = [];
        answers = [problem(503, {}, { 'Retry-After': after })];
        const error = await failure();
        if (!(error instanceof UnavailableError)) throw error;
        expect(error.retryAfterSeconds, after).to.be.within(least, most);
        expect(seen, after).to.have.length(1);
      }
    });

    it('is not made after retriesMax, and the last failure is thrown', async () => {
      answers = [drop, drop, silence];
      const error = await failure({ retriesMax: 2, attemptTimeoutMs: 300, timeoutMs: 10_000 });
      expect(error).to.be.instanceOf(TimeoutError).with.property('message', 'no answer within 300 ms');
      expect(seen).to.have.length(3);
      answers = [drop];
      expect(await failure({ retriesMax: 0 })).to.be.instanceOf(ConnectionError);
      expect(seen).to.have.length(4);
    });

    it("is not made when the call's time is over, however many tries are left", async () => {
      answers = Array.from({ length: 20 }, () => silence);
      const startedMs = performance.now();
      const error = await failure({ retriesMax: 20, attemptTimeoutMs: 250, timeoutMs: 1000 });
      expect(error).to.be.instanceOf(TimeoutError);
      expect(performance.now() - startedMs).to.be.above(250);
      expect(seen.length).to.be.within(1, 3);
    });

    it('is not made after a refusal that would come again', async () => {
      answers = [problem(401, { title: 'unknown X-KA-Access-Key', detail: 'd' })];
      expect(await failure()).to.be.instanceOf(UnknownKeyError);
      answers = [problem(422, { title: 'Idempotency-Key reused', detail: 'd' })];
      expect(await failure()).to.be.instanceOf(IdempotencyKeyReusedError);
      answers = [problem(503, { title: 'gone for good', detail: 'd', retryable: false })];
      expect(await failure()).to.be.instanceOf(UnavailableError);
      expect(seen).to.have.length(3);
    });

    it("is not made when the caller's signal was aborted, whose reason is thrown", async () => {
      answers = [silence];
      const controller = new AbortController();
      const ended = client().verdict(REQUEST, { signal: controller.signal });
      await once(server, 'request');
      controller.abort(new Error('the payer left'));
      expect(await ended.catch((error: unknown) => error)).to.have.property('message', 'the payer left');
      expect(seen).to.have.length(1);
    });
  });

  describe('an unusable answer', () => {
    for (const { title, strange, status } of [
      { title: 'a problem that is no JSON', strange: problem(400, '<oops'), status: 400 },
      { title: 'a problem that is no object', strange: problem(400, '[1]'), status: 400 },
      { title: 'an answer that is no JSON', strange: answer(200, '<oops'), status: 200 },
      { title: 'an empty answer', strange: answer(200, ''), status: 200 },
      { title: 'a command that nobody knows', strange: answer(200, '{"verdict":"DANCE"}'), status: 200 },
      { title: 'a WAIT without seconds', strange: answer(200, '{"verdict":"WAIT"}'), status: 200 },
      { title: 'a page', strange: answer(404, '<p>', { 'Content-Type': 'text/html' }), status: 404 },
    ]) {
      it(`is an UnexpectedAnswerError for ${title}`, async () => {
        answers = [strange];
        expect(await failure())
          .to.be.instanceOf(UnexpectedAnswerError)
          .with.property('status', status);
      });
    }

    it('never redirects the request, so that the access key goes nowhere else', async () => {
      answers = [answer(307, '', { Location: `${url}/elsewhere` })];
      expect(await failure())
        .to.be.instanceOf(UnexpectedAnswerError)
        .with.property('message', '307: redirects are not followed; correct baseUrl');
      expect(seen).to.have.length(1);
    });

    it('is not read as a problem when its type is another', async () => {
      answers = [problem(400, { title: 7, detail: null, errors: [{ pointer: '/a' }, 'x'], requestId: 9 })];
      const error = await failure();
      if (!(error instanceof BadRequestError)) throw error;
      expect(error.message).to.equal('400 refused: no reason was given');
      expect(error.errors).to.deep.equal([]);
      expect(error.requestId).to.be.a('string');
    });
  });

  describe('the client library', () => {
    it('names itself and its version in the User-Agent', async () => {
      expect(VERSION).to.equal(packageFile.version);
      await client().verdict(REQUEST);
      expect(seen[0]).to.include({ 'user-agent': `client-scoring-client/${VERSION}` });
    });

    it('reports every try to onAttempt, with the next pause and without the key', async () => {
      const attempts: Attempt[] = [];
      const away = { title: 'temporarily unavailable', detail: 'd' };
      answers = [drop, problem(503, away, { 'Retry-After': '0' })];
      const onAttempt = (attempt: Attempt) => attempts.push(attempt);
      const { requestId } = await client({ onAttempt, timeoutMs: 10_000 }).verdict(REQUEST);
      expect(attempts.map(({ number, status, error }) => [number, status, error?.name])).to.deep.equal([
        [1, null, 'ConnectionError'],
        [2, 503, 'UnavailableError'],
        [3, 200, undefined],
      ]);
      expect(attempts.map(({ retryInMs }) => typeof retryInMs)).to.deep.equal(['number', 'number', 'object']);
      for (const attempt of attempts) {
        expect(attempt).to.include({ method: 'POST', path: '/v1/client/verdict', requestId });
      }
      expect(JSON.stringify(attempts)).to.not.include('"k"');
    });

    it('gives a verdict although onAttempt fails, at once or later', async () => {
      const full = () => {
        throw new Error('the log is full');
      };
      expect((await client({ onAttempt: full }).verdict(REQUEST)).verdict).to.equal('GET_NEW');
      const unhandled: unknown[] = [];
      const note = (reason: unknown) => unhandled.push(reason);
      const others = process.listeners('unhandledRejection');
      process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
      try {
        const onAttempt = async () => {
          throw new Error('the log is away');
        };
        expect((await client({ onAttempt }).verdict(REQUEST)).verdict).to.equal('GET_NEW');
        // Node reports an unhandled rejection at the end of a turn of the event loop.
        await nextTurn();
        expect(unhandled).to.deep.equal([]);
      } finally {
        process.off('unhandledRejection', note);
        for (const other of others) process.on('unhandledRejection', other);
      }
    });

    it('gives the request id with every error, also without an answer', async () => {
      answers = [drop];
      const error = await client({ retriesMax: 0 })
        .verdict(REQUEST, { requestId: 'mine-1' })
        .catch((reason: unknown) => reason);
      expect(error).to.include({ name: 'ConnectionError', requestId: 'mine-1' });
    });
  });
});
