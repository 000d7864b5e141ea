import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Archive } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { writeSaltIfMissing } from '#history/archive/archived-salt.ts';
import { formatDay } from '#history/archive/period.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import { RowBuffer } from '#history/archive/row-buffer.ts';
import { SegmentWriter } from '#history/archive/segment-writer.ts';
import { findNextMerge } from '#history/archive/ship/next-merge.ts';
import { toRow } from '#history/archive/tables.ts';
import type { JournalEntry } from '#state/journal.ts';
import { getNumberOfPartitionTag, getPartitionTag } from '#state/keys.ts';
import { clientKey, TEST_SALT } from '../../../../test/decision/payer/client-keys.ts';
import { currentRules } from '../../../../test/service/current-rules.ts';
import { MadeUpHistory } from '../../made-up-history.ts';
import type { BenchPlan } from '../../plan.ts';

const DAY_MS = 86_400_000;
const MIDNIGHT = Date.UTC(2026, 0, 1);
const PORTION = 20_000;

/** Makes a day of payments with random ids, in the form in which the shipper leaves it, with one segment per table. */
export async function buildDayArchive({ archivesDir, decisions, onProgress }: BenchPlan): Promise<Archive> {
  const archive = new Archive(join(archivesDir, `day-of-${decisions}`));
  if (countDecisions(archive) === decisions && mergeOf(archive) === null) return archive;
  // An interrupted run cannot be continued, because its payers are not known any more.
  rmSync(archive.folder, { recursive: true, force: true });
  await writeSaltIfMissing(archive.home, TEST_SALT);
  const history = new MadeUpHistory(currentRules(), MIDNIGHT, DAY_MS / (decisions + 1));
  await writing(archive, async (writer) => {
    for (let done = 0; done < decisions; done += PORTION) {
      onProgress(`archive: made up ${done} of ${decisions} decisions`);
      const drafts = new RowBuffer(archive);
      const entries = history.take(Math.min(PORTION, decisions - done));
      // The entries are numbered as Redis numbers them: by its clock, and by a number within a millisecond.
      drafts.add(
        entries.map((entry) =>
          toRow(
            { ...entry, place: { partition: partitionHolding(entry), ms: entry.at, seq: 0 } },
            hashOf(entry),
          ),
        ),
      );
      await commit(archive, await writer.write(drafts));
      drafts.remove();
    }
    for (let parts = mergeOf(archive); parts !== null; parts = mergeOf(archive)) {
      onProgress(`archive: merging ${parts.length} segments of ${parts[0]?.table}`);
      const merged = await writer.merge(parts);
      await commit(archive, merged === null ? [] : [merged], parts);
    }
  });
  return archive;
}

/** Copies the made-up day with other clients and orders until there are `searched` decisions. */
export async function buildDaysArchive(plan: BenchPlan, day: Archive): Promise<Archive> {
  const { archivesDir, decisions, searched, onProgress } = plan;
  const days = Math.ceil(searched / decisions);
  const archive = new Archive(join(archivesDir, `days-of-${decisions}`));
  const originals = day.listSegments(day.read(), { table: 'decisions' });
  await writing(archive, async (writer) => {
    for (let copy = Math.floor(countDecisions(archive) / decisions); copy < days; copy++) {
      onProgress(`archive: copy ${copy + 1} of ${days}`);
      const copies: Segment[] = [];
      for (const original of originals) {
        const select = `SELECT * REPLACE (
          (decided_at + INTERVAL ${copy} DAY)::TIMESTAMP_MS AS decided_at, hash(client_hash, ${copy}) AS client_hash,
          uuid()::VARCHAR AS order_ref, uuid()::VARCHAR AS request_id) FROM ${day.createRowsSql([original])}`;
        const made = await writer.writeQueryRows(select, {
          ...original,
          day: formatDay(original.from + copy * DAY_MS),
        });
        if (made !== null) copies.push(made);
      }
      await commit(archive, copies);
    }
  });
  return archive;
}

function partitionHolding(entry: JournalEntry): number {
  return getNumberOfPartitionTag(getPartitionTag(hashOf(entry)));
}

function hashOf({ platform, clientIdKey }: JournalEntry): string {
  return clientKey(platform, clientIdKey).hash;
}

export function countDecisions(archive: Archive): number {
  return archive
    .listSegments(archive.read(), { table: 'decisions' })
    .reduce((sum, segment) => sum + segment.rows, 0);
}

function mergeOf(archive: Archive): readonly Segment[] | null {
  return findNextMerge([...archive.read().segments.values()], '2026-01-02');
}

async function writing(archive: Archive, work: (writer: SegmentWriter) => Promise<void>): Promise<void> {
  const temporaryFolder = join(archive.folder, 'spill');
  const duck = await QueryEngine.open({ threads: 1, memoryMiB: 512, temporaryFolder });
  try {
    await work(new SegmentWriter(archive, duck));
  } finally {
    duck.close();
  }
}

async function commit(
  archive: Archive,
  add: readonly Segment[],
  gone: readonly Segment[] = [],
): Promise<void> {
  const remove = gone.map(({ name }) => name);
  await archive.commit(archive.read(), { by: 'bench', at: MIDNIGHT, add, remove });
}
