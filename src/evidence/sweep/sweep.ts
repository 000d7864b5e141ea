import { atOnce } from '../../work/turns.ts';
import { WorkElsewhere } from '../../work/work-elsewhere.ts';
import type { OnProgress } from '../backtest/backtest.ts';
import type { OutcomeAssumption } from '../backtest/lives.ts';
import type { Evidence } from '../source/evidence.ts';
import { reversalsOf } from '../source/reversals.ts';
import type { SweepReport } from './sweep-report.ts';
import type { SweepWorks } from './sweep-thread.ts';
import { paretoFront } from './trade-off.ts';
import { halfOfOrders, type TrialResult } from './trial.ts';
import type { Combination } from './vary.ts';

export interface Sweep {
  readonly version: string;
  /** Of `combinationsOf`. */
  readonly combinations: readonly Combination[];
  readonly outcomes: OutcomeAssumption;
  /** How many work at once. */
  readonly threads: number;
  readonly onProgress?: OnProgress;
  /** Ends the work early, with the signal's reason thrown. */
  readonly signal?: AbortSignal;
}

const THREAD = new URL('./sweep-thread.ts', import.meta.url);

/** What one thread may keep, besides its engine. */
const THREAD_MIB_MAX = 2048;

/** Replays history once for each combination, several at once, and compares what they do to the orders. */
export async function sweep(evidence: Evidence, ask: Sweep): Promise<SweepReport> {
  const { version, combinations, outcomes } = ask;
  const splitAt = await halfOfOrders(evidence);
  const results = await runThreads(evidence, ask, splitAt);
  const [first] = results;
  if (first === undefined) throw new Error('a sweep needs at least one combination');
  const tried = results.flatMap(({ tradeOffs }) => tradeOffs);
  const heldOut = results.flatMap((result) => result.heldOut);
  const stopped = results.flatMap((result) => result.stopped);
  const [earlier, later] = [
    paretoFront(tried.map((one) => one.earlier)),
    paretoFront(tried.map((one) => one.later)),
  ];
  return {
    kind: 'sweep',
    version,
    outcomes,
    span: evidence.span,
    splitAt,
    parts: first.parts,
    reversals: await reversalsOf(evidence),
    emptyLists: first.emptyLists,
    combinations: tried.flatMap((tradeOff, place) => {
      const combination = combinations[place];
      if (combination === undefined) return [];
      const { values, present } = combination;
      const onFront = { earlier: earlier[place] === true, later: later[place] === true };
      return [
        {
          values,
          present,
          ...tradeOff,
          onFront,
          heldOut: heldOut[place] ?? [],
          stopped: stopped[place] ?? null,
        },
      ];
    }),
  };
}

/** The results of all threads in the order of the combinations. */
async function runThreads(evidence: Evidence, ask: Sweep, splitAt: number): Promise<readonly TrialResult[]> {
  const { combinations, version, outcomes, signal } = ask;
  signal?.throwIfAborted();
  const threads = Math.max(1, Math.min(ask.threads, combinations.length));
  const shares = sharesOf(combinations, threads);
  const present = combinations.find((combination) => combination.present)?.files ?? new Map();
  const done = shares.map(() => 0);
  const all = evidence.span.decisions * shares.length;
  const turns = atOnce(shares.length);
  const elsewhere = new WorkElsewhere<SweepWorks>(THREAD, {
    where: 'thread',
    memoryMiB: THREAD_MIB_MAX,
    turns,
  });
  try {
    return await Promise.all(
      shares.map((share, place) => {
        const tried = share.map(({ files }) => files);
        const where = { ...evidence.ask, threads: 1 };
        const onProgress = (some: number) => {
          done[place] = some;
          ask.onProgress?.(
            done.reduce((sum, one) => sum + one, 0),
            all,
          );
        };
        const task = { ask: where, version, present, tried, outcomes, splitAt };
        return elsewhere.run('try', task, { ...(signal === undefined ? {} : { signal }), onProgress });
      }),
    );
  } finally {
    // One that failed takes the others with it.
    await elsewhere.close();
  }
}

function sharesOf(
  combinations: readonly Combination[],
  threads: number,
): readonly (readonly Combination[])[] {
  const size = Math.ceil(combinations.length / threads);
  return Array.from({ length: Math.ceil(combinations.length / size) }, (_, share) =>
    combinations.slice(share * size, (share + 1) * size),
  );
}
