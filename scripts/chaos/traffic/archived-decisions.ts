import type { Decision } from '#decision/decision.ts';
import { ClientKeys } from '#decision/payer/client-key.ts';
import { Archive } from '#history/archive/archive.ts';
import { readRequiredSalt } from '#history/archive/archived-salt.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import { toDecision } from '#history/archive/tables.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';

/** Reads every row of `decisions` in the archive, or copy of one, in this folder. */
export async function readArchivedDecisions(archiveDir: string): Promise<readonly Decision[]> {
  const archive = new Archive(archiveDir);
  const duck = await QueryEngine.open({ threads: 1, memoryMiB: 512, temporaryFolder: temporaryDirectory() });
  const clientKeys = new ClientKeys(readRequiredSalt(archiveDir));
  const source = archive.createRowsSql(archive.listSegments(archive.read(), { table: 'decisions' }));
  const rows = await duck.rows(`SELECT * FROM ${source}`);
  duck.close();
  return rows.map((row) => toDecision(row, clientKeys));
}
