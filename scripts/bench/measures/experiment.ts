import {
  type ArmTotals,
  differencesOf,
  type Metric,
  momentsOf,
  recommendationOf,
} from '../../../src/evidence/experiment/recommendation.ts';
import { meanOf } from '../../../src/statistics/confidence-sequence.ts';
import { differencesLived, trialLived } from '../../../test/evidence/experiment/two-ladders.ts';
import { seeded } from '../../../test/simulation/seeded-random.ts';
import { type Figure, figuresOf } from '../figure.ts';
import { looksAt, type Waits, type WorldArm } from '../payer-world.ts';

const figure = figuresOf('experiment');

export interface ExperimentPlan {
  /** Experiments on equal versions. */
  readonly draws: number;
  /** Experiments on two ladders. */
  readonly seeds: number;
  /** Experiments through the whole service. */
  readonly livedSeeds: number;
}

/** The size of the world from which the true differences are taken. */
const POPULATION = 200_000;

const SHORT: Waits = [30, 300, 1800];
const LONG: Waits = [180, 1800, 7200];

const SAME_CLIENTS = 6000;
const CLIENTS = 20_000;
const LOOKS = 40;

/** The metrics whose true differences the experiment must find. */
const FOUND: readonly Metric[] = ['paid', 'requisites', 'money.EUR.paid'];

function arms(waits: Waits, share = 0.5): readonly WorldArm[] {
  return [
    { version: 'active', share: 1 - share, waits: SHORT },
    { version: 'candidate', share, waits },
  ];
}

/** How often the experiment is right in a known world. */
export async function* measureExperiment({
  draws,
  seeds,
  livedSeeds,
}: ExperimentPlan): AsyncGenerator<Figure> {
  for (const percent of [10, 50]) {
    const alarms = recommendedShare(draws, arms(SHORT, percent / 100));
    yield figure(`A/A at ${percent} %: recommends, of ${draws} draws`, 100 * alarms, '%', { atMost: 1 });
  }
  const { covered, decided, shown } = twoLadders(seeds, POPULATION);
  const target = { atLeast: 0.95 * seeds };
  const atTheEnd = `seeds with the true differences of ${FOUND.join(', ')} within their intervals at the end, of ${seeds}`;
  yield figure(atTheEnd, covered.atTheEnd, '', target);
  for (const [metric, value] of covered.always)
    yield figure(
      `seeds with that of ${metric} within its interval at all of ${LOOKS} looks`,
      value,
      '',
      target,
    );
  yield figure(
    `power: seeds in which a ladder that loses 5 % of paid orders is to be taken back, within ${CLIENTS} clients`,
    decided,
    '',
  );
  yield figure('power: clients until then, median', shown, 'clients');
  let found = 0;
  for (let seed = 1; seed <= livedSeeds; seed++) {
    const [told] = await trialLived(seed);
    for (const { truth, low, high } of await differencesLived(seed, told))
      if (low <= truth && truth <= high) found += 1;
  }
  yield figure(
    `true differences found through service and archive, of ${FOUND.length} in ${livedSeeds} seeds of 500 clients`,
    found,
    '',
    { atLeast: livedSeeds * FOUND.length },
  );
}

/** The share of experiments with a recommendation at any of many looks. */
export function recommendedShare(draws: number, of: readonly WorldArm[], clients = SAME_CLIENTS): number {
  let recommended = 0;
  for (let seed = 0; seed < draws; seed++)
    for (const seen of looksAt(of, { clients, looks: LOOKS, draw: seeded(seed) }))
      if (isRecommended(seen)) {
        recommended += 1;
        break;
      }
  return recommended / draws;
}

function isRecommended([active, ...candidates]: readonly ArmTotals[]): boolean {
  const { version, takeBack } = recommendationOf(active ?? null, candidates);
  return version !== null || takeBack.length > 0;
}

/**
 * Two ladders, one of which loses payers: in how many seeds the intervals contain the true differences (of all
 * metrics at the end, and of each metric at every look), and when the recommendation comes.
 */
export function twoLadders(seeds: number, population: number, clients = CLIENTS) {
  const [fast, slow] = [everybody(SHORT, population), everybody(LONG, population)];
  const truths = fast.map((active, look) => trueDifferences([active, slow[look] ?? active]));
  const covered = { atTheEnd: 0, always: new Map(FOUND.map((metric) => [metric, 0])) };
  const needed: number[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const looks = [...looksAt(arms(LONG), { clients, looks: LOOKS, draw: seeded(seed) })];
    const missed = looks.map((seen, look) => missedOf(seen, truths[look] ?? new Map()));
    if (missed.at(-1)?.length === 0) covered.atTheEnd += 1;
    for (const metric of FOUND)
      if (!missed.flat().includes(metric)) covered.always.set(metric, (covered.always.get(metric) ?? 0) + 1);
    const found = looks.find(isRecommended);
    if (found !== undefined) needed.push(found.reduce((sum, arm) => sum + arm.clients, 0));
  }
  const shown = needed.toSorted((a, b) => a - b)[Math.floor(needed.length / 2)] ?? Number.NaN;
  return { covered, decided: needed.length, shown };
}

/** All payers under one ladder; the same seed makes the same payers. */
function everybody(waits: Waits, clients: number): readonly ArmTotals[] {
  const alone = [{ version: 'alone', share: 1, waits }];
  return [...looksAt(alone, { clients, looks: LOOKS, draw: seeded(1_000_000) })].flat();
}

function trueDifferences([active, candidate]: readonly ArmTotals[]): ReadonlyMap<Metric, number> {
  if (active === undefined || candidate === undefined) return new Map();
  return new Map(
    FOUND.map((metric) => [metric, meanOf(momentsOf(candidate, metric)) - meanOf(momentsOf(active, metric))]),
  );
}

/** The metrics whose true difference is outside the interval. */
function missedOf(
  [active, ...candidates]: readonly ArmTotals[],
  truth: ReadonlyMap<Metric, number>,
): readonly Metric[] {
  if (active === undefined) return FOUND;
  return differencesOf(active, candidates)
    .filter(({ metric, low, high }) => {
      const wanted = truth.get(metric);
      return wanted !== undefined && (wanted < low || high < wanted);
    })
    .map(({ metric }) => metric);
}
