import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import { toClientNumberText } from '#decision/payer/client-key.ts';
import { formatTime } from '#decision/payer/instant.ts';
import { runBacktest } from '#history/evidence/backtest/backtest.ts';
import type { BacktestReport } from '#history/evidence/backtest/backtest-report.ts';
import { createVariedRuleSets } from '#history/evidence/backtest/variations.ts';
import { measureDriftBetweenPeriods } from '#history/evidence/drift.ts';
import type { DriftReport } from '#history/evidence/drift-report.ts';
import { compareVersionsOnTrial } from '#history/evidence/experiment/experiment.ts';
import type { ExperimentReport } from '#history/evidence/experiment/experiment-report.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { presentWorthReport, type WorthReport } from '#history/evidence/report/worth-report.ts';
import { type EvidencePlace, withEvidence } from '#history/evidence/source/evidence.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import type { Store } from '#state/store.ts';
import { SeededRandom } from '../../../simulation/seeded-random.ts';
import { temporarySqlite } from '../../../stores/temporary-store.ts';
import { ArchivedStore } from '../../archive/archived-store.ts';
import { draftCandidates, History, JULY, PLATFORM, Workplace } from '../backtest/backtest-history.ts';
import { all, exportedJournal, recordedEvidence } from './recorded-evidence.ts';

const DAY = 86_400_000;
const CHAPTERS = 3;
const STEPS = 40;

describe('figures of the past', () => {
  const opened = temporarySqlite();
  const { store } = opened;
  const random = new SeededRandom(25);
  const place = new Workplace();
  const recorded: { readonly at: number; readonly figures: readonly Figures[] }[] = [];
  let replayed: readonly Figures[] = [];
  let archived: ArchivedStore;
  let history: History;

  before(async () => {
    draftCandidates(place);
    archived = await ArchivedStore.open(store);
    history = new History(store);
    for (let chapter = 0; chapter < CHAPTERS; chapter++) {
      await liveOn(history, random, chapter);
      await lookBack(chapter);
      history.now += DAY;
    }
  });
  after(async () => {
    await archived.release();
    place.end();
    return opened.remove();
  });

  /** The first time is before anything was shipped, the second after, and the last covers the rest. */
  async function lookBack(chapter: number): Promise<void> {
    if (chapter === CHAPTERS - 1) return;
    if (chapter === 1) await shipOn(JULY);
    const looked = chapter === 1 ? archiveOf(archived) : await exportedJournal(store);
    recorded.push({ at: history.now, figures: await figuresOf(place, looked, null) });
    if (chapter === 1) replayed = await replayedFiguresOf(place, looked, null);
  }

  const shipOn = (now: number) => archived.shipAll(archived.shipper({ clock: () => now }));
  const expectRecorded = async (looked: EvidencePlace, moments = recorded) => {
    for (const { at, figures } of moments)
      expect(withoutMoment(await figuresOf(place, looked, at)), new Date(at).toISOString()).to.deep.equal(
        withoutMoment(figures),
      );
  };

  it('change with time', () => {
    const told = recorded.map(({ figures }) => JSON.stringify(figures));
    expect(new Set(told).size).to.equal(CHAPTERS - 1);
  });

  it('are as they were printed then, from an export of everything since', async () => {
    await expectRecorded(await exportedJournal(store));
  });

  it('are as they were printed then from the archive, once all is shipped', async () => {
    await shipOn(JULY);
    await expectRecorded(archiveOf(archived), recorded.slice(0, 1));
  });

  it('are as they were printed then from the archive, once its days are merged', async () => {
    await shipOn(JULY);
    const before = archived.archive.read().segments.size;
    await shipOn(JULY + 90 * DAY);
    expect(archived.archive.read().segments.size).to.be.below(before);
    await expectRecorded(archiveOf(archived));
  });

  it('are as they were printed then in replays with other rules', async () => {
    const at = recorded[1]?.at ?? expect.fail('there is no second moment');
    const again = await replayedFiguresOf(place, await exportedJournal(store), at);
    expect(withoutMoment(again)).to.deep.equal(withoutMoment(replayed));
  });

  it('say how many payers were erased since, with how many rows', async () => {
    const first = recorded[0] ?? expect.fail('there is no first moment');
    const { hash } = store.clientKeys.of(PLATFORM, 'client-1');
    const rows = await withEvidence(all(archiveOf(archived)), async ({ duck }) => {
      const [row = {}] = await duck.rows(
        `SELECT (SELECT count(*) FROM decisions WHERE client_hash = ${toClientNumberText(hash)})
           + (SELECT count(*) FROM outcomes WHERE client_hash = ${toClientNumberText(hash)}) AS n`,
      );
      return Number(row['n']);
    });
    await history.erase('client-1');
    await shipOn(JULY + 90 * DAY);
    const [told] = await figuresOf(place, archiveOf(archived), first.at);
    if (told?.kind !== 'report') throw new Error('a report comes first');
    expect(told.asOf).to.deep.include({ at: first.at, erasedPayers: 1 });
    expect(told.asOf?.erasedRows).to.be.at.least(rows);
    expect(presentWorthReport(told).notes.slice(1, 3)).to.deep.equal([
      `As known at ${formatTime(first.at)}.`,
      `Payers erased since: 1, with ${told.asOf?.erasedRows} rows of all times. They were counted then, but are not counted here.`,
    ]);
  });
});

/** Some weeks of thirty payers; outcomes are often reported later, with earlier times. */
async function liveOn(history: History, random: SeededRandom, chapter: number): Promise<void> {
  const open: (readonly [client: string, order: string])[] = [];
  for (let step = 0; step < STEPS; step++) {
    history.now += random.whole(1, 6 * 3_600_000);
    const client = `client-${random.whole(0, 29)}`;
    const order = `order-${chapter}-${step}`;
    await history.score(client, random.chance(0.2) ? 'shared' : client);
    await history.verdict(client, order, `${random.whole(1, 90)}.50`);
    open.push([client, order]);
    const [payer, asked] = random.pick([open[0] ?? [client, order], ...open]);
    const occurredAt = history.now - random.whole(0, DAY);
    if (random.chance(0.7)) await history.outcome(payer, asked, 'PAID', null, occurredAt);
    if (random.chance(0.4))
      await history.outcome(payer, asked, 'UNPAID', random.chance(0.5) ? 'REVERSED' : 'DECLINED');
  }
}

function archiveOf({ archive: { folder } }: ArchivedStore): EvidencePlace {
  return { kind: 'archive', folder };
}

/** Without the words about the requested time. */
function withoutMoment(figures: readonly Figures[]): unknown {
  return JSON.parse(JSON.stringify(figures), (name, value) => (name === 'asOf' ? undefined : value));
}

const HOUR = 3_600_000;
const VISITS = 120;

interface Recorded {
  readonly archive: EvidencePlace;
  /** All decisions, with every fact. */
  readonly decisions: readonly Decision[];
  readonly reported: number;
}

/** A payer's own orders, and those of somebody who never pays. */
async function visit(history: History, random: SeededRandom, number: number): Promise<readonly string[]> {
  const payer = `payer-${random.whole(0, 19)}`;
  const client = random.chance(0.2) ? 'abuser' : payer;
  const asked: string[] = [];
  await history.score(client);
  for (let again = 0; again < random.whole(2, 4); again++) {
    const order = `order-${number}-${again}`;
    history.now += 5000;
    const verdict = await history.verdict(client, order);
    if (!verdict.startsWith('GET')) asked.push(JSON.stringify([client, order]));
    else {
      history.now += 60_000;
      if (client === 'abuser') await history.outcome(client, order, 'UNPAID', 'EXPIRED');
      else await history.outcome(client, order, 'PAID');
      if (random.chance(0.3)) await history.verdict(client, order);
    }
  }
  return asked;
}

/** The same weeks, in which the platform reports orders that were never granted as EXPIRED, or says nothing of them. */
async function live(isReported: boolean): Promise<Recorded> {
  const told = { decisions: [] as Decision[], reported: 0 };
  const { archive } = await recordedEvidence(async (store: Store) => {
    const random = new SeededRandom(25);
    const history = new History(store);
    for (let number = 0; number < VISITS; number++) {
      history.now = JULY + number * 7 * HOUR;
      const turnedAway = await visit(history, random, number);
      history.now = JULY + number * 7 * HOUR + 2 * HOUR;
      for (const one of isReported ? turnedAway : []) {
        const [client, order]: readonly [string, string] = JSON.parse(one);
        await history.outcome(client, order, 'UNPAID', 'EXPIRED');
        told.reported += 1;
      }
    }
    const { entries } = await store.readJournal(null, 100_000);
    told.decisions.push(...entries.flatMap((entry) => (entry.kind === 'verdict' ? entry.decision : [])));
  });
  return { archive, ...told };
}

describe('a report of an order that was turned away', () => {
  let place: Workplace;
  let silent: Recorded;
  let reported: Recorded;
  before(async () => {
    place = new Workplace();
    draftCandidates(place);
    [silent, reported] = [await live(false), await live(true)];
  });
  after(() => place.end());

  it('changes no later decision, and none of its facts', () => {
    expect(reported.reported).to.be.above(50);
    const verdicts = reported.decisions.map(({ verdict }) => verdict);
    expect(verdicts).to.include.members(['GET_NEW', 'WAIT', 'BLOCK']);
    expect(reported.decisions).to.deep.equal(silent.decisions);
  });

  for (const [what, work] of [
    ['reports, backtests, drift and experiments', figuresOf],
    ['variations', replayedFiguresOf],
  ] as const)
    it(`is in no figure of ${what}`, async () => {
      const before = await work(place, silent.archive, null);
      const after = await work(place, reported.archive, null);
      for (const [index, one] of after.entries()) expect(one, one.kind).to.deep.equal(before[index]);
    });
});

type Figures = WorthReport | BacktestReport | DriftReport | ExperimentReport;

/** The output of most commands; null: of all that is known. */
function figuresOf(
  place: Workplace,
  looked: EvidencePlace,
  asOf: number | null,
): Promise<readonly Figures[]> {
  const rules = place.rules('p2.v10');
  return withEvidence({ ...all(looked), asOf }, async (evidence) => [
    await reportRuleWorth(evidence, { rules, against: place.rules('p2.v13'), by: 'week' }),
    await runBacktest(evidence, {
      tried: [{ rules: place.rules('p2.v13'), values: {} }],
      against: rules,
      rulesOf: () => rules,
    }),
    await measureDriftBetweenPeriods(evidence, null),
    await compareVersionsOnTrial(evidence, []),
  ]);
}

/** The same of variations, which take longer. */
function replayedFiguresOf(
  place: Workplace,
  looked: EvidencePlace,
  asOf: number | null,
): Promise<readonly Figures[]> {
  const files = readRuleFiles(`${place.rulesDir}/p2.v10`, []) ?? new Map();
  const rules = place.rules('p2.v10');
  const tried = createVariedRuleSets(rules, files, ['groups.blocked-by-unpaid-chain.unpaidChain=2,3']);
  return withEvidence({ ...all(looked), asOf }, async (evidence) => [
    await runBacktest(evidence, { tried, against: null, rulesOf: () => rules }),
  ]);
}
