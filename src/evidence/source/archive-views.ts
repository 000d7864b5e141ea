import { Archive } from '../../archive/archive.ts';
import type { ArchiveGap } from '../../archive/archive-log.ts';
import type { Duck } from '../../archive/duck.ts';
import type { TableName } from '../../archive/tables.ts';
import type { EvidencePlace } from './evidence.ts';
import { makeDecisionsView, makeOutcomesView, type ViewFilter } from './views.ts';

/** What the views leave out that was there once. */
export interface Losses {
  readonly gaps: readonly ArchiveGap[];
  readonly torn: boolean;
}

/** The folder of an archive, and whom it may still hold although they were erased. */
export type ArchivePlace = Extract<EvidencePlace, { readonly kind: 'archive' }>;

/** The tables that figures are taken from. */
const EVIDENCE: ReadonlySet<TableName> = new Set(['decisions', 'outcomes']);

/** Makes the views of evidence over the segments of an archive, each file read only as far as it is asked for. */
export async function makeArchiveViews(
  duck: Duck,
  { folder, erased = [], leftOut = [] }: ArchivePlace,
  filter: ViewFilter,
): Promise<Losses> {
  const archive = new Archive(folder);
  const state = archive.read();
  const where = {
    ...(filter.platform === null ? {} : { platform: filter.platform }),
    ...(filter.from === null ? {} : { from: filter.from }),
  };
  const until = filter.to === null ? {} : { to: filter.to };
  const decided = archive.segments(state, { table: 'decisions', ...where, ...until });
  const reported = archive.segments(state, { table: 'outcomes', ...where });
  await makeDecisionsView(duck, decided.length === 0 ? null : archive.source(decided, erased), filter);
  await makeOutcomesView(duck, reported.length === 0 ? null : archive.source(reported, erased), filter);
  const lost = leftOut
    .filter(({ table, platform }) => EVIDENCE.has(table) && (filter.platform ?? platform) === platform)
    .map(({ from, to, rows }) => ({ from, to, entries: rows }));
  const gaps = [...state.gaps, ...lost].filter(
    ({ from, to }) => (filter.to === null || from < filter.to) && (filter.from === null || to >= filter.from),
  );
  return { gaps, torn: false };
}
