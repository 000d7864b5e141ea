import type { ArchiveState, Segment } from './archive-log.ts';

/**
 * The kinds of files that a segment has, in the sequence in which they are written. The rows come last, so a segment
 * that has its rows has its order filter, too.
 */
export const SEGMENT_FILE_KINDS = ['orders', 'parquet'] as const;

export type SegmentFileKind = (typeof SEGMENT_FILE_KINDS)[number];

/** The folder and the name of a segment. */
export type SegmentPlace = Pick<Segment, 'table' | 'platform' | 'day' | 'name'>;

/** Returns the path of a segment's file, relative to the archive's folder. */
export function getSegmentFilePath(
  { table, platform, day, name }: SegmentPlace,
  kind: SegmentFileKind,
): string {
  return `${table}/platform=${platform}/day=${day}/${name}.${kind}`;
}

export function listSegmentFiles(segment: Segment): readonly string[] {
  return SEGMENT_FILE_KINDS.map((kind) => getSegmentFilePath(segment, kind));
}

/** Lists the files of the segments that a later state no longer has. */
export function listRemovedFiles(before: ArchiveState, now: ArchiveState): readonly string[] {
  return [...before.segments.values()]
    .filter(({ name }) => !now.segments.has(name))
    .flatMap(listSegmentFiles);
}
