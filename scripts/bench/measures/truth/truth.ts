import { formatCount } from '#base/count-text.ts';
import { createFigureMaker, type Figure } from '../../figure.ts';
import type { BenchPlan } from '../../plan.ts';
import { DrawnExperiments, type DrawnResult, SIMILAR_PAYERS, UNEQUAL_PAYERS } from './drawn-experiments.ts';
import {
  checkExactFigures,
  checkOutcomeHistories,
  checkPredictedReversals,
  type FigureCheck,
  type ReversalsCheck,
} from './exact-figures.ts';
import { checkEstimatesByReruns, type EstimateCheck } from './reruns.ts';

const figure = createFigureMaker('truth');

const SPLITS = [0.5, 0.2, 0.1, 0.05, 0.02] as const;
const CLIENTS = 20_000;
const LOOKS = 40;

/**
 * Of 700 experiments with one split of the clients, 14 may recommend one of two equal versions. Of all experiments,
 * 1.4 % may.
 */
const ERRORS_MAX = { split: 0.02, all: 0.014 };
const COVERED_MIN = 0.93;
const POWER_MIN = 0.8;

/** Measures how often the estimates are right where the truth is known. */
export async function* measureTruth(plan: BenchPlan): AsyncGenerator<Figure> {
  yield* secondWorld(plan);
  yield* drawn(plan);
  yield* rerun(plan);
}

/** Counts how often the figures that were once wrong without a sign are wrong now. */
async function* secondWorld({ seeds }: BenchPlan): AsyncGenerator<Figure> {
  const checked: FigureCheck[] = [...(await checkOutcomeHistories())];
  // The figures are exact, so few worlds are enough.
  for (let seed = 1; seed <= Math.ceil(seeds / 7); seed++) checked.push(...(await checkExactFigures(seed)));
  for (const [name, some] of Map.groupBy(checked, (one) => one.name)) {
    const wrong = some.filter((one) => !isTrue(one)).length;
    yield figure(`${name}: wrong figures in ${formatCount(some.length, 'world')}`, wrong, '', { atMost: 0 });
  }
  yield* predicted(seeds);
}

/** Tells whether the printed figure and the truth are equal except for rounding. */
function isTrue({ printed, truth }: FigureCheck): boolean {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, part) => (typeof part === 'number' ? Number(part.toPrecision(9)) : part));
  return text(printed) === text(truth);
}

const PREDICTED_MIN = 17 / 20;

async function* predicted(seeds: number): AsyncGenerator<Figure> {
  const told: ReversalsCheck[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const one = await checkPredictedReversals(seed);
    if (one !== null) told.push(one);
  }
  const held = told.filter(({ low, high, came }) => low <= came && came <= high).length;
  yield figure(
    `reversals to come: predictions that held, in ${formatCount(told.length, 'world')}`,
    held,
    '',
    {
      atLeast: Math.max(1, Math.floor(PREDICTED_MIN * told.length)),
    },
  );
}

function* drawn({ draws }: BenchPlan): Generator<Figure> {
  const heavy = new DrawnExperiments(UNEQUAL_PAYERS);
  let all = 0;
  for (const share of SPLITS) {
    const split = `${Math.round(100 * (1 - share))}/${Math.round(100 * share)}`;
    const same = heavy.run({ draws, clients: CLIENTS, looks: LOOKS, share, effect: 1 });
    all += recommended(same);
    const often = `of ${draws} draws looked at ${LOOKS} times`;
    const wrongMax = { atMost: Math.floor(ERRORS_MAX.split * draws) };
    yield figure(`equal versions at ${split}: one is recommended, ${often}`, recommended(same), '', wrongMax);
    const better = heavy.run({
      draws: Math.ceil(draws / 2),
      clients: CLIENTS,
      looks: LOOKS,
      share,
      effect: 1.2,
    });
    yield* covered(`no difference at ${split}`, same);
    yield* covered(`a fifth more at ${split}`, better);
  }
  yield figure(
    `equal versions at all splits: one is recommended, of ${SPLITS.length * draws} draws`,
    all,
    '',
    {
      atMost: Math.floor(ERRORS_MAX.all * SPLITS.length * draws),
    },
  );
  const runs = Math.ceil(draws / 7);
  const power = new DrawnExperiments(SIMILAR_PAYERS).run({
    draws: runs,
    clients: 10 * CLIENTS,
    looks: 20 * LOOKS,
    share: 0.5,
    effect: 1.05,
    untilPrinted: true,
  });
  const found = power.filter((one) => one.recommended === 'candidate').length;
  const name = `a true difference of 5 % is recommended within the clients that are named, of ${runs} draws`;
  yield figure(name, found, '', { atLeast: POWER_MIN * runs });
}

function recommended(experiments: readonly DrawnResult[]): number {
  return experiments.filter((one) => one.recommended !== null).length;
}

function* covered(name: string, experiments: readonly DrawnResult[]): Generator<Figure> {
  const spoke = experiments.filter((one) => one.hasInterval);
  if (spoke.length === 0) return;
  const right = spoke.filter(({ missedTruth }) => !missedTruth).length / spoke.length;
  const what = `${name}: intervals of the value that have the truth at all looks, of ${spoke.length}`;
  yield figure(what, right, '', { atLeast: COVERED_MIN });
}

/**
 * In 17 of 20 simulations the interval must contain the mean of the reruns. In at most 1 of 20 the interval may lie
 * on the wrong side of 0.
 */
const HELD_MIN = 17 / 20;
const WRONG_MAX = 1 / 20;

/**
 * Compares the estimates for simulated payers, who react to answers, with what the same payers do under each version
 * alone.
 */
async function* rerun({ seeds, payers }: BenchPlan): AsyncGenerator<Figure> {
  const reruns: EstimateCheck[] = [];
  for (let seed = 1; seed <= seeds; seed++) reruns.push(...(await checkEstimatesByReruns(seed, payers)));
  for (const [name, told] of Map.groupBy(reruns, (one) => one.name)) yield* heldBy(name, told);
}

function* heldBy(name: string, told: readonly EstimateCheck[]): Generator<Figure> {
  const truth = told.reduce((sum, one) => sum + one.truth, 0) / told.length;
  const held = told.filter(({ low, high }) => low <= truth && truth <= high).length;
  const wrong = told.filter(({ low, high }) => (low > 0 && truth < 0) || (high < 0 && truth > 0)).length;
  yield figure(`${name}: intervals that hold the mean of the reruns, of ${told.length}`, held, '', {
    atLeast: Math.floor(HELD_MIN * told.length),
  });
  yield figure(`${name}: intervals wholly on the wrong side of 0`, wrong, '', {
    atMost: Math.ceil(WRONG_MAX * told.length),
  });
}
