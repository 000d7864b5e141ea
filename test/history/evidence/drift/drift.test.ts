import { expect } from 'chai';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { formatTime } from '#decision/payer/instant.ts';
import { measureDriftBetweenPeriods } from '#history/evidence/drift.ts';
import { type DriftReport, presentDrift } from '#history/evidence/drift-report.ts';
import { type ClusterScoreCounts, computeScoreFigures } from '#history/evidence/score-figures.ts';
import { type EvidencePlace, withEvidence } from '#history/evidence/source/evidence.ts';
import { computeStabilityIndexWithChance } from '#history/statistics/distributions.ts';
import { estimateShareByCluster } from '#history/statistics/intervals.ts';
import type { Store } from '#state/store.ts';
import { History, JULY } from '../backtest/backtest-history.ts';
import { all, type RecordedEvidence, recordedEvidence } from '../source/recorded-evidence.ts';

const WEEK = 7 * 24 * 3_600_000;

/** What somebody asks for in a second of a week, and what is reported of it. */
type Asked = { readonly client: string; readonly order: string; readonly amount?: string } & {
  readonly outcome?: 'PAID' | 'UNPAID';
};

/** Two weeks, each of which begins with what is asked. */
const twoWeeks =
  (count: number, askedAt: (number: number, isLater: boolean) => Asked) =>
  async (store: Store): Promise<void> => {
    const history = new History(store);
    for (const isLater of [false, true]) {
      for (let number = 0; number < count; number++) {
        const { client, order, amount, outcome } = askedAt(number, isLater);
        history.now += 1000;
        await history.verdict(client, order, amount);
        if (outcome !== undefined) await history.outcome(client, order, outcome);
      }
      history.now += WEEK;
    }
  };

/** Forty payers who pay, and a week later forty who do not, and who ask for ten times as much. */
const live = twoWeeks(40, (number, isLater) => {
  const names = isLater ? 'late' : 'early';
  const told = isLater
    ? ({ amount: '100.00', outcome: 'UNPAID' } as const)
    : ({ amount: '10.00', outcome: 'PAID' } as const);
  return { client: `${names}-${number}`, order: `${names}-order-${number}`, ...told };
});

/** Three orders of which two are reported as paid, and a week later three that are still to be reported. */
const liveWithLateReports = twoWeeks(3, (number, isLater) => {
  const names = { client: `${isLater}-${number}`, order: `${isLater}-order-${number}` };
  return isLater || number === 2 ? names : { ...names, outcome: 'PAID' };
});

/** Ten payers with one order each, of whom one asks nine times more; a week later the same. */
const liveWithOneWhoAsksMost = twoWeeks(19, (number, isLater) => ({
  client: `${isLater}-${Math.min(number, 9)}`,
  order: `${isLater}-order-${number}`,
}));

describe('drift', () => {
  let sources: RecordedEvidence;
  let found: DriftReport;
  const driftOf = (where: EvidencePlace) =>
    withEvidence(all(where), (evidence) => measureDriftBetweenPeriods(evidence, null));
  before(async () => {
    sources = await recordedEvidence(live);
    found = await driftOf(sources.archive);
  });

  it('gives the same from the exported journal as from the archive', async () => {
    expect(await driftOf(sources.journal)).to.deep.equal(found);
  });

  it('compares the decisions of one version alone, without calling those of others a gap', async () => {
    const ask = (where: EvidencePlace, decidedBy: string) =>
      withEvidence({ ...all(where), decidedBy }, (evidence) => measureDriftBetweenPeriods(evidence, null));
    for (const place of [sources.archive, sources.journal]) {
      expect(await ask(place, 'p2.v10')).to.deep.equal({ ...found, version: 'p2.v10' });
      const { earlier, later, gaps } = await ask(place, 'p2.v9');
      expect([earlier.decisions, later.decisions, gaps]).to.deep.equal([0, 0, []]);
    }
  });

  it('finds the fact that moved and its new values, and attributes the others to chance', () => {
    const [first, ...others] = found.facts;
    const { intervals, ...moved } = first?.moved ?? expect.fail('no fact');
    expect([first?.fact, moved]).to.deep.equal(['amount', { values: 'up to 10', earlier: 1, later: 0 }]);
    // All of about forty clients, and none of them.
    expect(intervals.earlier?.low).to.be.within(0.9, 0.92);
    expect(intervals.later?.high).to.be.within(0.08, 0.1);
    expect(first?.index).to.be.above((first?.byChance ?? 0) * 10);
    expect(others.filter(({ index, byChance }) => index > byChance)).to.deep.equal([]);
  });

  it('shows a reader only what moved by more than chance explains', () => {
    const [first] = found.facts;
    if (first === undefined) expect.fail('no fact');
    const byChance = { ...first, fact: 'by chance', index: first.byChance };
    const { tables } = presentDrift({ ...found, facts: [byChance, first] });
    // A reader may sort them otherwise, so the title names no order.
    expect(tables.at(-1)?.title).to.equal('Facts that changed by more than chance explains');
    expect(tables.at(-1)?.rows.map(([fact]) => fact)).to.deep.equal(['amount']);
    const none = presentDrift({ ...found, facts: [byChance] });
    expect(none.notes.at(-1)).to.equal('No fact has changed by more than chance explains.');
    expect(none.tables.some(({ name }) => name === 'facts')).to.equal(false);
  });

  it('counts what is not known as a value', async () => {
    const { archive } = await recordedEvidence(
      twoWeeks(40, (number, isLater) => ({
        client: `payer-${number}`,
        order: `${isLater}-order-${number}`,
        outcome: 'PAID',
      })),
    );
    const { facts } = await driftOf(archive);
    const moved = (name: string) => {
      const { intervals: _, ...values } = facts.find(({ fact }) => fact === name)?.moved ?? expect.fail(name);
      return values;
    };
    expect(moved('secondsSinceLastPaid')).to.deep.equal({ values: 'not known', earlier: 1, later: 0 });
    expect(moved('jsOk')).to.deep.equal({ values: 'not known', earlier: 1, later: 1 });
  });

  it('lowers the effective number of clients for a client with most requests, where it says what chance explains', async () => {
    const uneven = await recordedEvidence(liveWithOneWhoAsksMost);
    const { facts, earlier } = await driftOf(uneven.archive);
    expect([earlier.clients, earlier.decisions]).to.deep.equal([10, 19]);
    // Nine with one decision and one with ten tell as much as 19² / 109 clients alike do.
    const size = 19 ** 2 / 109;
    const byChance = facts.find(({ fact }) => fact === 'verdicts(1h)')?.byChance ?? 0;
    const bins = [2, 3, 4, 5, 6, 7, 8, 9, 10].map((count) =>
      computeStabilityIndexWithChance(new Array(count).fill(1), new Array(count).fill(1), [size, size]),
    );
    expect(bins.some((one) => Math.abs(one.byChance - byChance) < 1e-9)).to.equal(true);
  });

  it('gives the sizes, verdicts, paid shares and calibration of both parts', () => {
    const { earlier, later, splitAt } = found;
    expect(splitAt).to.be.within(JULY + 60_000, JULY + WEEK);
    for (const { decisions, clients } of [earlier, later])
      expect([decisions, clients]).to.deep.equal([40, 40]);
    expect([earlier.verdicts.GET_NEW?.value, later.verdicts.BLOCK?.value]).to.deep.equal([1, 0]);
    expect([earlier.paidShare?.value, later.paidShare?.value]).to.deep.equal([1, 0]);
    const orders = { known: 40, unknown: 0, neverGranted: 0 };
    expect([earlier.orders, later.orders]).to.deep.equal([orders, orders]);
    expect([earlier.score.brier?.value, later.score.calibrationError?.value]).to.deep.equal([0.25, 0.5]);
  });

  it('counts for each part the orders without a report so far', async () => {
    const { archive } = await recordedEvidence(liveWithLateReports);
    const { earlier, later, unknown } = await driftOf(archive);
    expect([earlier.orders, later.orders, unknown]).to.deep.equal([
      { known: 2, unknown: 1, neverGranted: 0 },
      { known: 0, unknown: 3, neverGranted: 0 },
      4,
    ]);
    expect([earlier.paidShare?.value, later.paidShare]).to.deep.equal([1, null]);
  });

  it('says when it compares with a store that began empty, and not where the earlier part begins later', async () => {
    const ask = async (from: number | null, split: number | null) => {
      const later = await withEvidence({ ...all(sources.archive), from }, (evidence) =>
        measureDriftBetweenPeriods(evidence, split),
      );
      const notes = presentDrift(later).notes.filter((note) => note.includes('begins with an empty store'));
      return [later.beganAt, notes] as const;
    };
    const began = JULY + 1000;
    expect(await ask(null, null)).to.deep.equal([
      began,
      [
        `The earlier part begins with an empty store: the first recorded decision was made at ${formatTime(began)}, and every payer looked new then. Choose a later beginning (from).`,
      ],
    ]);
    expect(await ask(JULY + 20_000, null)).to.deep.equal([null, []]);
    expect(await ask(null, began)).to.deep.equal([null, []]);
  });

  it('is empty without decisions', async () => {
    const empty = await recordedEvidence(async () => {});
    const { earlier, facts } = await driftOf(empty.archive);
    expect([earlier.decisions, earlier.paidShare, earlier.verdicts.WAIT]).to.deep.equal([0, null, null]);
    expect(facts.every(({ index }) => index === 0)).to.equal(true);
  });
});

/** Numbers from 0 to 1 that a seed repeats. */
function seeded(seed: number): () => number {
  const chance = xoroshiro128plus(seed);
  return () => uniformInt(chance, 0, 999_999) / 1_000_000;
}

/** 150 clients with 3 orders each, whose scores all are too high by `error`. */
function worldOf(seed: number, error: number): readonly ClusterScoreCounts[] {
  const random = seeded(seed);
  return Array.from({ length: 150 }, (_, cluster) => {
    const score = 0.15 + 0.8 * random();
    const paid = [0, 0, 0].filter(() => random() < score - error).length;
    return { cluster, score, paid, unpaid: 3 - paid };
  });
}

describe('the figures of a score', () => {
  it('have an interval that contains the true calibration error, with right scores and too high ones', () => {
    for (const error of [0, 0.05, 0.12]) {
      const worlds = Array.from({ length: 25 }, (_, seed) => computeScoreFigures(worldOf(seed + 1, error)));
      const covered = worlds.filter(
        ({ calibrationError }) =>
          calibrationError !== null && calibrationError.low <= error && error <= calibrationError.high,
      );
      expect(covered.length / worlds.length, `too high by ${error}`).to.be.at.least(0.85);
      for (const { calibrationError } of worlds)
        expect(calibrationError?.value).to.be.within(calibrationError?.low ?? 1, calibrationError?.high ?? 0);
    }
  });

  it('have intervals by clients in the shares of the tenths, too', () => {
    const groups = Array.from({ length: 40 }, (_, cluster): ClusterScoreCounts => {
      const paid = cluster % 2 === 0 ? 4 : 0;
      return { cluster, score: cluster < 20 ? 0.3 : 0.9, paid, unpaid: 4 - paid };
    });
    const { reliability } = computeScoreFigures(groups);
    const counts = groups.map(({ paid }) => ({ part: paid, whole: 4 }));
    expect(reliability.map(({ from, paidShare }) => [from, paidShare])).to.deep.equal([
      [0.3, estimateShareByCluster(counts.slice(0, 20))],
      [0.9, estimateShareByCluster(counts.slice(20))],
    ]);
  });

  it('are unknown for one client, who cannot be resampled', () => {
    const one = [{ cluster: 7, score: 0.6, paid: 3, unpaid: 2 }];
    const { orders, brier, auc, calibrationError } = computeScoreFigures(one);
    expect([orders, brier, auc, calibrationError]).to.deep.equal([5, null, null, null]);
  });
});
