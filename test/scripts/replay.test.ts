import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Observation } from '../../scripts/replay/observation.ts';
import {
  InputError,
  parseEventsOfRecordedLine,
  readRecordedHistory,
} from '../../scripts/replay/recorded-payments.ts';
import type { ReplayResult } from '../../scripts/replay/replay.ts';
import { formatReplayReport } from '../../scripts/replay/report.ts';
import { summarizeReplay } from '../../scripts/replay/summary.ts';
import { versionOf } from '../checkout/rollout/rule-folders.ts';
import { blocksOf } from '../guide-blocks.ts';
import { runNode } from '../processes/node-process.ts';
import { itTells, paragraphsOf } from '../rule-fixtures/told.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { startStandalone } from '../servers/redis.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const RULE_VERSION = versionOf('p2.v10');
/** What each line has beside LINE, and why it is refused. */
const BAD_PAYMENTS = new URL('bad-payments.txt', import.meta.url);
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

describe('a line of recorded payments', () => {
  const parse = (line: object) => parseEventsOfRecordedLine(JSON.stringify(line), 7);
  const PAYMENT = {
    ...LINE,
    kind: 'payment',
    line: 7,
    toPayCurrency: null,
    fingerprint: null,
    ip: null,
    userAgent: null,
    clientHints: null,
    abuse: null,
  };
  const { clientIdKey, orderRef } = LINE;
  const ABOUT = { line: 7, at: START, clientIdKey };

  it('is read with null for unknown members', () => {
    expect(parse({ ...LINE, ip: '203.0.113.7', signupAt: 5 })).to.deep.equal([
      { ...PAYMENT, ip: '203.0.113.7' },
    ]);
    expect(parse({ ...LINE, at: '2026-01-05T12:00:00Z', clientHints: { jsOk: false } })).to.deep.equal([
      { ...PAYMENT, clientHints: { jsOk: false } },
    ]);
  });

  it('may have the outcome of its payment with time and cause', () => {
    const ended = { outcome: 'UNPAID', cause: 'DECLINED', outcomeAt: START + 5 };
    expect(parse({ ...LINE, ...ended, abuse: false })).to.deep.equal([
      { ...PAYMENT, abuse: false },
      {
        kind: 'outcome',
        line: 7,
        at: START + 5,
        clientIdKey,
        orderRef,
        outcome: 'UNPAID',
        cause: 'DECLINED',
      },
    ]);
  });

  it('may be an outcome, a binding, or the end of one', () => {
    const reversed = { kind: 'outcome', orderRef, outcome: 'UNPAID', cause: 'REVERSED' };
    expect(parse({ at: START, clientIdKey, ...reversed })).to.deep.equal([{ ...ABOUT, ...reversed }]);
    const binding = { requisiteRef: 'requisite-7', acceptorKeys: ['acceptor-1'] };
    expect(parse({ kind: 'binding', at: START, clientIdKey, ...binding })).to.deep.equal([
      { kind: 'binding', ...ABOUT, binding, method: null, expiresAt: null },
    ]);
    expect(parse({ kind: 'unbinding', at: START, clientIdKey })).to.deep.equal([
      { kind: 'unbinding', ...ABOUT, binding: null, method: null, expiresAt: null },
    ]);
  });

  const refused = [...paragraphsOf(BAD_PAYMENTS)].map(([title, [given = '']]) => {
    const told = () => parse({ ...LINE, ...JSON.parse(given.slice('- '.length)) });
    return [title, () => [given, refusalOf(told)]] as const;
  });
  describe('is refused with', () => itTells(BAD_PAYMENTS, Object.fromEntries(refused)));

  it('is refused as an array', () => {
    expect(() => parse([LINE])).to.throw('this is not a JSON object; each line must hold exactly one');
  });
});

describe('a file of recorded payments', () => {
  const path = () => join(temporaryDirectory(), 'payments.ndjson');
  const read = async (...lines: readonly object[]) => {
    const { events } = await readRecordedHistory(ndjson(path(), lines));
    return events.map((event) => `${event.kind} ${event.line} ${(event.at - START) / SECOND}`);
  };
  const payment = (atSeconds: number, outcomeSeconds: number) => ({
    ...LINE,
    at: START + atSeconds * SECOND,
    outcome: 'PAID',
    outcomeAt: START + outcomeSeconds * SECOND,
  });

  it('gives outcomes at the time when they became known, in whatever order the lines are', async () => {
    const { at, ...rest } = payment(10, 20);
    expect(await read(payment(30, 90), { at, ...rest }, payment(0, 50))).to.deep.equal([
      'payment 3 0',
      'payment 2 10',
      'outcome 2 20',
      'payment 1 30',
      'outcome 3 50',
      'outcome 1 90',
    ]);
  });

  it('keeps the order of lines at the same time, with every outcome after its own payment', async () => {
    expect(await read(payment(0, 10), payment(10, 10), payment(10, 20))).to.deep.equal([
      'payment 1 0',
      'outcome 1 10',
      'payment 2 10',
      'outcome 2 10',
      'payment 3 10',
      'outcome 3 20',
    ]);
  });

  it('leaves bad lines out and says where they are', async () => {
    const file = ndjson(path(), [{ ...LINE, orderRef: '' }, LINE, { ...LINE, at: 7 }]);
    const { events, badLines } = await readRecordedHistory(file);
    expect(events.map(({ line }) => line)).to.deep.equal([2]);
    expect(badLines.map((line) => line.split(' must')[0])).to.deep.equal([
      `${file}:1: "orderRef"`,
      `${file}:3: "at"`,
    ]);
  });

  it('is refused when it is missing, empty, or has only bad lines', async () => {
    const [missing, empty, bad] = [path(), ndjson(path(), []), ndjson(path(), [{ ...LINE, method: null }])];
    for (const [file, why] of [
      [missing, `there is no file ${missing}; give the path of an NDJSON or CSV file of recorded payments`],
      [empty, `${empty} holds no recorded payment; it should hold one JSON object a line`],
      [bad, `no line can be replayed; the first one is ${bad}:1: "method" is missing`],
    ] as const) {
      const error = await readRecordedHistory(file).catch((cause: unknown) => cause);
      expect(error).to.be.instanceOf(InputError).with.property('message', why);
    }
  });
});

describe('a CSV file of recorded payments', () => {
  const HEADING = 'at,clientIdKey,orderRef,sellPointKey,amountRequested,method,outcome,outcomeAt';
  const written = (text: string) => {
    const path = join(temporaryDirectory(), 'payments.csv');
    writeFileSync(path, text);
    return path;
  };
  const mapping = (given: Readonly<Record<string, Readonly<Record<string, string>>>>) => ({
    columns: new Map(Object.entries(given['columns'] ?? {})),
    constants: new Map(Object.entries(given['constants'] ?? {})),
    values: new Map(Object.entries(given['values'] ?? {})),
  });
  const refusalOfFile = async (text: string, given = {}) => {
    const path = written(text);
    const error = await readRecordedHistory(path, mapping(given)).catch((cause: unknown) => cause);
    return error instanceof InputError ? error.message.replaceAll(path, 'payments.csv') : error;
  };

  it('says the same as the JSON of its rows', async () => {
    const cell = fc
      .stringMatching(/^[a-zA-Z0-9 ,;"'|.\u00e4-]{1,12}$/)
      .filter((text) => text.trim() === text);
    const rows = fc.record({
      at: fc.integer({ min: START, max: START + HOUR }),
      clientIdKey: cell,
      orderRef: cell,
      ip: fc.option(cell),
      abuse: fc.option(fc.boolean()),
    });
    const law = fc.asyncProperty(
      fc.array(rows, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(',', ';', '\t'),
      async (some, separator) => {
        const records = some.map((row) => ({ ...LINE, ...row }));
        const headings = Object.keys({ ...LINE, ip: '', abuse: '' });
        const quoted = (value: unknown) => `"${String(value ?? '').replaceAll('"', '""')}"`;
        const lines = records.map((record) =>
          headings
            .map((name) => quoted(Object.entries(record).find(([key]) => key === name)?.[1]))
            .join(separator),
        );
        const fromCsv = await readRecordedHistory(
          written(`${[headings.join(separator), ...lines].join('\n')}\n`),
        );
        const fromJson = await readRecordedHistory(
          ndjson(join(temporaryDirectory(), 'payments.ndjson'), records),
        );
        const withoutLines = (events: readonly object[]) => events.map((event) => ({ ...event, line: 0 }));
        expect(fromCsv.badLines).to.deep.equal([]);
        expect(withoutLines(fromCsv.events)).to.deep.equal(withoutLines(fromJson.events));
      },
    );
    await fc.assert(law, { numRuns: 20 });
  });

  it('may call its columns and their words otherwise, and leave out what is the same in every row', async () => {
    const path = written(
      '\ufeffcreated;customer;order;sum;status;done\n2026-01-05 12:00:00;ann;o-1;25.00;failed;2026-01-05 13:00+01:00\n',
    );
    const columns = {
      at: 'created',
      clientIdKey: 'customer',
      orderRef: 'order',
      amountRequested: 'sum',
      outcome: 'status',
      outcomeAt: 'done',
    };
    const constants = { sellPointKey: 'shop', method: 'card' };
    const { events } = await readRecordedHistory(
      path,
      mapping({ columns, constants, values: { 'outcome:failed': 'UNPAID' } }),
    );
    expect(events).to.deep.equal([
      {
        kind: 'payment',
        line: 2,
        at: START,
        clientIdKey: 'ann',
        orderRef: 'o-1',
        sellPointKey: 'shop',
        method: 'card',
        amountRequested: '25.00',
        toPayCurrency: null,
        fingerprint: null,
        ip: null,
        userAgent: null,
        clientHints: null,
        abuse: null,
      },
      {
        kind: 'outcome',
        line: 2,
        at: START,
        clientIdKey: 'ann',
        orderRef: 'o-1',
        outcome: 'UNPAID',
        cause: null,
      },
    ]);
  });

  it('has the hints of the page in columns of their own', async () => {
    const { events } = await readRecordedHistory(
      written(`${HEADING},jsOk,honeypotTriggered\n${START},ann,o-1,shop,25,card,,,yes,0\n`),
    );
    expect(events[0])
      .to.have.property('clientHints')
      .that.deep.equals({ jsOk: true, honeypotTriggered: false });
  });

  it('says of each bad row where it stands and what is wrong', async () => {
    const path = written(
      `${HEADING}\n${START},ann,o-1,shop,25,card,,\n1,ann,o-2,shop,25,card,,\n${START},ann,o-3,shop,25,card,paid,${START}\n`,
    );
    const { events, badLines } = await readRecordedHistory(path);
    expect(events).to.have.lengthOf(1);
    expect(badLines.map((line) => line.replace(path, 'payments.csv'))).to.deep.equal([
      'payments.csv:3: "at" must be a moment from the year 2000 on, RFC 3339 like "2026-11-21T10:00:00Z" or milliseconds since 1970 (not seconds), not 1',
      'payments.csv:4: "outcome" must be one of PAID, UNPAID, not "paid"',
    ]);
  });

  it('is refused at the first amount with a comma, because nobody knows what follows the comma', async () => {
    const columns = { amountRequested: 'sum' };
    const constants = { sellPointKey: 'shop', method: 'card' };
    const rows = (...sums: readonly string[]) =>
      ['at;clientIdKey;orderRef;sum', ...sums.map((sum, at) => `${START};ann;o-${at};${sum}`)].join('\n');
    for (const sum of ['35,00', '1.035,00', '1 035,00', '1,035.00'])
      expect(await refusalOfFile(rows('35', '35.00', sum, '7,00'), { columns, constants })).to.equal(
        `payments.csv:4: column "sum" has the amount "${sum}"; decimals take a point, like 25.00, and thousands no mark`,
      );
    const { events } = await readRecordedHistory(
      written(rows('35', '35.00')),
      mapping({ columns, constants }),
    );
    expect(events).to.have.lengthOf(2);
  });

  it('is refused without the columns that every payment needs, with the way to name them', async () => {
    expect(
      await refusalOfFile(`when,clientIdKey,orderRef,amountRequested,method\n${START},ann,o-1,25,card\n`),
    ).to.equal(
      'payments.csv has no column for at, sellPointKey; its columns are when, clientIdKey, orderRef, amountRequested, method. Say which column it is: --column at=HEADING, or what it is in every row: --constant at=VALUE',
    );
    expect(
      await refusalOfFile(`${HEADING}\n${START},ann,o-1,shop,25,card,,\n`, { columns: { ip: 'address' } }),
    ).to.equal(
      `payments.csv has no column "address" for "ip"; its columns are ${HEADING.replaceAll(',', ', ')}`,
    );
    expect(await refusalOfFile(`${HEADING}\n`)).to.equal(
      'payments.csv holds no recorded payment; it should hold a heading and one payment a row',
    );
  });
});

describe('the summary of a replay', () => {
  const summaryOf = (...some: readonly Partial<Observation>[]) => summarizeReplay(replayOf(some.map(seen)));

  it('measures BLOCK and WAIT separately among the paid and the unpaid', () => {
    const { blocked, waiting } = summaryOf(
      ...(['BLOCK', 'GET_NEW'] as const).map((verdict) => ({ verdict, outcome: 'PAID' }) as const),
      ...[1, 2].map((waitLevel) => ({ verdict: 'WAIT', outcome: 'UNPAID', waitLevel }) as const),
      ...(['BLOCK', 'GET_NEW'] as const).map((verdict) => ({ verdict, outcome: 'UNPAID' }) as const),
      { verdict: 'BLOCK', outcome: null },
    );
    expect(blocked).to.deep.equal({ paidShare: 0.5, unpaidShare: 0.25 });
    expect(waiting).to.deep.equal({ paidShare: 0, unpaidShare: 0.5 });
  });

  it('compares isBot of the verdict, not of the score, with abuse', () => {
    const { bot } = summaryOf(
      ...[true, true, false].map((abuse) => ({ isBotAtVerdict: true, abuse })),
      { isBotAtScore: true, abuse: true },
      { abuse: true },
      { abuse: false },
      { isBotAtVerdict: true },
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

  it('measures the first score of an order, because later ones know its outcome', () => {
    const { paymentScore, verdictsByOutcome } = summaryOf(
      { outcome: 'PAID', paymentScore: 0.5 },
      { outcome: 'PAID', paymentScore: 1, isFirst: false },
    );
    expect(paymentScore).to.deep.equal({ measured: 1, auc: null, brier: 0.25 });
    expect(verdictsByOutcome.PAID.GET_NEW).to.equal(2);
  });

  it('says null where the data does not allow a figure', () => {
    const { paymentScore, reliability, blocked, waiting, bot } = summaryOf({});
    expect([paymentScore, reliability, blocked, waiting, bot]).to.deep.equal([null, null, null, null, null]);
    const onlyPaid = summaryOf({ outcome: 'PAID' });
    expect(onlyPaid.paymentScore).to.deep.equal({ measured: 1, auc: null, brier: 0.25 });
    expect(onlyPaid.blocked).to.deep.equal({ paidShare: 0, unpaidShare: null });
    const unflagged = summaryOf({ abuse: false });
    expect(unflagged.bot).to.include({ precision: null, recall: null, trueNegatives: 1 });
  });
});

describe('the report of a replay', () => {
  const introductionOf = (...observations: readonly Observation[]) => {
    const replayed = replayOf(observations);
    return formatReplayReport('payments.csv', replayed, summarizeReplay(replayed))
      .split('\n\n')[0]
      ?.split('\n');
  };
  const PERIOD = '2026-01-05T12:00:00.000Z to 2026-01-05T13:00:00.000Z';
  const RULES = 'rules p2.v10 sha256:d1, store sqlite';

  it('counts one payment and many', () => {
    expect(introductionOf(seen({}))).to.deep.equal([`payments.csv: 1 recorded payment, ${PERIOD}`, RULES]);
    expect(introductionOf(...Array.from({ length: 1200 }, () => seen({})))).to.deep.equal([
      `payments.csv: 1,200 recorded payments, ${PERIOD}`,
      RULES,
    ]);
  });

  it('says of how many payments no user agent was recorded, before its tables', () => {
    const told = (...recorded: readonly boolean[]) =>
      introductionOf(...recorded.map((hasUserAgent) => seen({ hasUserAgent })))?.[2];
    expect(told(true, true)).to.equal(undefined);
    expect(told(true, false, true)).to.equal(
      'no userAgent was recorded for 1 of 3 payments: rules that count its absence, like missing-user-agent, see it absent there',
    );
    expect(told(false)).to.equal(
      'no userAgent was recorded for 1 of 1 payment: rules that count its absence, like missing-user-agent, see it absent there',
    );
  });
});

describe('npm run replay', () => {
  let folder: string;
  let temporary: string;

  beforeEach(() => {
    folder = temporaryDirectory();
    temporary = join(folder, 'tmp');
    mkdirSync(temporary);
  });

  afterEach(() => {
    expect(readdirSync(temporary), 'what a replay leaves in the temporary folder').to.deep.equal([]);
  });

  const replayed = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runNode([join(ROOT, 'scripts', 'replay.ts'), ...args], {
      cwd: folder,
      env: { ...process.env, REDIS_URL: '', RULE_VERSION, TMPDIR: temporary, ...env },
    });

  /** Writes the payments of the guide. Returns the arguments of its command, and the answer that it quotes. */
  function writeGuidesPayments(): { readonly args: readonly string[]; readonly answer: string } {
    const guide = readFileSync(join(ROOT, 'scripts', 'replay', 'README.md'), 'utf8');
    const [csv = '', command = '', answer = ''] = blocksOf(guide).map(({ text }) => text);
    writeFileSync(join(folder, 'payments.csv'), csv);
    const words = command
      .replaceAll('\\\n', ' ')
      .split(/\s+/)
      .filter((word) => word !== '');
    return { args: words.slice(words.indexOf('--') + 1), answer: answer.trimEnd() };
  }

  it('drives the service by the clock of the data and prints the figures as JSON', async () => {
    const path = ndjson(join(folder, 'payments.ndjson'), DOZEN);
    const { exitCode, stdout, stderr } = await replayed([path, '--json']);
    expect([exitCode, stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(stdout)).to.deep.equal(EXPECTED);
  });

  it('leaves out a line that is bad or refused, says where and why, and ends with exit code 1', async () => {
    const paid = { orderRef: 'order-2', outcome: 'PAID', outcomeAt: START + 9 };
    const refused = { ...LINE, ...paid, toPayCurrency: 'EUROS' };
    const path = ndjson(join(folder, 'payments.ndjson'), [LINE, refused, { ...LINE, method: 7 }]);
    const { exitCode, stdout, stderr } = await replayed([path, '--json']);
    const { payments, badLines, requests } = JSON.parse(stdout);
    expect([exitCode, payments, badLines, requests.outcomes]).to.deep.equal([1, 1, 2, 0]);
    const [first = '', second = ''] = stderr.split('\n');
    expect(first).to.equal(`${path}:3: "method" must be a JSON string that is not empty, not 7`);
    expect(second).to.match(
      /:2: the service answered 400 \{"title":"malformed JSON body".+ to POST \/v1\/client\/score \{/,
    );
  });

  it('shows twenty of the lines that were left out, and counts the others', async () => {
    for (const [bad, told] of [
      [21, 'and 1 more line that could not be replayed'],
      [22, 'and 2 more lines that could not be replayed'],
    ] as const) {
      const lines = Array.from({ length: bad }, () => ({ ...LINE, method: 7 }));
      const { exitCode, stderr } = await replayed([
        ndjson(join(folder, 'payments.ndjson'), [LINE, ...lines]),
      ]);
      expect([exitCode, stderr.trimEnd().split('\n').slice(20)]).to.deep.equal([1, [told]]);
    }
  });

  it('refuses a member that it does not know, in each option that names one', async () => {
    const members =
      'The members are kind, at, clientIdKey, orderRef, sellPointKey, amountRequested, method, toPayCurrency, fingerprint, ip, userAgent, jsOk, honeypotTriggered, outcome, outcomeAt, cause, abuse, requisiteRef, acceptorKeys, expiresAt.';
    for (const [option, form, pair, why] of [
      [
        'column',
        'member=heading',
        'fingreprint=card_hash',
        `There is no member "fingreprint". Did you mean "fingerprint"? ${members}`,
      ],
      ['column', 'member=heading', 'device=card_hash', `There is no member "device". ${members}`],
      [
        'constant',
        'member=value',
        'methd=card',
        `There is no member "methd". Did you mean "method"? ${members}`,
      ],
      [
        'value',
        'member:text=value',
        'outcom:x=PAID',
        `There is no member "outcom". Did you mean "outcome"? ${members}`,
      ],
      ['value', 'member:text=value', 'outcome=PAID', 'It must look like MEMBER:TEXT=VALUE.'],
    ] as const) {
      const { exitCode, stderr } = await replayed(['payments.csv', `--${option}`, pair]);
      expect([exitCode, stderr.split('\n')[0]]).to.deep.equal([
        2,
        `error: option '--${option} <${form}>' argument '${pair}' is invalid. ${why}`,
      ]);
    }
  });

  it("answers the guide's question about payments of one's own", async () => {
    const { args, answer } = writeGuidesPayments();
    const { exitCode, stderr, stdout } = await replayed(args);
    expect([exitCode, stderr]).to.deep.equal([0, '']);
    const withoutDigest = stdout.replace(/sha256:[0-9a-f]{64}/, 'sha256:..');
    expect(withoutDigest.slice(0, answer.length)).to.equal(answer);
  });

  it('tries a draft, as the guide does, which no service lets decide', async () => {
    const { args } = writeGuidesPayments();
    const rulesDir = join(folder, 'rules');
    const [released, draft] = [join(rulesDir, 'p2.v10'), join(rulesDir, 'p2.v11')];
    cpSync(join(ROOT, 'rules', 'p2.v10'), released, { recursive: true });
    const made = await runNode(
      [join(ROOT, 'bin', 'scoring.js'), 'rules', 'new', 'p2.v11', '--from', 'p2.v10'],
      {
        cwd: folder,
        env: { ...process.env, RULES_DIR: rulesDir },
      },
    );
    expect([made.exitCode, made.stderr]).to.deep.equal([0, '']);
    const env = { RULES_DIR: rulesDir, RULE_VERSION: 'p2.v11' };
    const { exitCode, stderr, stdout } = await replayed([...args, '--json'], env);
    expect([exitCode, stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(stdout)).to.deep.include({ payments: 5, ruleVersion: 'p2.v11' });
    writeFileSync(join(draft, 'ladder.yaml'), 'levels: 7\n');
    const refused = await replayed([...args, '--json'], env);
    expect([refused.exitCode, refused.stderr.split('\n')[0]]).to.deep.equal([
      3,
      'error: no rule set can decide, because p2.v11 has problems:',
    ]);
  });

  it("replays hints, bindings, several reports of an order, and reversals of a merchant's history", async () => {
    const guide = readFileSync(join(ROOT, 'scripts', 'replay', 'README.md'), 'utf8');
    const example = blocksOf(guide).find(({ language }) => language === 'json')?.text ?? '';
    const path = join(folder, 'payments.ndjson');
    writeFileSync(path, example);
    const dataDir = join(folder, 'kept');
    const { exitCode, stderr, stdout } = await replayed([path, '--json', '--data-dir', dataDir]);
    expect([exitCode, stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(stdout)).to.deep.include({
      requests: { score: 3, verdict: 3, outcomes: 4, clients: 2, decisions: 0 },
      verdicts: { ...NO_VERDICTS, GET_NEW: 2, GET_SAME_STICKY: 1 },
      badLines: 0,
    });
    const store = openSqliteStore(dataDir);
    const { entries } = await store.readJournal(null, 100);
    await store.close();
    const told = entries.flatMap((entry) => {
      if (entry.kind === 'binding') return [`binding ${entry.binding?.requisiteRef ?? 'none'}`];
      return entry.kind === 'outcome'
        ? [`${entry.orderRef} ${entry.order.outcome} ${entry.order.cause ?? ''}`.trim()]
        : [];
    });
    expect(told).to.deep.equal([
      'order-1 PAID',
      'binding requisite-7',
      'binding none',
      'order-3 UNPAID DECLINED',
      'order-3 PAID',
      'order-1 UNPAID REVERSED',
    ]);
    const [asked] = entries.flatMap((entry) => (entry.kind === 'score' ? [entry.request] : []));
    expect(asked?.fingerprint).to.be.a('string');
    expect(asked?.ip).to.be.a('string');
    expect([asked?.userAgentPresent, asked?.jsOk]).to.deep.equal([true, true]);
  });

  describeWithServer('redis-server', 'with REDIS_URL', () => {
    it('sees the same on Redis, run after run', async () => {
      const servers = await startStandalone();
      try {
        const path = ndjson(join(folder, 'payments.ndjson'), DOZEN);
        for (const run of ['first', 'second']) {
          const { exitCode, stdout, stderr } = await replayed([path, '--json'], { REDIS_URL: servers.url });
          expect([exitCode, stderr], run).to.deep.equal([0, '']);
          expect(JSON.parse(stdout), run).to.deep.equal(EXPECTED);
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
  attempt('a', 0, ended('PAID', 20)),
  // Known at the very time of the next request, and just before it.
  attempt('b', 1, ended('UNPAID', 10)),
  attempt('b', 10, ended('UNPAID', 15)),
  attempt('b', 20, ended('UNPAID', 25)),
  attempt('a', 30, ended('PAID', 45)),
  attempt('b', 1000, ended('UNPAID', 1001)),
  attempt('b', 1100, ended('UNPAID', 1101)),
  attempt('c', 2000, { fingerprint: 'device-1', userAgent: 'Mozilla/5.0', abuse: true }),
  attempt('d', 2000, { fingerprint: 'device-1', userAgent: 'Mozilla/5.0', abuse: true }),
  attempt('e', 2060, { fingerprint: 'device-1', ip: '203.0.113.7', abuse: false }),
  attempt('f', 2000 + 26 * 3600, { fingerprint: 'device-1', abuse: true }),
  attempt('g', 2000 + 26 * 3600, { abuse: false, toPayCurrency: 'USD' }),
  // For an order that was refused and abandoned before: not reported any more.
  attempt('b', 10, { outcome: 'UNPAID', cause: 'DECLINED', kind: 'outcome', at: START + 1200 * SECOND }),
];
const NO_VERDICTS = { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 };
const { version, digest } = (
  await LoadedRules.read(join(ROOT, 'rules'), createDirectRuleReader(join(ROOT, 'rules')))
).requireReleased(RULE_VERSION);

/** Worked out by hand: b waits at level 1 and 2, is let through at 1000 s, and waits at level 3; two of its orders could be paid. */
const EXPECTED = {
  payments: 12,
  withoutUserAgent: 10,
  badLines: 0,
  requests: { score: 12, verdict: 12, outcomes: 7, clients: 0, decisions: 3 },
  verdicts: { ...NO_VERDICTS, GET_NEW: 7, WAIT: 3, BLOCK: 2 },
  verdictsByOutcome: {
    PAID: { ...NO_VERDICTS, GET_NEW: 2 },
    UNPAID: { ...NO_VERDICTS, GET_NEW: 2, WAIT: 3 },
    none: { ...NO_VERDICTS, GET_NEW: 3, BLOCK: 2 },
  },
  groups: { NEW: 11, STICKY: 0, PAYING: 1, TRUSTED: 0, BLOCKED: 0 },
  // d is new when it is scored, so it is no bot yet; its verdict counts it on the device of c.
  botFlags: { score: 0, verdict: 2 },
  ladder: [1, 2, 3].map((level) => ({ level, waits: 1 })),
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

function ended(outcome: 'PAID' | 'UNPAID', atSeconds: number): object {
  return { outcome, outcomeAt: START + atSeconds * SECOND };
}

function attempt(payer: string, seconds: number, more: object): object {
  const clientIdKey = `payer-${payer}`;
  return { ...LINE, at: START + seconds * SECOND, clientIdKey, orderRef: `${payer}-${seconds}`, ...more };
}

function seen(more: Partial<Observation>): Observation {
  return {
    clientIdKey: 'payer-1',
    clientGroup: 'NEW',
    paymentScore: 0.5,
    hasUserAgent: true,
    isBotAtScore: false,
    verdict: 'GET_NEW',
    isBotAtVerdict: false,
    waitLevel: null,
    outcome: null,
    isFirst: true,
    abuse: null,
    ...more,
  };
}

function replayOf(observations: readonly Observation[]): ReplayResult {
  return {
    time: { firstAt: START, lastAt: START + HOUR },
    observations,
    badLines: [],
    operationCounts: { score: 1200, verdict: 1200, outcomes: 2, clients: 0, decisions: 0 },
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

function refusalOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return 'it is taken';
}
