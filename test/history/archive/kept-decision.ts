import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Decision } from '#decision/decision.ts';
import type { ResultRow } from '#history/archive/query-engine.ts';
import { importJournalAsArchive } from '#history/archive/ship/journal-file.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { ArchivedStore } from './archived-store.ts';

/** The row that an archive keeps of a decision. */
export async function keptDecision(decision: Decision): Promise<ResultRow> {
  const { at, platform, clientIdKey } = decision;
  const [journal, folder] = [join(temporaryDirectory(), 'journal.ndjson'), temporaryDirectory()];
  writeFileSync(
    journal,
    `${JSON.stringify({ kind: 'verdict', at, platform, clientIdKey, clientHash: decision.decisionId.slice(0, 22), decision })}\n`,
  );
  await importJournalAsArchive(journal, folder, { threads: 1, memoryMiB: 256 });
  const place = await ArchivedStore.open(undefined, folder);
  const segments = place.archive.listSegments(place.archive.read(), { table: 'decisions' });
  const [row] = await place.duck.rows(`SELECT * FROM ${place.archive.createRowsSql(segments)}`);
  await place.close();
  if (row === undefined) throw new Error('the archive has no decision');
  return row;
}
