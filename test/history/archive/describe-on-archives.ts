import { randomUUID } from 'node:crypto';
import { openArchive } from '#history/archive/s3/open-archive.ts';
import type { Store } from '#state/store.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { type S3Server, s3Place, startS3 } from '../../servers/s3.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { describeOnStores, isOnSqliteAlone } from '../../stores/describe-on-stores.ts';
import { type TemporaryStore, temporaryRedis } from '../../stores/temporary-store.ts';
import { ArchivedStore, type NodeArchives } from './archived-store.ts';

/** The archives of nodes that share no disk. */
export function archivesInS3(
  server: S3Server,
  store: Store,
  prefix = `archive-${randomUUID()}`,
): NodeArchives {
  return (archiveDir = temporaryDirectory()) =>
    openArchive({ archiveDir, archiveS3: s3Place(server.port, prefix) }, store.registers);
}

/** A suite that runs on an archive in a folder, with each store, and on one in S3; `npm test` knows SQLite and a folder. */
export function describeOnArchives(
  title: string,
  suite: (store: () => Store, open: () => Promise<ArchivedStore>) => void,
): void {
  describeOnStores(title, (store) => suite(store, () => ArchivedStore.open(store())));
  if (isOnSqliteAlone()) return;
  describeWithServer('redis-server', `${title} on Redis, with the archive in S3`, () => {
    let opened: { readonly redis: TemporaryStore; readonly server: S3Server } | null = null;
    before(async () => {
      opened = { redis: await temporaryRedis(), server: await startS3() };
    });
    after(async () => {
      await opened?.redis.remove();
      await opened?.server.stop();
    });
    const there = () => {
      if (opened === null) throw new Error('the store is open only within hooks and tests');
      return opened;
    };
    const store = () => there().redis.store;
    suite(store, () => ArchivedStore.open(store(), archivesInS3(there().server, store())));
  });
}
