import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Observation } from '../../scripts/replay/observation.ts';
import {
  InputError,
  parseRecordedPayment,
  type RecordedPayment,
  surveyRecordedPayments,
} from '../../scripts/replay/recorded-payments.ts';
import type { Replay } from '../../scripts/replay/replay.ts';
import { summarize } from '../../scripts/replay/summary.ts';
import { timeline } from '../../scripts/replay/timeline.ts';
import { LoadedRules } from '../../src/rollout/loaded-rules.ts';
import { isRuleVersion, type RuleVersion } from '../../src/rules/rule-set.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { startStandalone } from '../servers/redis.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const RULE_VERSION = ruleVersion('p2.v10');
const START = Date.UTC(2026, 0, 5, 12);
const SECOND = 1000;
const HOUR = 3_600_000;

const LINE = {
  at: START,
  sellPointKey: 'shop-1',
  clientIdKey: 'payer-1',
  method: 'card',
  amountRequested: '25.00',
  orderRef: 'order-1',
};

describe('recorded payments', () => {
  const parse = (line: object) => parseRecordedPayment(JSON.stringify(line), 'july.ndjson', 7);

  it('are read with what is known, and null for the rest', () => {
    expect(parse({ ...LINE, ip: '203.0.113.7', signupAt: 5 })).to.deep.equal({
      ...LINE,
      line: 7,
      toPayCurrency: null,
      fingerprint: null,
      ip: '203.0.113.7',
      userAgent: null,
      result: null,
      abuse: null,
    });
  });

  it('carry the outcome with its time, and the label', () => {
    const { result, abuse } = parse({ ...LINE, outcome: 'PAID', outcomeAt: START, abuse: false });
    expect(result).to.deep.equal({ outcome: 'PAID', at: START });
    expect(abuse).to.equal(false);
  });

  const refused: readonly (readonly [string, object, string])[] = [
    ['a missing member', { ...LINE, orderRef: undefined }, '"orderRef" is missing'],
    [
      'an amount that is a number',
      { ...LINE, amountRequested: 25 },
      '"amountRequested" must be a JSON string that is not empty, not 25',
    ],
    [
      'an empty key',
      { ...LINE, clientIdKey: '' },
      '"clientIdKey" must be a JSON string that is not empty, not ""',
    ],
    ['an IP that is no string', { ...LINE, ip: 7 }, '"ip" must be a JSON string that is not empty, not 7'],
    [
      'a time in seconds',
      { ...LINE, at: START / 1000 },
      `"at" must be whole milliseconds since 1970, from the year 2000 on, not ${START / 1000}`,
    ],
    [
      'a time as text',
      { ...LINE, at: '2026-01-05' },
      '"at" must be whole milliseconds since 1970, from the year 2000 on, not "2026-01-05"',
    ],
    ['an outcome without its time', { ...LINE, outcome: 'PAID' }, '"outcomeAt" is missing'],
    ['a time without an outcome', { ...LINE, outcomeAt: START }, '"outcome" is missing'],
    [
      'an unknown outcome',
      { ...LINE, outcome: 'paid', outcomeAt: START },
      '"outcome" must be one of PAID, UNPAID, not "paid"',
    ],
    [
      'an outcome before the attempt',
      { ...LINE, outcome: 'PAID', outcomeAt: START - 1 },
      `"outcomeAt" ${START - 1} lies before "at" ${START}; an order ends after it began`,
    ],
    ['a label that is no flag', { ...LINE, abuse: 1 }, '"abuse" must be true or false, not 1'],
    ['an array', [LINE], 'this is not a JSON object; each line must hold exactly one'],
  ];
  for (const [what, line, why] of refused) {
    it(`refuse ${what} and say where`, () => {
      expect(() => parse(line)).to.throw(InputError, `july.ndjson:7: ${why}`);
    });
  }

  describe('in a file', () => {
    let folder: string;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'replay-input-'));
    });
    after(() => rmSync(folder, { recursive: true, force: true }));

    const file = (...lines: readonly object[]) => ndjson(join(folder, 'payments.ndjson'), lines);

    it('must be in the order of time', async () => {
      const path = file(LINE, { ...LINE, at: START - 1 });
      expect(await failure(surveyRecordedPayments(path))).to.equal(
        `${path}:2: "at" ${START - 1} lies before ${START} of line 1; sort the lines by "at"`,
      );
    });
  });
});

describe('the timeline of a replay', () => {
  const moments = async (...payments: readonly RecordedPayment[]) =>
    (await Array.fromAsync(timeline(inOrder(payments)))).map(
      ({ kind, at, payment }) => `${kind} ${payment.orderRef} ${(at - START) / SECOND}`,
    );

  it('tells an outcome when it became known, not in the order of the attempts', async () => {
    expect(await moments(payment('a', 0, 50), payment('b', 10, 20), payment('c', 30, 90))).to.deep.equal([
      'attempt a 0',
      'attempt b 10',
      'outcome b 20',
      'attempt c 30',
      'outcome a 50',
      'outcome c 90',
    ]);
  });

  it('tells an outcome before an attempt of the same moment', async () => {
    expect(await moments(payment('a', 0, 10), payment('b', 10, 20))).to.deep.equal([
      'attempt a 0',
      'outcome a 10',
      'attempt b 10',
      'outcome b 20',
    ]);
  });

  it('tells an outcome that came at once only after its own attempt', async () => {
    expect(await moments(payment('a', 0, 0), payment('b', 0, 0))).to.deep.equal([
      'attempt a 0',
      'outcome a 0',
      'attempt b 0',
      'outcome b 0',
    ]);
  });

  it('never goes back, and loses nothing', async () => {
    const times = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(times, async (pairs) => {
        const sorted = pairs.toSorted(([a], [b]) => a - b);
        const payments = sorted.map(([at, delay], index) => payment(`o${index}`, at, at + delay));
        const all = await Array.fromAsync(timeline(inOrder(payments)));
        const at = all.map((moment) => moment.at);
        expect(at).to.deep.equal(at.toSorted((a, b) => a - b));
        expect(all).to.have.length(2 * payments.length);
      }),
    );
  });
});

describe('the summary of a replay', () => {
  it('measures BLOCK and WAIT among the paid and among the unpaid, neither counting as the other', () => {
    const { blocked, waiting } = summarize(
      replayOf([
        seen({ verdict: 'BLOCK', outcome: 'PAID' }),
        seen({ verdict: 'GET_NEW', outcome: 'PAID' }),
        seen({ verdict: 'WAIT', outcome: 'UNPAID', waitLevel: 1 }),
        seen({ verdict: 'WAIT', outcome: 'UNPAID', waitLevel: 2 }),
        seen({ verdict: 'BLOCK', outcome: 'UNPAID' }),
        seen({ verdict: 'GET_NEW', outcome: 'UNPAID' }),
        seen({ verdict: 'BLOCK', outcome: null }),
      ]),
    );
    expect(blocked).to.deep.equal({ paidShare: 0.5, unpaidShare: 0.25 });
    expect(waiting).to.deep.equal({ paidShare: 0, unpaidShare: 0.5 });
  });

  it('sets isBot of the verdict, not of the score, against abuse', () => {
    const { bot } = summarize(
      replayOf([
        seen({ isBotAtVerdict: true, abuse: true }),
        seen({ isBotAtVerdict: true, abuse: true }),
        seen({ isBotAtVerdict: true, abuse: false }),
        seen({ isBotAtScore: true, abuse: true }),
        seen({ abuse: true }),
        seen({ abuse: false }),
        seen({ isBotAtVerdict: true }),
      ]),
    );
    expect(bot).to.deep.equal({
      precision: 2 / 3,
      recall: 0.5,
      truePositives: 2,
      falsePositives: 1,
      falseNegatives: 2,
      trueNegatives: 1,
    });
  });

  it('says null where the data does not allow a figure', () => {
    const bare = summarize(replayOf([seen({})]));
    const { paymentScore, reliability, blocked, waiting, bot } = bare;
    expect([paymentScore, reliability, blocked, waiting, bot]).to.deep.equal([null, null, null, null, null]);
    const onlyPaid = summarize(replayOf([seen({ outcome: 'PAID' })]));
    expect(onlyPaid.paymentScore).to.deep.equal({ measured: 1, auc: null, brier: 0.25 });
    expect(onlyPaid.blocked).to.deep.equal({ paidShare: 0, unpaidShare: null });
    const unflagged = summarize(replayOf([seen({ abuse: false })]));
    expect(unflagged.bot).to.include({ precision: null, recall: null, trueNegatives: 1 });
  });
});

describe('the report of a replay', () => {});

describe('npm run replay', () => {
  let folder: string;
  let temporary: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'replay-test-'));
    temporary = join(folder, 'tmp');
    mkdirSync(temporary);
  });

  afterEach(() => {
    expect(readdirSync(temporary), 'what a replay leaves in the temporary folder').to.deep.equal([]);
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    spawn(process.execPath, [join(ROOT, 'scripts', 'replay.ts'), ...args], {
      cwd: folder,
      env: { ...process.env, REDIS_URL: '', RULE_VERSION, TMPDIR: temporary, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const replayed = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    endOf(start(args, env));

  it('drives the service by the clock of the data and prints what it saw as JSON', async () => {
    const path = ndjson(join(folder, 'payments.ndjson'), DOZEN);
    const { code, stdout, stderr } = await replayed([path, '--json']);
    expect(stderr).to.equal('');
    expect(code).to.equal(0);
    const summary: unknown = JSON.parse(stdout);
    expect(summary).to.deep.equal(EXPECTED);
  });

  it('stops at a refused request and says what was asked and answered, with exit code 2', async () => {
    const path = ndjson(join(folder, 'payments.ndjson'), [LINE, { ...LINE, amountRequested: '1e3' }]);
    const { code, stdout, stderr } = await replayed([path]);
    expect(stderr).to.contain(
      'error: the service did not answer 200 to line 2\n  asked:    POST /v1/client/score {',
    );
    expect(stderr).to.contain('"amountRequested":"1e3"');
    expect(stderr).to.contain('\n  answered: 400 {"title":"malformed JSON body"');
    expect([code, stdout]).to.deep.equal([2, '']);
  });

  describeWithServer('redis-server', 'with REDIS_URL', () => {
    it('sees the same on Redis, run after run', async () => {
      const servers = await startStandalone();
      try {
        const path = ndjson(join(folder, 'payments.ndjson'), DOZEN);
        for (const run of ['first', 'second']) {
          const { code, stdout, stderr } = await replayed([path, '--json'], { REDIS_URL: servers.url });
          expect([code, stderr], run).to.deep.equal([0, '']);
          const summary: unknown = JSON.parse(stdout);
          expect(summary, run).to.deep.equal(EXPECTED);
        }
      } finally {
        await servers.stop();
      }
    });
  });
});

/**
 * A dozen payments: one payer who pays and comes back (a), one who keeps asking without paying (b), four
 * who share a device (c to f), and one who is only looking (g).
 */
const DOZEN = [
  attempt('a', 0, { outcome: 'PAID', outcomeAt: START + 20 * SECOND }),
  // Known only at the very moment at which the next one asks, and before it.
  attempt('b', 1, { outcome: 'UNPAID', outcomeAt: START + 10 * SECOND }),
  attempt('b', 10, { outcome: 'UNPAID', outcomeAt: START + 15 * SECOND }),
  attempt('b', 20, { outcome: 'UNPAID', outcomeAt: START + 25 * SECOND }),
  attempt('a', 30, { outcome: 'PAID', outcomeAt: START + 45 * SECOND }),
  attempt('b', 1000, { outcome: 'UNPAID', outcomeAt: START + 1001 * SECOND }),
  attempt('b', 1100, { outcome: 'UNPAID', outcomeAt: START + 1101 * SECOND }),
  attempt('c', 2000, { fingerprint: 'device-1', userAgent: 'Mozilla/5.0', abuse: true }),
  attempt('d', 2000, { fingerprint: 'device-1', userAgent: 'Mozilla/5.0', abuse: true }),
  attempt('e', 2060, { fingerprint: 'device-1', ip: '203.0.113.7', abuse: false }),
  attempt('f', 2000 + 26 * 3600, { fingerprint: 'device-1', abuse: true }),
  attempt('g', 2000 + 26 * 3600, { abuse: false, toPayCurrency: 'USD' }),
];
const NO_VERDICTS = { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 };
const { version, digest } = (await LoadedRules.read(join(ROOT, 'rules'))).deciding(RULE_VERSION);

/** Worked out by hand: b waits at level 1 and 2, is let through at 1000 s, and waits at level 3; two of its orders could be paid. */
const EXPECTED = {
  payments: 12,
  requests: { score: 12, verdict: 12, outcomes: 7, decisions: 3 },
  verdicts: { ...NO_VERDICTS, GET_NEW: 7, WAIT: 3, BLOCK: 2 },
  verdictsByOutcome: {
    PAID: { ...NO_VERDICTS, GET_NEW: 2 },
    UNPAID: { ...NO_VERDICTS, GET_NEW: 2, WAIT: 3 },
    none: { ...NO_VERDICTS, GET_NEW: 3, BLOCK: 2 },
  },
  groups: { NEW: 11, STICKY: 0, PAYING: 1, TRUSTED: 0, BLOCKED: 0 },
  // d is new when it is scored, so it is no bot yet; its verdict counts it on the device of c.
  botFlags: { score: 0, verdict: 2 },
  ladder: [
    { level: 1, waits: 1 },
    { level: 2, waits: 1 },
    { level: 3, waits: 1 },
  ],
  // Paid 0.5 and 0.8571 against unpaid 0.5, three times 0.1429 and 0.0833: 9.5 of 10 pairs.
  paymentScore: { measured: 7, auc: 0.95, brier: 0.08408864714285717 },
  reliability: [
    { from: 0, to: 0.1, count: 1, meanScore: 0.0833, paidShare: 0 },
    { from: 0.1, to: 0.2, count: 3, meanScore: 0.1429, paidShare: 0 },
    { from: 0.5, to: 0.6, count: 2, meanScore: 0.5, paidShare: 0.5 },
    { from: 0.8, to: 0.9, count: 1, meanScore: 0.8571, paidShare: 1 },
  ],
  blocked: { paidShare: 0, unpaidShare: 0 },
  waiting: { paidShare: 0, unpaidShare: 0.6 },
  bot: {
    precision: 0.5,
    recall: 1 / 3,
    truePositives: 1,
    falsePositives: 1,
    falseNegatives: 2,
    trueNegatives: 1,
  },
  ruleVersion: version,
  digest,
};

function attempt(payer: string, seconds: number, more: object): object {
  const clientIdKey = `payer-${payer}`;
  return { ...LINE, at: START + seconds * SECOND, clientIdKey, orderRef: `${payer}-${seconds}`, ...more };
}

function payment(orderRef: string, atSeconds: number, outcomeSeconds: number): RecordedPayment {
  const outcomeAt = START + outcomeSeconds * SECOND;
  const line = { ...LINE, at: START + atSeconds * SECOND, orderRef, outcome: 'PAID', outcomeAt };
  return parseRecordedPayment(JSON.stringify(line), 'payments.ndjson', 1);
}

async function* inOrder(payments: readonly RecordedPayment[]): AsyncGenerator<RecordedPayment> {
  yield* payments;
}

function seen(more: Partial<Observation>): Observation {
  return {
    clientGroup: 'NEW',
    paymentScore: 0.5,
    isBotAtScore: false,
    verdict: 'GET_NEW',
    isBotAtVerdict: false,
    waitLevel: null,
    outcome: null,
    abuse: null,
    ...more,
  };
}

function replayOf(observations: readonly Observation[]): Replay {
  return {
    survey: { payments: observations.length, firstAt: START, lastAt: START + HOUR },
    observations,
    use: {
      score: { count: 1200, ms: 600 },
      verdict: { count: 1200, ms: 1200 },
      outcomes: { count: 2, ms: 1 },
      decisions: { count: 0, ms: 0 },
    },
    ruleVersion: 'p2.v10',
    digest: 'd1',
    storeName: 'sqlite',
    elapsedMs: 2402,
  };
}

function ndjson(path: string, lines: readonly object[]): string {
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

async function failure(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (error instanceof InputError) return error.message;
  throw new Error('an InputError was expected', { cause: error });
}

async function endOf(child: ChildProcess) {
  const out = child.stdout === null ? '' : text(child.stdout);
  const err = child.stderr === null ? '' : text(child.stderr);
  const [code] = await once(child, 'close');
  return { code, stdout: await out, stderr: await err };
}

function ruleVersion(text: string): RuleVersion {
  if (isRuleVersion(text)) return text;
  throw new RangeError(text);
}
