import { Archive } from '../../../src/archive/archive.ts';
import { keptSaltOf } from '../../../src/archive/archived-salt.ts';
import { Duck } from '../../../src/archive/duck.ts';
import { decisionOf } from '../../../src/archive/tables.ts';
import { ClientKeys } from '../../../src/client/client-key.ts';
import type { Decision } from '../../../src/decision/decision.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';

/** Every row of `decisions` in the archive, or copy of one, in this folder. */
export async function archivedDecisions(archiveDir: string): Promise<readonly Decision[]> {
  const archive = new Archive(archiveDir);
  const duck = await Duck.open({ threads: 1, memoryMiB: 512, temporaryFolder: temporaryDirectory() });
  const clientKeys = new ClientKeys(keptSaltOf(archiveDir));
  const source = archive.source(archive.segments(archive.read(), { table: 'decisions' }));
  const rows = await duck.rows(`SELECT * FROM ${source}`);
  duck.close();
  return rows.map((row) => decisionOf(row, clientKeys));
}
