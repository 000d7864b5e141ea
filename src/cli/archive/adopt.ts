import type { Command } from 'commander';
import { actorOfUser } from '../../access/actor.ts';
import { Audit } from '../../access/audit.ts';
import { ARCHIVE_REGISTER } from '../../archive/archived-elsewhere.ts';
import { bucketHome } from '../../archive/s3/open-archive.ts';
import { ADOPTED_CURSOR } from '../../archive/unshipped.ts';
import { FindingsError } from '../exit.ts';
import { withOpenStore } from '../open-store.ts';
import { print } from '../print.ts';
import { parseReason } from '../reason.ts';
import { readArchiveConfig } from './archive-folder.ts';

/** archive adopt: makes what lies in an S3 store the archive of this store again. */
export function adoptCommand(archive: Command): void {
  archive
    .command('adopt')
    .description(
      'make what ARCHIVE_DIR=s3://.. holds the archive of this store, after one of the two was lost or put back',
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--json', 'print {archive, version, segments}')
    .action(({ reason, json }: { reason: string; json?: true }) => adopt(parseReason(reason), json === true));
}

async function adopt(reason: string, json: boolean): Promise<void> {
  const { archiveDir, archiveS3 } = readArchiveConfig();
  if (archiveS3 === null)
    throw new FindingsError(
      'ARCHIVE_DIR is a folder, which the first node that ships makes the archive of its store',
    );
  await withOpenStore(async (store, clock) => {
    const home = bucketHome(archiveDir, archiveS3, store.registers);
    const id = await home.id();
    if (id === null) throw new FindingsError(`${home.name} holds no archive`);
    const adopted = await home.adopt();
    // What is newer than all that is archived is shipped.
    const commit = { by: 'archive adopt', at: clock(), cursor: ADOPTED_CURSOR, add: [], remove: [] };
    const { version, segments } = await home.commit(adopted, commit);
    const claimed = await store.registers.read(ARCHIVE_REGISTER);
    if (claimed !== id) await store.registers.compareAndSet(ARCHIVE_REGISTER, claimed, id);
    const audit = new Audit(store.auditLog, clock);
    const about = { platform: null, subject: null, before: null, after: null };
    await audit.note({ who: actorOfUser(), action: 'archive adopted', ...about, reason });
    const found = { archive: id, version, segments: segments.size };
    print(
      json
        ? JSON.stringify(found)
        : `${home.name} is the archive of this store, as of its commit ${version} (segments: ${segments.size}).`,
    );
  });
}
