import type { Command } from 'commander';
import type { Archive } from '../../archive/archive.ts';
import type { ArchiveGap, Segment } from '../../archive/archive-log.ts';
import { openArchive } from '../../archive/s3/open-archive.ts';
import { readSetAside, type SetAside } from '../../archive/set-aside.ts';
import { leaseHolder } from '../../archive/ship/lease.ts';
import { type ShippingTrouble, shippingTroubles } from '../../archive/ship/shipping-troubles.ts';
import { TABLE_NAMES, type TableName } from '../../archive/tables.ts';
import { unshippedPage } from '../../archive/unshipped.ts';
import type { Store } from '../../state/store.ts';
import { EXIT } from '../exit.ts';
import { withOpenStore } from '../open-store.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';
import { leftOutTexts, readArchiveConfig } from './archive-folder.ts';

interface TableStatus {
  readonly table: TableName;
  readonly rows: number;
  readonly segments: number;
  readonly bytes: number;
  /** Epoch ms; null when the table is empty. */
  readonly from: number | null;
  readonly to: number | null;
}

/** What `archive status --json` prints. */
interface ArchiveStatus {
  readonly folder: string;
  readonly tables: readonly TableStatus[];
  /** Epoch ms; null when nothing was ever shipped. */
  readonly shippedAt: number | null;
  /** What the journal holds that is not shipped; `more`: it was counted no further. */
  readonly behind: { readonly entries: number; readonly more: boolean; readonly since: number | null };
  /** Who ships, null for nobody; and why others could not when they tried last. */
  readonly shipper: string | null;
  readonly troubles: readonly ShippingTrouble[];
  readonly gaps: readonly ArchiveGap[];
  /** Entries of the journal that could not be read, kept beside the archive. */
  readonly setAside: readonly Pick<SetAside, 'place' | 'why'>[];
  /** Segments whose files were cut off or are gone. */
  readonly torn: readonly Segment[];
}

/** How many unshipped entries are counted one by one. */
const COUNTED_ENTRIES_MAX = 10_000;

/** archive status: what is there, how far shipping is behind, and what was lost. */
export function statusCommand(archive: Command): void {
  archive
    .command('status')
    .description(
      'what is archived, how far shipping is behind, and which gaps there are; exit code 1 when a file was cut off or is gone',
    )
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: true }) => {
      const config = readArchiveConfig();
      const status = await withOpenStore((store) => statusOf(openArchive(config, store.registers), store));
      print(options.json === true ? JSON.stringify(status) : describe(status));
      if (status.torn.length > 0) process.exitCode = EXIT.findings;
    });
}

async function statusOf(archive: Archive, store: Store): Promise<ArchiveStatus> {
  const state = await archive.refresh();
  const { entries } = await unshippedPage(store, state, COUNTED_ENTRIES_MAX);
  const tables = TABLE_NAMES.map((name): TableStatus => {
    const segments = archive.segments(state, { table: name });
    const sum = (of: 'rows' | 'bytes') => segments.reduce((total, segment) => total + segment[of], 0);
    return {
      table: name,
      rows: sum('rows'),
      segments: segments.length,
      bytes: sum('bytes'),
      from: segments.length === 0 ? null : segments.reduce((a, { from }) => Math.min(a, from), Infinity),
      to: segments.length === 0 ? null : segments.reduce((a, { to }) => Math.max(a, to), 0),
    };
  });
  const more = entries.length === COUNTED_ENTRIES_MAX;
  const behind = { entries: entries.length, more, since: entries[0]?.at ?? null };
  const torn = await archive.reading((now) => archive.torn(now));
  const setAside = readSetAside(archive.folder).map(({ place, why }) => ({ place, why }));
  const [shipper, troubles] = [await leaseHolder(store.registers), await shippingTroubles(store.documents)];
  return {
    folder: archive.home.name,
    tables,
    shippedAt: state.shippedAt,
    behind,
    shipper,
    troubles,
    gaps: state.gaps,
    setAside,
    torn,
  };
}

function describe({
  folder,
  tables,
  shippedAt,
  behind,
  shipper,
  troubles,
  gaps,
  setAside,
  torn,
}: ArchiveStatus): string {
  const rows = tables.map(({ table: name, rows: count, segments, bytes, from, to }) => [
    name,
    String(count),
    String(segments),
    (bytes / 1e6).toFixed(1),
    count === 0 ? '' : (bytes / count).toFixed(1),
    timeText(from),
    timeText(to),
  ]);
  const headings = ['TABLE', 'ROWS', 'SEGMENTS', 'MB', 'B A ROW', 'FROM', 'TO'];
  const counted = `${behind.entries}${behind.more ? ' or more' : ''}`;
  const since = behind.since === null ? '' : `, the oldest from ${timeText(behind.since)}`;
  return [
    `Archive in ${folder}; ${shippedAt === null ? 'nothing shipped yet' : `last shipped at ${timeText(shippedAt)}`}.`,
    `Not shipped yet: ${counted} entries${since}.`,
    shipper === null ? 'Nobody ships now.' : `${shipper} ships.`,
    ...troubles.map(({ name, why, at }) => `${name} could not ship at ${timeText(at)}: ${why}`),
    ...gaps.map(
      ({ from, to, entries }) =>
        `Gap: ${entries} entries from ${timeText(from)} to ${timeText(to)} were lost before they were shipped.`,
    ),
    ...setAside.map(
      ({ place, why }) => `Set aside: the entry ${place} of the journal cannot be read (${why}).`,
    ),
    ...leftOutTexts(torn),
    '',
    table(headings, rows),
  ].join('\n');
}

function timeText(at: number | null): string {
  return at === null ? '' : new Date(at).toISOString().slice(0, 19).replace('T', ' ');
}
