import { dirname } from 'node:path';
import type { Archive } from '#history/archive/archive.ts';
import { verifyArchivedDecisions } from '#workbench/verify/verify-archive.ts';
import { RULES_FOLDER } from '../../../../test/service/current-rules.ts';
import { createFigureMaker, type Figure } from '../../figure.ts';
import type { BenchPlan } from '../../plan.ts';
import { measureUsage } from './backtest.ts';
import { buildDayArchive } from './made-up-archive.ts';

const figure = createFigureMaker('archive');

/** Measures the size on disk of a made-up day of payments with random ids, and whether all of it is verified. */
export async function* measureArchiveSize(plan: BenchPlan): AsyncGenerator<Figure> {
  const day = await buildDayArchive(plan);
  yield* sizes(day);
  yield* verifying(plan, day.folder);
}

function* sizes(archive: Archive): Generator<Figure> {
  const state = archive.read();
  for (const table of ['decisions', 'outcomes', 'scores'] as const) {
    const segments = archive.listSegments(state, { table });
    const sum = (of: 'bytes' | 'rows') => segments.reduce((total, segment) => total + segment[of], 0);
    const target = table === 'decisions' ? { atMost: 110 } : null;
    const name = `bytes a row of ${table}, random UUIDs`;
    yield figure(name, sum('bytes') / sum('rows'), 'B', target);
  }
}

async function* verifying({ onProgress }: BenchPlan, archiveDir: string): AsyncGenerator<Figure> {
  onProgress('archive: verifying its decisions');
  const ask = { archiveDir, rulesDir: dirname(RULES_FOLDER), onProgress: () => {} };
  const { result, cpuSeconds } = await measureUsage(() =>
    verifyArchivedDecisions({ ...ask, signalSecrets: [], from: null, to: null, threads: 1 }),
  );
  const { checked, reproduced } = result;
  yield figure('decisions verified', checked, '');
  yield figure('verified decisions that were not reproduced', checked - reproduced, '', { atMost: 0 });
  const speed = checked / cpuSeconds;
  yield figure('decisions verified a CPU second', speed, '/s');
}
