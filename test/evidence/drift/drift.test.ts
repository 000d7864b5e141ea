import { expect } from 'chai';
import { timeText } from '../../../src/client/instant.ts';
import { drift } from '../../../src/evidence/drift.ts';
import { type Drift, presentDrift } from '../../../src/evidence/drift-report.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import type { Store } from '../../../src/state/store.ts';
import { populationStability } from '../../../src/statistics/distributions.ts';
import { History, JULY, Workplace } from '../backtest/backtest-history.ts';
import { all, type LivedEvidence, livedEvidence } from '../source/lived-evidence.ts';

const WEEK = 7 * 24 * 3_600_000;

/** Two weeks, each of which begins as `liveWeek` has it. */
async function liveTwoWeeks(
  store: Store,
  liveWeek: (history: History, isLater: boolean) => Promise<void>,
): Promise<void> {
  const place = new Workplace();
  const history = new History(store, place.rules('p2.v10'));
  place.end();
  for (const isLater of [false, true]) {
    await liveWeek(history, isLater);
    history.now += WEEK;
  }
}

/** Forty payers who pay, and a week later forty who do not, and who ask for ten times as much. */
function live(store: Store): Promise<void> {
  return liveTwoWeeks(store, async (history, isLater) => {
    const [client, amount, outcome] = isLater
      ? (['late', '100.00', 'UNPAID'] as const)
      : (['early', '10.00', 'PAID'] as const);
    for (let number = 0; number < 40; number++) {
      history.now += 1000;
      await history.verdict(`${client}-${number}`, `${client}-order-${number}`, amount);
      await history.outcome(`${client}-${number}`, `${client}-order-${number}`, outcome);
    }
  });
}

/** Three orders of which two are reported as paid, and a week later three that are still to be reported. */
function liveWithLateReports(store: Store): Promise<void> {
  return liveTwoWeeks(store, async (history, isLater) => {
    const week = isLater ? 'second' : 'first';
    for (let number = 0; number < 3; number++) {
      history.now += 1000;
      await history.verdict(`${week}-${number}`, `${week}-order-${number}`);
    }
    if (isLater) return;
    for (const number of [0, 1]) await history.outcome(`first-${number}`, `first-order-${number}`, 'PAID');
  });
}

/** Ten payers with one order each, of whom one asks nine times more; a week later the same. */
function liveWithOneWhoAsksMost(store: Store): Promise<void> {
  return liveTwoWeeks(store, async (history, isLater) => {
    const week = isLater ? 'second' : 'first';
    for (let number = 0; number < 19; number++) {
      history.now += 1000;
      await history.verdict(`${week}-${Math.min(number, 9)}`, `${week}-order-${number}`);
    }
  });
}

describe('drift', () => {
  let lived: LivedEvidence;
  let found: Drift;
  const driftOf = (where: EvidencePlace) => withEvidence(all(where), (evidence) => drift(evidence, null));
  before(async () => {
    lived = await livedEvidence(live);
    found = await driftOf(lived.archive);
  });

  it('gives the same from the exported journal as from the archive', async () => {
    expect(await driftOf(lived.journal)).to.deep.equal(found);
  });

  it('compares the decisions of one version alone, without calling those of others a gap', async () => {
    const ask = (where: EvidencePlace, decidedBy: string) =>
      withEvidence({ ...all(where), decidedBy }, (evidence) => drift(evidence, null));
    for (const place of [lived.archive, lived.journal]) {
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
    // A reader may sort them otherwise, so it names no order.
    expect(presentDrift(found).tables.at(-1)?.title).to.equal(
      'Facts that moved by more than chance explains',
    );
  });

  it('lowers the effective number of clients for a client with most requests, where it says what chance explains', async () => {
    const uneven = await livedEvidence(liveWithOneWhoAsksMost);
    const { facts, earlier } = await driftOf(uneven.archive);
    expect([earlier.clients, earlier.decisions]).to.deep.equal([10, 19]);
    // Nine with one decision and one with ten tell as much as 19² / 109 clients alike do.
    const size = 19 ** 2 / 109;
    const byChance = facts.find(({ fact }) => fact === 'verdicts(1h)')?.byChance ?? 0;
    const bins = [2, 3, 4, 5, 6, 7, 8, 9, 10].map((count) =>
      populationStability(new Array(count).fill(1), new Array(count).fill(1), [size, size]),
    );
    expect(bins.some((one) => Math.abs(one.byChance - byChance) < 1e-9)).to.equal(true);
  });

  it('gives the sizes, verdicts, paid shares and calibration of both parts', () => {
    const { earlier, later, splitAt } = found;
    expect(splitAt).to.be.within(JULY + 60_000, JULY + WEEK);
    expect([earlier.decisions, earlier.clients, later.decisions, later.clients]).to.deep.equal([
      40, 40, 40, 40,
    ]);
    expect([earlier.verdicts.GET_NEW?.value, later.verdicts.BLOCK?.value]).to.deep.equal([1, 0]);
    expect([earlier.paidShare?.value, later.paidShare?.value]).to.deep.equal([1, 0]);
    expect([earlier.orders, later.orders]).to.deep.equal([
      { known: 40, unknown: 0, neverGranted: 0 },
      { known: 40, unknown: 0, neverGranted: 0 },
    ]);
    expect([earlier.score.brier?.value, later.score.calibrationError?.value]).to.deep.equal([0.25, 0.5]);
  });

  it('counts for each part the orders without a report so far', async () => {
    const { archive } = await livedEvidence(liveWithLateReports);
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
      const later = await withEvidence({ ...all(lived.archive), from }, (evidence) => drift(evidence, split));
      const notes = presentDrift(later).notes.filter((note) => note.includes('began empty'));
      return [later.beganAt, notes] as const;
    };
    const began = JULY + 1000;
    expect(await ask(null, null)).to.deep.equal([
      began,
      [
        `The earlier part compares with a store that began empty: the first decision that is kept was made at ${timeText(began)}, and whoever asked then looked new because nobody was known. Let it begin later (from).`,
      ],
    ]);
    expect(await ask(JULY + 20_000, null)).to.deep.equal([null, []]);
    expect(await ask(null, began)).to.deep.equal([null, []]);
  });

  it('is empty without decisions', async () => {
    const empty = await livedEvidence(async () => {});
    const { earlier, facts } = await driftOf(empty.archive);
    expect([earlier.decisions, earlier.paidShare, earlier.verdicts.WAIT]).to.deep.equal([0, null, null]);
    expect(facts.every(({ index }) => index === 0)).to.equal(true);
  });
});
