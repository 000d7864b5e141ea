import { existsSync } from 'node:fs';
import { BackgroundWork } from '#base/work/background-work.ts';
import { createConcurrencyLimits } from '#base/work/fair-queue.ts';
import { Archive } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { readRequiredSalt } from '#history/archive/archived-salt.ts';
import { createSnapshotOpener, withSnapshotFiles } from '#history/archive/snapshot.ts';
import { listSpanConditions } from '#history/evidence/source/evidence.ts';
import { addVerifications, NOTHING_VERIFIED, type VerificationTotals } from './verify-segment.ts';
import type { VerifyJobs } from './verify-thread.ts';

interface VerifyAsk {
  readonly archiveDir: string;
  /** The folder of the fetched segments. `missing` lists the segments that could not be fetched. */
  readonly segmentsDir?: string;
  readonly missing?: readonly Segment[];
  readonly rulesDir: string;
  /**
   * The available secrets. If the secret of a kept attribute is missing, decisions by rules that compare this
   * attribute cannot be verified.
   */
  readonly signalSecrets: readonly string[];
  /** The time span whose decisions are verified, in epoch ms. Null means no limit. */
  readonly from: number | null;
  readonly to: number | null;
  readonly threads: number;
  readonly onProgress: (checked: number, rows: number) => void;
}

const THREAD = new URL('./verify-thread.ts', import.meta.url);

/** The memory that one thread may use, in MiB, without the memory of its query engine. */
const THREAD_MIB_MAX = 2048;

/** Decides all archived decisions again from their facts and rule sets. Segments are verified in parallel. */
export function verifyArchivedDecisions(ask: VerifyAsk): Promise<VerificationTotals> {
  const open = createSnapshotOpener(ask.segmentsDir ?? ask.archiveDir);
  return withSnapshotFiles(open, isDecided, async ({ folder, leftOut }) => {
    const sum = await verifySegments(folder, ask);
    const decided = [...(ask.missing ?? []), ...leftOut].filter(
      (segment) => isDecided(segment) && isInSpan(ask, segment.from, segment.to),
    );
    return { ...sum, unreadable: [...decided.map(({ name }) => name), ...sum.unreadable] };
  });
}

function isDecided({ table }: Segment): boolean {
  return table === 'decisions';
}

function isInSpan(span: Pick<VerifyAsk, 'from' | 'to'>, from: number, to: number): boolean {
  return (span.from === null || to >= span.from) && (span.to === null || from <= span.to);
}

async function verifySegments(
  frozen: string,
  { from, to, threads, onProgress, archiveDir, rulesDir, signalSecrets }: VerifyAsk,
): Promise<VerificationTotals> {
  const archive = new Archive(frozen);
  const segments = archive.listSegments(archive.read(), { table: 'decisions', from, to });
  const rows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  if (segments.length === 0) return NOTHING_VERIFIED;
  const where = listSpanConditions('decided_at', from, to).join(' AND ');
  const turns = createConcurrencyLimits(Math.max(1, threads));
  const elsewhere = new BackgroundWork<VerifyJobs>(THREAD, {
    where: 'thread',
    memoryMiB: THREAD_MIB_MAX,
    turns,
  });
  const salt = readRequiredSalt(archiveDir);
  let sum = NOTHING_VERIFIED;
  try {
    await Promise.all(
      segments.map(async (segment) => {
        const task = { archiveDir, rulesDir, signalSecrets, frozen, where, segment, salt };
        const part = await elsewhere.run('verify', task);
        sum = addVerifications(sum, part);
        onProgress(sum.checked, rows);
      }),
    );
  } finally {
    await elsewhere.close();
  }
  // If a client was erased in the meantime, the archive was rewritten. Segments that are missing for this reason must
  // not be reported as damaged.
  if (sum.unreadable.length > 0 && !existsSync(frozen)) throw new Error('the archive was rewritten');
  return sum;
}
