import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type Fallback,
  HeldBackError,
  NoAnswerError,
  ScoringClient,
  type ScoringOptions,
  type VerdictRequest,
} from '#sdk/client.ts';
import { blocksOf, section } from '../guide-blocks.ts';
import { freePort } from '../servers/free-port.ts';
import { serving } from '../servers/listening.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { startService } from '../service/running-service.ts';
import { REQUEST } from './verdict-request.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const GUIDE = readFileSync(join(ROOT, 'src', 'sdk', 'README.md'), 'utf8');

function page(status: number): RequestListener {
  return (_, res) => res.writeHead(status, { 'Content-Type': 'text/html' }).end('<h1>Sorry</h1>');
}

/** What may happen instead of an answer, and what the error says. */
const TROUBLES: readonly (readonly [
  title: string,
  listener: RequestListener,
  error: { readonly name: string; readonly mayHaveBeenDecided: boolean },
])[] = [
  ['a server that hangs', () => {}, { name: 'TimeoutError', mayHaveBeenDecided: true }],
  [
    'a server that drops connections',
    (req: IncomingMessage) => req.socket.destroy(),
    { name: 'ConnectionError', mayHaveBeenDecided: true },
  ],
  ['a 500', page(500), { name: 'UnavailableError', mayHaveBeenDecided: true }],
  ['a 503', page(503), { name: 'UnavailableError', mayHaveBeenDecided: true }],
  ['a 429', page(429), { name: 'UnavailableError', mayHaveBeenDecided: false }],
  ["a proxy's page", page(200), { name: 'UnexpectedAnswerError', mayHaveBeenDecided: true }],
  ["a proxy's refusal", page(403), { name: 'UnexpectedAnswerError', mayHaveBeenDecided: false }],
];

const QUICK = { accessKey: 'k', timeoutMs: 10_000, retriesMax: 0 };

async function noAnswer(options: ScoringOptions, idempotencyKey = 'key-1'): Promise<NoAnswerError> {
  const error: unknown = await new ScoringClient(options)
    .verdict(REQUEST, { idempotencyKey })
    .catch((reason: unknown) => reason);
  if (error instanceof NoAnswerError) return error;
  throw new Error(`it was answered, or failed otherwise: ${JSON.stringify(error)}`);
}

describe('a verdict without an answer', () => {
  for (const [title, listener, told] of TROUBLES) {
    it(`is a NoAnswerError with its key after ${title}`, async () => {
      const { url, stop } = await serving(listener);
      // Whoever waits for something else than this has as long as a busy machine takes.
      const timeoutMs = told.name === 'TimeoutError' ? 400 : QUICK.timeoutMs;
      const error = await noAnswer({ ...QUICK, timeoutMs, baseUrl: url });
      stop();
      expect(error).to.include({ ...told, idempotencyKey: 'key-1' });
    });
  }

  it('was certainly not decided when nobody listens, and its message says why', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    const error = await noAnswer({ ...QUICK, baseUrl });
    expect(error).to.include({ name: 'ConnectionError', mayHaveBeenDecided: false, idempotencyKey: 'key-1' });
    const port = new URL(baseUrl).port;
    expect(error.message).to.equal(
      `the service cannot be reached at ${baseUrl}: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
  });

  it('may have been decided when any try may have been', async () => {
    const first = await serving((req, res) => {
      page(502)(req, res);
      first.stop();
    });
    const error = await noAnswer({ ...QUICK, retriesMax: 1, baseUrl: first.url });
    expect(error).to.include({ name: 'ConnectionError', mayHaveBeenDecided: true });
  });

  it("can be asked for again with the error's key, and counts once", async () => {
    const service = await startService();
    const { key } = await service.tenant();
    const baseUrl = service.application.callerUrl;
    const lost: typeof fetch = async (url, init) => {
      await fetch(url, init);
      throw new TypeError('fetch failed');
    };
    const { idempotencyKey } = await noAnswer({ ...QUICK, accessKey: key, baseUrl, fetch: lost });
    const client = new ScoringClient({ accessKey: key, baseUrl });
    const answer = await client.verdict(REQUEST, { idempotencyKey: idempotencyKey ?? 'none' });
    expect(answer).to.include({ verdict: 'GET_NEW', replayed: true });
    await service.stop();
  });

  it('is not sent after ten failures in a row, and the error says so', async () => {
    let asked = 0;
    const { url, stop } = await serving((req) => {
      asked += 1;
      req.socket.destroy();
    });
    const client = new ScoringClient({ ...QUICK, baseUrl: url, requestsPerSecondMax: 0 });
    for (let call = 0; call < 10; call += 1) await client.verdict(REQUEST).catch(() => {});
    const error: unknown = await client.verdict(REQUEST).catch((reason: unknown) => reason);
    stop();
    expect(error).to.be.instanceOf(HeldBackError).that.includes({ mayHaveBeenDecided: false });
    expect(error).to.have.property('message', 'not sent: the service has not answered for a while');
    expect(asked).to.equal(10);
  });

  it('is not sent when its turn within requestsPerSecondMax would come too late', async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    const client = new ScoringClient({ ...QUICK, timeoutMs: 400, baseUrl, requestsPerSecondMax: 1 });
    const [, second] = await Promise.allSettled([client.verdict(REQUEST), client.verdict(REQUEST)]);
    expect(second).to.have.nested.property(
      'reason.message',
      'not sent: too many calls wait for requestsPerSecondMax',
    );
  });
});

describe('the fallback of a checkout', () => {
  let dead: string;
  before(async () => {
    dead = `http://127.0.0.1:${await freePort()}`;
  });

  const verdict = (fallback: Fallback, members: Partial<VerdictRequest> = {}) =>
    new ScoringClient({ ...QUICK, baseUrl: dead, fallback }).verdict({ ...REQUEST, ...members });

  it("has the shape of a service's answer, and says that it is a fallback", async () => {
    const client = new ScoringClient({ ...QUICK, baseUrl: dead, fallback: 'open' });
    const { requestId, noAnswer, ...answer } = await client.verdict(REQUEST, { idempotencyKey: 'key-1' });
    expect(answer).to.deep.equal({
      verdict: 'GET_NEW',
      reason: 'The scoring service did not answer; open by fallback.',
      ruleVersion: 'fallback',
      isBot: false,
      fallback: true,
      decisionId: '',
      idempotencyKey: 'key-1',
      replayed: false,
    });
    expect(noAnswer).to.be.instanceOf(NoAnswerError).that.includes({ requestId });
  });

  it('blocks when it is closed, and scores every payer as a new one', async () => {
    expect(await verdict('closed')).to.include({ verdict: 'BLOCK', ruleVersion: 'fallback', fallback: true });
    const client = new ScoringClient({ ...QUICK, baseUrl: dead, fallback: 'closed' });
    const { method: selectedMethodKey, orderRef, ...payer } = REQUEST;
    const score = await client.score({ ...payer, selectedMethodKey });
    const neutral = { clientGroup: 'NEW', paymentScore: '0.5000', isBot: false, fallback: true };
    expect(score, orderRef).to.include(neutral);
  });

  it('shows requisites up to an amount of a currency, when it is told so', async () => {
    for (const [amountRequested, toPayCurrency, expected] of [
      ['50', 'EUR', 'GET_NEW'],
      ['49.999999999999999999', 'eur', 'GET_NEW'],
      ['50.000000000000000001', 'EUR', 'BLOCK'],
      ['9'.repeat(38), 'EUR', 'BLOCK'],
      ['1.00', 'USD', 'BLOCK'],
      ['1.00', undefined, 'BLOCK'],
    ] as const) {
      const answer = await verdict({ openUpTo: { EUR: '50.00' } }, { amountRequested, toPayCurrency });
      expect(answer.verdict, `${amountRequested} ${toPayCurrency}`).to.equal(expected);
    }
  });

  it('does not hide a refused request', async () => {
    const service = await startService();
    const options = { ...QUICK, baseUrl: service.application.callerUrl, accessKey: 'nonsense' };
    const client = new ScoringClient({ ...options, fallback: 'open' });
    expect(await client.verdict(REQUEST).catch(String)).to.match(/^UnknownKeyError: 401/);
    await service.stop();
  });

  it('must be a known one', () => {
    const options = { ...QUICK, baseUrl: dead };
    const fallback: Fallback = JSON.parse('"ajar"');
    expect(() => new ScoringClient({ ...options, fallback })).to.throw('fallback must be open, closed, or');
    expect(() => new ScoringClient({ ...options, fallback: { openUpTo: { EUR: '1e3' } } })).to.throw(
      'fallback.openUpTo.EUR must be a string with a decimal number',
    );
  });
});

describe('the documented example of a shop that fails open', () => {
  type Example = { mayShow(clientIdKey: string, orderRef: string, key: string): Promise<boolean> };
  const [documented] = blocksOf(section(GUIDE, 'When there is no answer')).filter(
    ({ language }) => language === 'ts',
  );

  /** The result of the guide's example at this address. */
  async function mayShow(url: string): Promise<boolean> {
    const file = join(temporaryDirectory(), 'example.mts');
    const library = join(ROOT, 'src', 'sdk', 'client.ts');
    const here = (documented?.text ?? '')
      .replace("'client-scoring-client'", `'${library}'`)
      .replace('https://scoring.example.com', url)
      .replace("process.env['SCORING_KEY'] ?? ''", "'k', timeoutMs: 600")
      .replaceAll('console.error', 'String');
    writeFileSync(file, here);
    const example: Example = await import(file);
    return example.mayShow('ann', 'order-1', 'press-1');
  }

  it('shows a requisite whatever happens instead of an answer', async () => {
    for (const [title, listener] of TROUBLES) {
      const { url, stop } = await serving(listener);
      expect(await mayShow(url), title).to.equal(true);
      stop();
    }
    expect(await mayShow(`http://127.0.0.1:${await freePort()}`)).to.equal(true);
    expect(await mayShow('http://nobody.invalid')).to.equal(true);
  });
});
