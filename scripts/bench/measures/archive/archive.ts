import { dirname } from 'node:path';
import type { Archive } from '../../../../src/archive/archive.ts';
import { verifyArchive } from '../../../../src/evidence/verify/verify-archive.ts';
import { RULES_FOLDER } from '../../../../test/service/current-rules.ts';
import type { Figure } from '../../figure.ts';
import { type ArchivePlan, madeUpDay } from './made-up-archive.ts';
import { used } from './used.ts';

const part = 'archive';

/** What a made-up day of payments with random ids takes on the disk, and whether it all comes out again. */
export async function* measureArchive(plan: ArchivePlan): AsyncGenerator<Figure> {
  const day = await madeUpDay(plan);
  yield* sizes(day);
  yield* verifying(plan, day.folder);
}

function* sizes(archive: Archive): Generator<Figure> {
  const state = archive.read();
  for (const table of ['decisions', 'outcomes', 'scores'] as const) {
    const segments = archive.segments(state, { table });
    const sum = (of: 'bytes' | 'rows') => segments.reduce((total, segment) => total + segment[of], 0);
    const target = table === 'decisions' ? { atMost: 110 } : null;
    const name = `bytes a row of ${table}, random UUIDs`;
    yield { part, name, value: sum('bytes') / sum('rows'), unit: 'B', target };
  }
}

async function* verifying({ onProgress }: ArchivePlan, archiveDir: string): AsyncGenerator<Figure> {
  onProgress('archive: verifying');
  const rulesDir = dirname(RULES_FOLDER);
  const { result, cpuSeconds } = await used(() =>
    verifyArchive({ archiveDir, rulesDir, from: null, to: null, threads: 1, onProgress: () => {} }),
  );
  const { checked, reproduced } = result;
  yield { part, name: 'decisions verified', value: checked, unit: '', target: null };
  yield {
    part,
    name: 'of these not reproduced',
    value: checked - reproduced,
    unit: '',
    target: { atMost: 0 },
  };
  const speed = checked / cpuSeconds;
  yield { part, name: 'decisions verified a CPU second', value: speed, unit: '/s', target: null };
}
