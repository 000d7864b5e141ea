import { DEFAULT_OBJECTIVE, type Objective } from '#decision/objective.ts';
import { compareVersionsOnTrial } from '#history/evidence/experiment/experiment.ts';
import {
  createExperimentPresentation,
  type ExperimentReport,
} from '#history/evidence/experiment/experiment-report.ts';
import { type EvidenceAsk, withEvidence } from '#history/evidence/source/evidence.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { T0 } from '../../../state/clients.ts';
import { ArchivedStore } from '../../archive/archived-store.ts';
import { all } from '../source/recorded-evidence.ts';
import { type SimulatedClient, TrialWorld } from './trial-world.ts';

type AskedAfter = Partial<EvidenceAsk> & { readonly otherwise?: Objective | null };

/** What the archive of a store tells of its newest trial, by all that is known, and as it is asked after that. */
export async function experimentsOn(
  store: Store,
  asksAfter: (found: ExperimentReport) => readonly AskedAfter[] = () => [],
): Promise<readonly ExperimentReport[]> {
  const archived = await ArchivedStore.open(store);
  try {
    await archived.shipAll();
    const place = { kind: 'archive', folder: archived.archive.folder } as const;
    const ask = ({ otherwise = null, ...more }: AskedAfter) =>
      withEvidence({ ...all(place), ...more }, (evidence) =>
        compareVersionsOnTrial(evidence, [], () => {}, otherwise),
      );
    const told = [await ask({})];
    for (const more of told.flatMap(asksAfter)) told.push(await ask(more));
    return told;
  } finally {
    await archived.release();
  }
}

/** How two ladders truly differ in one metric, and what the experiment told of it; NaN where it told nothing. */
export interface TrueDifference {
  readonly metric: string;
  readonly truth: number;
  readonly low: number;
  readonly high: number;
}

const CLIENTS = 500;

const METRICS = [
  ['paid', ({ paid }: SimulatedClient) => paid],
  ['requisites', ({ requisites }: SimulatedClient) => requisites],
  ['money.EUR.paid', ({ amount }: SimulatedClient) => amount / 100],
] as const;

/** A trial of two ladders through service, store and archive: by all that is known, and as of a moment within its trend. */
export function simulatedTrial(seed: number, clients = CLIENTS): Promise<readonly ExperimentReport[]> {
  return inAWorld(async (world, store) => {
    await world.begin(50);
    await world.live(seed, 0, clients);
    // Two days later all of them count.
    await world.live(seed, clients + 49 * 60, 1);
    return experimentsOn(store, ({ trend }) => [{ asOf: trend[Math.floor(trend.length / 2)]?.at ?? 0 }]);
  });
}

/** Of the trial's world, in which one comes every minute. */
export const CLIENTS_A_DAY = 24 * 60;

/** One trial, asked about whole, from within, and in a currency that nobody paid in; with what its reader is told. */
export function askedTrial(seed: number, clients = CLIENTS) {
  return inAWorld(async (world, store) => {
    await world.begin(50);
    await world.live(seed, 0, clients);
    await world.live(seed, clients + 49 * 60, 1);
    const [whole, within, elsewhere] = await experimentsOn(store, () => [
      { from: T0 + (clients / 2) * 60_000 },
      { otherwise: { ...DEFAULT_OBJECTIVE, currency: 'USD', windowDays: 1, reversalDays: 1 } },
    ]);
    if (whole === undefined || within === undefined || elsewhere === undefined)
      throw new Error('a question has no answer');
    return { whole, within, elsewhere, notes: createExperimentPresentation(whole).notes };
  });
}

/** The same payers under one ladder, and under another: the truth beside what a trial of both told. */
export async function trueDifferences(
  seed: number,
  found: ExperimentReport | undefined,
  clients = CLIENTS,
): Promise<readonly TrueDifference[]> {
  const under = (name: string) => inAWorld((world) => world.liveUnder(name, seed, clients));
  const [fast, slow] = [await under('p2.v10'), await under('p2.v11')];
  return METRICS.map(([metric, of]) => {
    const told = found?.differences.find((one) => one.version === 'p2.v11' && one.metric === metric);
    const { low = Number.NaN, high = Number.NaN } = told ?? {};
    return { metric, truth: mean(slow, of) - mean(fast, of), low, high };
  });
}

const mean = (simulated: readonly SimulatedClient[], of: (one: SimulatedClient) => number) =>
  simulated.reduce((total, one) => total + of(one), 0) / simulated.length;

/** On a store of its own. */
async function inAWorld<T>(work: (world: TrialWorld, store: Store) => Promise<T>): Promise<T> {
  // With one salt, clients are drawn alike in every run.
  const store = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
  const world = new TrialWorld(store);
  await world.start();
  try {
    return await work(world, store);
  } finally {
    await world.stop();
    await store.close();
  }
}
