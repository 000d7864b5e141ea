import { backtest } from '../../../../src/evidence/backtest/backtest.ts';
import { BACKTEST_MODES, type BacktestMode } from '../../../../src/evidence/backtest/backtest-report.ts';
import { withEvidence } from '../../../../src/evidence/source/evidence.ts';
import { currentRules } from '../../../../test/service/current-rules.ts';
import { type Figure, figuresOf } from '../../figure.ts';
import { PLATFORM } from '../../sample.ts';
import { type ArchivePlan, madeUpDay } from './made-up-archive.ts';

const figure = figuresOf('backtest');

const TARGETS = {
  recorded: { of: 'decisions', atLeast: 150_000 },
  'closed-loop': { of: 'events', atLeast: 40_000 },
} as const satisfies Record<BacktestMode, unknown>;

/** The speed of a backtest on the made-up day per CPU second, and its memory. */
export async function* measureBacktest(plan: ArchivePlan): AsyncGenerator<Figure> {
  const day = await madeUpDay(plan);
  for (const mode of BACKTEST_MODES) {
    plan.onProgress(`backtest: ${mode}`);
    const candidate = currentRules();
    const place = { kind: 'archive', folder: day.folder } as const;
    const ask = { place, from: null, to: null, platform: PLATFORM, threads: 1 };
    const how = { candidate, against: null, rulesOf: () => candidate, mode, outcomes: 'granted' } as const;
    const { cpuSeconds, memoryMib } = await used(() =>
      withEvidence(ask, (evidence) => backtest(evidence, how)),
    );
    const events = [...day.read().segments.values()]
      .filter(({ table }) => mode === 'closed-loop' || table === 'decisions')
      .reduce((sum, { rows }) => sum + rows, 0);
    const { of, atLeast } = TARGETS[mode];
    yield figure(`${mode}: ${of} a CPU second`, events / cpuSeconds, '/s', { atLeast });
    yield figure(`${mode}: memory of the process`, memoryMib, 'MiB');
  }
}

const MEMORY_EVERY_MS = 100;

/** The result, with the CPU time of all threads and the peak memory of the process. */
export async function used<T>(work: () => Promise<T>): Promise<{
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
