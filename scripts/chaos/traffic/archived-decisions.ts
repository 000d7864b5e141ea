import { Archive } from '../../../src/archive/archive.ts';
import { keptSaltOf } from '../../../src/archive/archived-salt.ts';
import { Duck, numberOf, textOf } from '../../../src/archive/duck.ts';
import { ClientKeys, decisionId, isPlatformName } from '../../../src/client/client-key.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';

/** The part of a decision that shows whether payers were treated correctly. */
export interface ArchivedDecision {
  readonly decisionId: string;
  readonly clientIdKey: string;
  readonly orderRef: string | null;
  readonly verdict: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Every row of `decisions` in the archive, or copy of one, in this folder. */
export async function archivedDecisions(archiveDir: string): Promise<readonly ArchivedDecision[]> {
  const archive = new Archive(archiveDir);
  const duck = await Duck.open({ threads: 1, memoryMiB: 512, temporaryFolder: temporaryDirectory() });
  const clientKeys = new ClientKeys(keptSaltOf(archiveDir));
  const source = archive.source(archive.segments(archive.read(), { table: 'decisions' }));
  const rows = await duck.rows(
    `SELECT platform, client_id_key, order_ref, seq, decided_at, verdict FROM ${source} ORDER BY decided_at`,
  );
  duck.close();
  return rows.flatMap((row) => {
    const platform = textOf(row['platform']) ?? '';
    if (!isPlatformName(platform)) return [];
    const clientIdKey = textOf(row['client_id_key']) ?? '';
    const at = numberOf(row['decided_at']) ?? 0;
    const { hash } = clientKeys.of(platform, clientIdKey);
    const id = decisionId(hash, numberOf(row['seq']) ?? 0, at);
    const orderRef = textOf(row['order_ref']);
    return [{ decisionId: id, clientIdKey, orderRef, verdict: textOf(row['verdict']) ?? '', at }];
  });
}
