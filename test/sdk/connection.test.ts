import { once } from 'node:events';
import type { IncomingHttpHeaders, RequestListener, Server } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
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
} from '#sdk/client.ts';
import { CircuitBreaker, RateLimiter, RetryBudget } from '#sdk/connection.ts';
import packageFile from '../../package.json' with { type: 'json' };
import { serving } from '../servers/listening.ts';
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
  let stop: () => void;
  let seen: IncomingHttpHeaders[];
  let answers: RequestListener[];

  beforeEach(async () => {
    seen = [];
    answers = [];
    ({ server, url, stop } = await serving((req, res) => {
      seen.push(req.headers);
      req.resume();
      (answers.shift() ?? verdict)(req, res);
    }));
  });
  afterEach(() => stop());

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

describe('a client under overload', () => {
  /** How often 300 calls at once are sent to a service that answers every other one so. */
  async function sent(other: number, options: Partial<ConnectionOptions>): Promise<number> {
    let count = 0;
    const send = async () => {
      count += 1;
      const headers = { 'Content-Type': 'application/problem+json', 'Retry-After': '0' };
      return new Response(JSON.stringify(ANSWER), { status: count % 2 === 0 ? other : 200, headers });
    };
    const client = new ScoringClient({ baseUrl: 'http://x', accessKey: 'k', fetch: send, ...options });
    await Promise.allSettled(Array.from({ length: 300 }, () => client.verdict(REQUEST)));
    return count;
  }

  it('sends at most 1.2 times as many requests as there are calls', async () => {
    expect(await sent(503, { requestsPerSecondMax: 0 })).to.be.within(301, 360);
  });

  it("keeps to the interface's rate by default", async () => {
    expect(await sent(200, { timeoutMs: 1200 })).to.be.within(20, 80);
  });
});

describe('the retry budget of a client', () => {
  it('lets a shop with few calls try each of them again', () => {
    const budget = new RetryBudget(0);
    const allowed = Array.from({ length: 20 }, (_, call) => {
      budget.noteCall(call * 10_000);
      return budget.spend();
    });
    expect(allowed).to.not.include(false);
  });

  it('limits tries under overload to 1.2 times the calls', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 60, max: 2000 }),
        fc.integer({ min: 10, max: 1000 }),
        (calls, perSecond) => {
          const budget = new RetryBudget(0);
          let tries = 0;
          for (let call = 0; call < calls; call += 1) {
            budget.noteCall((call * 1000) / perSecond);
            tries += 1 + (budget.spend() ? 1 : 0) + (budget.spend() ? 1 : 0);
          }
          expect(tries).to.be.at.most(calls * 1.2);
        },
      ),
    );
  });
});

describe('the circuit of a client', () => {
  const failures = (circuit: CircuitBreaker, count: number, nowMs: number) => {
    for (let failure = 0; failure < count; failure += 1) circuit.note(false, nowMs);
  };

  it('stays closed while there are answers in between', () => {
    const circuit = new CircuitBreaker();
    failures(circuit, 9, 0);
    circuit.note(true, 0);
    failures(circuit, 9, 0);
    expect(circuit.admits(0)).to.equal(true);
  });

  it('opens after ten failures in a row, and then allows one try in two seconds', () => {
    const circuit = new CircuitBreaker();
    failures(circuit, 10, 0);
    expect([0, 1999, 2000, 2001, 3999, 4000].map((nowMs) => circuit.admits(nowMs))).to.deep.equal([
      false,
      false,
      true,
      false,
      false,
      true,
    ]);
  });

  it('closes with the first answer', () => {
    const circuit = new CircuitBreaker();
    failures(circuit, 30, 0);
    circuit.note(true, 2000);
    expect(circuit.admits(2000)).to.equal(true);
  });
});

describe('the pace of a client', () => {
  it("sends one second's calls at once, and the others evenly", () => {
    const pace = new RateLimiter(4);
    const waits = Array.from({ length: 7 }, () => pace.waitMs(1000, 10_000));
    expect(waits).to.deep.equal([0, 0, 0, 0, 250, 500, 750]);
  });

  it('refuses a call whose turn would come too late', () => {
    const pace = new RateLimiter(1);
    expect([1000, 1000, 1000].map((nowMs) => pace.waitMs(nowMs, 2000))).to.deep.equal([0, 1000, null]);
    expect(pace.waitMs(2000, 3000)).to.equal(1000);
  });

  it('holds nothing back when it is 0', () => {
    const pace = new RateLimiter(0);
    expect(Array.from({ length: 100 }, () => pace.waitMs(5, 5))).to.not.include(null);
  });

  it('never sends more than its rate and one burst in any time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 200 }),
        (perSecond, gaps) => {
          const pace = new RateLimiter(perSecond);
          let nowMs = 0;
          const sentAtMs = gaps.flatMap((gapMs) => {
            nowMs += gapMs;
            const waitMs = pace.waitMs(nowMs, nowMs + 3000);
            return waitMs === null ? [] : [nowMs + waitMs];
          });
          for (const [first, from] of sentAtMs.entries()) {
            for (const [last, to] of sentAtMs.entries()) {
              const allowed = perSecond + ((to - from) * perSecond) / 1000 + 0.001;
              if (last >= first) expect(last - first + 1).to.be.at.most(allowed);
            }
          }
        },
      ),
    );
  });
});
