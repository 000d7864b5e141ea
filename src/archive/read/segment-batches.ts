import { archiveReadings, NobodyWaits } from '../../state/paced-steps.ts';
import { type Archive, withoutThese } from '../archive.ts';
import type { ArchiveState, LeftOut, Segment } from '../archive-log.ts';
import type { Duck, DuckBatch } from '../duck.ts';

/** Batches of rows, and the segments among those asked that could not be read. */
interface ReadBatches {
  readonly rows: readonly DuckBatch[];
  readonly unreadable: readonly LeftOut[];
}

export type BatchesOf = (
  segments: readonly Segment[],
  sql: (source: string) => string,
) => Promise<ReadBatches>;

/** Rows of segments of one state of the archive, to be made one by one later. The question must be about each row alone. */
export async function batchesOfSegments(
  archive: Archive,
  open: () => Promise<Duck>,
  state: ArchiveState,
  wanted: readonly Segment[],
  sql: (source: string) => string,
): Promise<ReadBatches> {
  const replaced = async () => (await archive.refresh()).version !== state.version;
  const missing = await archive.bring(wanted);
  if (missing.length > 0 && (await replaced())) throw new Error('segments were replaced meanwhile');
  const segments = withoutThese(wanted, missing);
  if (segments.length === 0) return { rows: [], unreadable: missing };
  const duck = await open();
  const batchesOf = (some: readonly Segment[]) =>
    archiveReadings.run(() => duck.wholeBatches(sql(archive.source(some))));
  try {
    return { rows: await batchesOf(segments), unreadable: missing };
  } catch (cause) {
    if (cause instanceof NobodyWaits || (await replaced())) throw cause;
    const parts = await oneByOne(segments, (segment) => batchesOf([segment]), cause);
    if (await replaced()) throw cause;
    return { ...parts, unreadable: [...missing, ...parts.unreadable] };
  }
}

/** One damaged segment harms only itself. */
async function oneByOne(
  segments: readonly Segment[],
  batchesOf: (segment: Segment) => Promise<readonly DuckBatch[]>,
  cause: unknown,
) {
  const rows: DuckBatch[] = [];
  const unreadable: Segment[] = [];
  for (const segment of segments) {
    try {
      rows.push(...(await batchesOf(segment)));
    } catch (error) {
      if (error instanceof NobodyWaits) throw error;
      unreadable.push(segment);
    }
  }
  // Every segment can be read alone, so it was the question that was wrong.
  if (unreadable.length === 0) throw cause;
  return { rows, unreadable };
}
