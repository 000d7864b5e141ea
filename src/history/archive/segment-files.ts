import type { ArchiveState, Segment } from './archive-log.ts';

/** The rows last: once they are in place, so is everything that helps to find them. */
export const SEGMENT_FILES = ['orders', 'parquet'] as const;

export type SegmentFile = (typeof SEGMENT_FILES)[number];

/** Where a segment lies, and its name. */
export type SegmentPlace = Pick<Segment, 'table' | 'platform' | 'day' | 'name'>;

/** The path of a file of a segment below the archive. */
export function getSegmentFile({ table, platform, day, name }: SegmentPlace, kind: SegmentFile): string {
  return `${table}/platform=${platform}/day=${day}/${name}.${kind}`;
}

export function listSegmentFiles(segment: Segment): readonly string[] {
  return SEGMENT_FILES.map((kind) => getSegmentFile(segment, kind));
}

/** The files of segments that a later state has no more. */
export function listRemovedFiles(before: ArchiveState, now: ArchiveState): readonly string[] {
  return [...before.segments.values()]
    .filter(({ name }) => !now.segments.has(name))
    .flatMap(listSegmentFiles);
}
