import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../decision/payer/client-keys.ts';
import { ArchivedStore } from '../history/archive/archived-store.ts';
import { type RedisServers, startStandalone } from '../servers/redis.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { MovableClock } from '../service/movable-clock.ts';
import { openPatiently } from '../stores/temporary-store.ts';
import { raw, restore } from './redis-dump.ts';
import { live, serving, type Told, toldOf } from './stored-world.ts';

export const STORES = ['sqlite', 'redis'] as const;

type StoreName = (typeof STORES)[number];

const FOLDER = join(import.meta.dirname, '0.1.0');

/** A store that runs beside its files, and how it is ended. */
interface Running {
  readonly store: Store;
  readonly close: () => Promise<void>;
}

/** Makes the files of one store anew, by this version. */
export async function freeze(name: StoreName): Promise<void> {
  const folder = join(FOLDER, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const data = temporaryDirectory();
  const clock = new MovableClock();
  const redis = name === 'redis' ? await startStandalone() : null;
  const { store, close } = await opened(data, clock, redis);
  const archived = await ArchivedStore.open(store, join(data, 'archive'));
  const service = await serving(store, clock, new ArchiveReader(archived.archive.folder, store));
  const { key } = await live(service);
  await archived.shipAll();
  const told = await toldOf(service, key);
  await service.stop();
  const dump = redis === null ? null : await raw(redis);
  await close();
  await redis?.stop();
  cpSync(join(data, 'archive'), join(folder, 'archive'), { recursive: true });
  const stored = dump ?? readFileSync(join(data, 'scoring.sqlite'));
  writeFileSync(join(folder, 'store.br'), brotliCompressSync(stored));
  writeFileSync(join(folder, 'told.json'), `${JSON.stringify(told, null, 2)}\n`);
}

/** What the frozen files tell by this version, and what they told when they were made. */
export async function compare(name: StoreName): Promise<{ readonly told: Told; readonly then: Told }> {
  const data = temporaryDirectory();
  const stored = brotliDecompressSync(readFileSync(join(FOLDER, name, 'store.br')));
  cpSync(join(FOLDER, name, 'archive'), join(data, 'archive'), { recursive: true });
  const clock = new MovableClock();
  clock.moveSeconds(3 * 24 * 3600);
  const redis = name === 'redis' ? await startStandalone() : null;
  if (redis === null) writeFileSync(join(data, 'scoring.sqlite'), stored);
  else await restore(redis, stored);
  const { store, close } = await opened(data, clock, redis);
  const service = await serving(store, clock, new ArchiveReader(join(data, 'archive'), store));
  const then: Told = JSON.parse(readFileSync(join(FOLDER, name, 'told.json'), 'utf8'));
  const told: Told = JSON.parse(JSON.stringify(await toldOf(service, then.accessKey)));
  await service.stop();
  await close();
  await redis?.stop();
  return { told, then };
}

async function opened(data: string, clock: MovableClock, redis: RedisServers | null): Promise<Running> {
  const store =
    redis === null
      ? openSqliteStore(data, { clock: clock.now, salt: TEST_SALT })
      : await openPatiently(redis.url);
  return { store, close: () => store.close() };
}
