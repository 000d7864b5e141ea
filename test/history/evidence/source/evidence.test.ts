import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { Archive } from '#history/archive/archive.ts';
import { listFileNames } from '#history/archive/archive-log.ts';
import type { ResultRow } from '#history/archive/query-engine.ts';
import { TABLE_NAMES, type TableName } from '#history/archive/tables.ts';
import { readInputsByClient, type VerdictInput } from '#history/evidence/backtest/input.ts';
import { listSpanNotes } from '#history/evidence/presentation.ts';
import { findQuestion } from '#history/evidence/questions.ts';
import {
  createReadSegmentFilter,
  createSpanSegmentFilter,
  type EvidenceAsk,
  type EvidencePlace,
  withEvidence,
} from '#history/evidence/source/evidence.ts';
import { listReversalNotes } from '#history/evidence/source/reversals.ts';
import {
  collectSharingQuestions,
  createInputView,
  createSharedDevicesTable,
} from '#history/evidence/source/shared-devices.ts';
import type { Store } from '#state/store.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { currentRules } from '../../../service/current-rules.ts';
import { History, JULY, PLATFORM } from '../backtest/backtest-history.ts';
import { all, type RecordedEvidence, recordedEvidence } from './recorded-evidence.ts';

const HOUR = 3_600_000;

/** Ann pays what she first did not, Bob asks twice for one order, Cid is refunded, Dan meets a broken terminal. */
async function live(store: Store): Promise<void> {
  const history = new History(store);
  const after = (ms: number) => {
    history.now += ms;
  };
  await history.score('ann');
  await history.verdict('ann', 'ann-1');
  await history.outcome('ann', 'ann-1', 'UNPAID');
  after(HOUR);
  await history.outcome('ann', 'ann-1', 'PAID');
  await history.verdict('bob', 'bob-1');
  after(1000);
  await history.verdict('bob', 'bob-1', '12.25');
  await history.verdict('cid', 'cid-1', '7');
  await history.outcome('cid', 'cid-1', 'PAID');
  after(HOUR);
  await history.outcome('cid', 'cid-1', 'UNPAID', 'REVERSED');
  await history.verdict('dan', 'dan-1');
  await history.outcome('dan', 'dan-1', 'UNPAID', 'TECHNICAL');
}

function rowsOf(ask: EvidenceAsk, sql: string): Promise<readonly ResultRow[]> {
  return withEvidence(ask, ({ duck }) => duck.rows(sql));
}

const SEGMENT = {
  name: 'a',
  platform: PLATFORM,
  day: '2026-07',
  rows: 1,
  bytes: 1,
  firstTick: 0,
  lastTick: 0,
} as const;

const spanOf = (ask: EvidenceAsk) => withEvidence(ask, async ({ span }) => span);

describe('evidence', () => {
  let sources: RecordedEvidence;
  before(async () => {
    sources = await recordedEvidence(live);
  });
  const places: readonly ['archive', 'journal'] = ['archive', 'journal'];
  const journalText = () => readFileSync(sources.journal.path, 'utf8');
  const journalOf = (text: string): EvidencePlace => {
    const path = join(temporaryDirectory(), 'journal.ndjson');
    writeFileSync(path, text);
    return { kind: 'journal', path };
  };

  it('has the same decisions and outcomes from an archive and from an exported journal', async () => {
    for (const table of ['decisions', 'outcomes']) {
      const sql = `SELECT * FROM ${table} ORDER BY order_ref, client_hash`;
      const archived = await rowsOf(all(sources.archive), sql);
      const exported = await rowsOf(all(sources.journal), sql);
      expect(byName(exported)).to.deep.equal(byName(archived));
      expect(archived.length).to.be.above(3);
    }
  });

  for (const kind of places) {
    it(`has each order with its last amount and its last outcome, from the ${kind}`, async () => {
      const rows = await rowsOf(
        all(sources[kind]),
        'SELECT order_ref, decisions::INT AS decisions, amount, currency, method, granted, waited, blocked, status FROM orders ORDER BY order_ref',
      );
      const order = { currency: 'EUR', method: 'card', granted: true, waited: false, blocked: false };
      expect(rows).to.deep.equal([
        { ...order, order_ref: 'ann-1', decisions: 1, amount: 10.5, status: 'PAID' },
        { ...order, order_ref: 'bob-1', decisions: 2, amount: 12.25, waited: true, status: 'UNKNOWN' },
        { ...order, order_ref: 'cid-1', decisions: 1, amount: 7, status: 'UNPAID' },
        { ...order, order_ref: 'dan-1', decisions: 1, amount: 10.5, status: 'TECHNICAL' },
      ]);
    });

    it(`is limited to a span of time, but has later outcomes, from the ${kind}`, async () => {
      const ask = { ...all(sources[kind]), from: JULY + HOUR, to: JULY + HOUR + 1001 };
      const rows = await rowsOf(ask, 'SELECT order_ref, status FROM orders ORDER BY order_ref');
      expect(rows).to.deep.equal([
        { order_ref: 'bob-1', status: 'UNKNOWN' },
        { order_ref: 'cid-1', status: 'UNPAID' },
      ]);
    });

    it(`says its span and who decided, from the ${kind}`, async () => {
      const { span, rules } = await withEvidence(all(sources[kind]), async (evidence) => ({
        span: evidence.span,
        rules: await evidence.readDecidingRules(),
      }));
      const to = JULY + 2 * HOUR + 1000;
      expect(span).to.deep.equal({ from: JULY, to, decisions: 5, gaps: [], silences: [], torn: false });
      expect(rules.map(({ ruleVersion, decisions }) => `${ruleVersion}: ${decisions}`)).to.deep.equal([
        'p2.v10: 5',
      ]);
    });

    it(`is limited to a platform, from the ${kind}`, async () => {
      for (const [platform, n] of [
        [PLATFORM, 5],
        [toPlatformName('other'), 0],
      ] as const) {
        const count = 'SELECT count(*)::INT AS n FROM decisions';
        expect(await rowsOf({ ...all(sources[kind]), platform }, count)).to.deep.equal([{ n }]);
      }
    });
  }

  it('is empty over an empty archive', async () => {
    const place: EvidencePlace = { kind: 'archive', folder: temporaryDirectory() };
    expect(await rowsOf(all(place), 'SELECT * FROM orders')).to.deep.equal([]);
    expect(await spanOf(all(place))).to.deep.equal({
      from: null,
      to: null,
      decisions: 0,
      gaps: [],
      silences: [],
      torn: false,
    });
  });

  it('names the gaps of an archive within the span', async () => {
    const folder = temporaryDirectory();
    mkdirSync(join(folder, 'log'));
    const archive = new Archive(folder);
    const gap = { from: JULY, to: JULY + HOUR, entries: 12 };
    await archive.commit(archive.read(), { by: 'test', at: JULY, add: [], remove: [], gap });
    const ask = all({ kind: 'archive', folder });
    expect((await spanOf(ask)).gaps).to.deep.equal([gap]);
    for (const outside of [{ from: JULY + 2 * HOUR }, { to: JULY }])
      expect((await spanOf({ ...ask, ...outside })).gaps).to.deep.equal([]);
  });

  it('knows of an order that was paid before the span and asked for within it', async () => {
    const asked = await recordedEvidence(async (store) => {
      const history = new History(store);
      for (const client of ['ann', 'bob']) {
        await history.verdict(client, `${client}-1`);
        await history.outcome(client, `${client}-1`, 'PAID');
      }
      history.now += 2 * HOUR;
      await history.verdict('ann', 'ann-1');
    });
    const ask = { ...all(asked.archive), from: JULY + HOUR };
    expect(await rowsOf(ask, 'SELECT order_ref, status FROM orders')).to.deep.equal([
      { order_ref: 'ann-1', status: 'PAID' },
    ]);
    expect(await rowsOf(ask, 'SELECT order_ref FROM outcomes')).to.deep.equal([{ order_ref: 'ann-1' }]);
  });

  it('fetches what came before the span for a trial, a holdout or a drift, and the day after it for waits', () => {
    const filter = { from: JULY + 48 * HOUR, to: JULY + 72 * HOUR, platform: PLATFORM };
    const reads = (kind: string, from: number) =>
      createReadSegmentFilter(
        findQuestion(kind)?.reads ?? 'span',
        filter,
      )({ ...SEGMENT, table: 'decisions', from, to: from });
    const times = [JULY, JULY + 50 * HOUR, JULY + 90 * HOUR, JULY + 200 * HOUR];
    for (const kind of ['report', 'experiment', 'drift'])
      expect(times.map((at) => reads(kind, at))).to.deep.equal([true, true, true, true]);
    expect(times.map((at) => reads('backtest', at))).to.deep.equal([false, true, true, false]);
  });

  it('fetches every table of a remote archive: also the devices of scores, and later reports', () => {
    const isWanted = createSpanSegmentFilter({ from: JULY, to: JULY + HOUR, platform: PLATFORM });
    const segment = (table: TableName, from: number) => ({ ...SEGMENT, table, from, to: from });
    const within = TABLE_NAMES.filter((table) => isWanted(segment(table, JULY)));
    const later = TABLE_NAMES.filter((table) => isWanted(segment(table, JULY + 2 * HOUR)));
    expect([within, later]).to.deep.equal([TABLE_NAMES, ['outcomes', 'erasures']]);
  });

  it('finds a decision that is missing from a journal by the numbers of those around it', async () => {
    const lines = journalText().split('\n');
    const first = lines.findIndex((line) => line.includes('"seq":1,') && line.includes('"bob"'));
    const again = lines.findIndex((line) => line.includes('"seq":2,') && line.includes('"bob"'));
    const third = lines[again]?.replace('"seq":2,', '"seq":4,') ?? '';
    const { gaps } = await spanOf(all(journalOf(lines.with(again, third).join('\n'))));
    expect(first).to.be.below(again);
    expect(gaps).to.deep.equal([{ from: JULY + HOUR, to: JULY + HOUR + 1000, entries: 2 }]);
  });

  it('leaves out an incomplete last line, and says so', async () => {
    const { decisions, torn } = await spanOf(all(journalOf(`${journalText()}{"kind":"verdict","at":17`)));
    expect([decisions, torn]).to.deep.equal([5, true]);
  });

  it('refuses a file that is not a journal, and names the line', async () => {
    const lines = journalText().trimEnd().split('\n').length;
    const bad = journalOf(`${journalText()}\nDear Ann,\n`);
    const error: unknown = await spanOf(all(bad)).catch((thrown: unknown) => thrown);
    expect(error).to.include({ name: 'JournalFileError', message: 'the line is not JSON', line: lines + 2 });
  });

  it("keeps reading while the archive's segments change", async () => {
    const { archive, ask } = await ownArchive();
    let tries = 0;
    const decisions = await withEvidence(ask, async ({ duck }) => {
      tries++;
      await removeAll(archive);
      return (await duck.rows('SELECT * FROM decisions')).length;
    });
    expect([tries, decisions]).to.deep.equal([1, 5]);
  });

  it('begins anew without a client who is erased meanwhile', async () => {
    const { archive, ask } = await ownArchive();
    const seen: string[] = [];
    const decisions = await withEvidence(ask, async ({ duck }) => {
      seen.push(...archive.read().segments.keys());
      if (archive.read().segments.size > 0) {
        await removeAll(archive);
        archive.endReading();
      }
      return (await duck.rows('SELECT * FROM decisions')).length;
    });
    expect(seen.length).to.be.above(0);
    expect(decisions).to.equal(0);
  });

  it('leaves nothing behind in the archive', async () => {
    const { archive, ask } = await ownArchive();
    const before = listFileNames(archive.getStagingFolder());
    const during = await withEvidence(ask, async () => listFileNames(archive.getStagingFolder()));
    expect(during.length).to.equal(before.length + 1);
    expect(listFileNames(archive.getStagingFolder())).to.deep.equal(before);
  });

  it('passes on errors unchanged', async () => {
    const { ask } = await ownArchive();
    const failing = withEvidence(ask, () => Promise.reject(new Error('the question is wrong')));
    expect(await failing.catch(String)).to.equal('Error: the question is wrong');
  });
});

/** A new archive, so that a test may change it. */
async function ownArchive(): Promise<{ readonly archive: Archive; readonly ask: EvidenceAsk }> {
  const { archive: place } = await recordedEvidence(live);
  return { archive: new Archive(place.folder), ask: all(place) };
}

async function removeAll(archive: Archive): Promise<void> {
  const state = archive.read();
  await archive.commit(state, { by: 'test', at: JULY, add: [], remove: [...state.segments.keys()] });
}

/** The rows with sorted columns. */
function byName(rows: readonly ResultRow[]): readonly object[] {
  return rows.map((row) => Object.fromEntries(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

describe('evidence of a time in which a platform told nothing', () => {
  /** An order a minute, and what came of it four minutes later but for those of a span. */
  const silent = (from: number, to: number) => async (store: Store) => {
    const history = new History(store);
    for (let minute = 0; minute < 240; minute++) {
      history.now += 60_000;
      await history.verdict(`payer-${minute}`, `order-${minute}`);
      const isTold = minute >= 4 && (minute < from || minute >= to);
      if (isTold) await history.outcome(`payer-${minute - 4}`, `order-${minute - 4}`, 'PAID');
    }
  };
  const silencesOf = async (from: number, to: number) => {
    const { archive } = await recordedEvidence(silent(from, to));
    return withEvidence(all(archive), async ({ span }) => ({
      found: span.silences,
      notes: listSpanNotes(span),
    }));
  };

  it('says so, with the orders of that time', async () => {
    const { found, notes } = await silencesOf(100, 160);
    const [start, minute] = [JULY, 60_000];
    expect(found).to.deep.equal([
      { platform: PLATFORM, from: start + 101 * minute, to: start + 161 * minute, orders: 61 },
    ]);
    expect(notes.join(' ')).to.contain(
      `${PLATFORM} reported nothing from 2026-07-01T01:41:00Z to 2026-07-01T02:41:00Z, about 61 granted orders. Figures of that time`,
    );
    expect((await silencesOf(170, 240)).found).to.deep.include.members([
      { platform: PLATFORM, from: start + 171 * minute, to: null, orders: 70 },
    ]);
  });

  it('says nothing of a silence over few orders, nor of a platform that never reports', async () => {
    expect((await silencesOf(100, 148)).found).to.deep.equal([]);
    expect((await silencesOf(0, 240)).found).to.deep.equal([]);
  });
});

describe('what a reader must know of reversals', () => {
  it('counts one order in the singular', () => {
    const immature = [{ currency: 'EUR', orders: 1, amount: 10 }];
    const seen = { causes: [], seen: 1, immature, expected: null };
    const [, young] = listReversalNotes({ ...seen, maturityDays: 33 });
    expect(young).to.match(/^Immature: 1 paid order is younger than 33 days, /);
    const [, unknown] = listReversalNotes({ ...seen, maturityDays: null });
    expect(unknown).to.match(/ 1 paid order may still be reversed, so do not judge by these yet\.$/);
  });
});

const DAY_MS = 24 * HOUR;

/** Bob, Cid and Dan come from one address, Dan with a device of his own, Eve shows nothing; Bob comes back after two hours, and after three days. */
async function liveOnDevices(store: Store): Promise<void> {
  const history = new History(store);
  const ask = async (client: string, order: string, device?: string) => {
    if (device !== undefined) await history.score(client, device);
    history.now += 1000;
    await history.verdict(client, order);
    history.now += 1000;
  };
  await ask('bob', 'bob-1', 'shared');
  await ask('cid', 'cid-1', 'shared');
  await ask('dan', 'dan-1', 'own');
  await ask('eve', 'eve-1');
  history.now += 2 * HOUR;
  await ask('bob', 'bob-2', 'shared');
  history.now += 3 * DAY_MS;
  await ask('bob', 'bob-3', 'shared');
}

describe('the number of clients on a device', () => {
  let sources: RecordedEvidence;
  const rules = currentRules();
  before(async () => {
    sources = await recordedEvidence(liveOnDevices);
  });

  function verdictsIn(place: EvidencePlace): Promise<readonly VerdictInput[]> {
    return withEvidence(all(place), async (evidence) => {
      await createInputView(evidence, [rules]);
      const inputs = (await Array.fromAsync(readInputsByClient(evidence.duck))).flat();
      return inputs.filter((input) => input.kind === 'verdict');
    });
  }

  const places: readonly (keyof RecordedEvidence)[] = ['archive', 'journal'];
  for (const place of places) {
    it(`comes with each request of the ${place}, for each window, where there were several`, async () => {
      const seen = (await verdictsIn(sources[place])).map(({ orderRef, sightings: { fingerprint, ip } }) => [
        orderRef,
        fingerprint.get(DAY_MS)?.clients ?? null,
        ip.get(HOUR)?.clients ?? null,
        ip.get(DAY_MS)?.clients ?? null,
      ]);
      expect(seen.toSorted()).to.deep.equal([
        ['bob-1', null, null, null],
        ['bob-2', 2, null, 3],
        ['bob-3', null, null, null],
        ['cid-1', 2, 2, 2],
        ['dan-1', null, 3, 3],
        ['eve-1', null, null, null],
      ]);
    });
  }

  it('is counted once for rule sets that ask about the same windows, and anew for others', () =>
    withEvidence(all(sources.archive), async (evidence) => {
      await createInputView(evidence, [rules]);
      const { duck } = evidence;
      const questions = collectSharingQuestions([rules, rules]);
      await duck.run('DELETE FROM shared_devices');
      const rows = async () => (await duck.rows('SELECT * FROM shared_devices')).length;
      await createSharedDevicesTable(duck, questions);
      expect(await rows()).to.equal(0);
      await createSharedDevicesTable(duck, {
        ...questions,
        ip: { ...questions.ip, windowsMs: [5 * DAY_MS], marks: [] },
      });
      expect(await rows()).to.equal(4);
    }));
});
