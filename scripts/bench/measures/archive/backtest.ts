import { runBacktest } from '#history/evidence/backtest/backtest.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { currentRules } from '../../../../test/service/current-rules.ts';
import { createFigureMaker, type Figure } from '../../figure.ts';
import type { BenchPlan } from '../../plan.ts';
import { BENCH_PLATFORM } from '../../sample.ts';
import { buildDayArchive } from './made-up-archive.ts';

const figure = createFigureMaker('backtest');

const EVENTS_PER_CPU_SECOND_MIN = 40_000;

/** Measures the speed of a backtest on the made-up day per CPU second, and its memory. */
export async function* measureBacktest(plan: BenchPlan): AsyncGenerator<Figure> {
  const day = await buildDayArchive(plan);
  plan.onProgress('backtest: asking the version that decided');
  const rules = currentRules();
  const place = { kind: 'archive', folder: day.folder } as const;
  const ask = { place, from: null, to: null, platform: BENCH_PLATFORM, threads: 1 };
  const { cpuSeconds, memoryMib } = await measureUsage(() =>
    withEvidence(ask, (evidence) =>
      runBacktest(evidence, { tried: [{ rules, values: {} }], against: null, rulesOf: () => rules }),
    ),
  );
  const events = [...day.read().segments.values()].reduce((sum, { rows }) => sum + rows, 0);
  yield figure('events a CPU second', events / cpuSeconds, '/s', { atLeast: EVENTS_PER_CPU_SECOND_MIN });
  yield figure('memory of the process', memoryMib, 'MiB');
}

const MEMORY_EVERY_MS = 100;

/** Returns the result of `work` with the CPU time of all threads and the peak memory of the process. */
export async function measureUsage<T>(work: () => Promise<T>): Promise<{
  readonly result: T;
  readonly cpuSeconds: number;
  readonly memoryMib: number;
}> {
  let bytes = 0;
  const look = setInterval(() => {
    bytes = Math.max(bytes, process.memoryUsage.rss());
  }, MEMORY_EVERY_MS);
  const before = process.cpuUsage();
  try {
    const result = await work();
    const { user, system } = process.cpuUsage(before);
    return { result, cpuSeconds: (user + system) / 1e6, memoryMib: bytes / (1 << 20) };
  } finally {
    clearInterval(look);
  }
}
