import { openRedisStore, type RedisStoreOptions } from '#state/redis/store.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../decision/payer/client-keys.ts';
import { removeDirectory, temporaryDirectory } from '../servers/temporary-directory.ts';
import { emptyRedisUrl } from './empty-redis.ts';

const PATIENCE_MS = 10_000;

/** For tests of the promised deadlines; only opening the store may take longer. */
export const AS_PROMISED = { commandTimeoutMs: 200 };

/** An empty store for a test, and how to get rid of it. */
export interface TemporaryStore {
  readonly store: Store;
  /** Closes it and removes what it kept. */
  remove(): Promise<void>;
}

export function temporarySqlite(): TemporaryStore {
  const directory = temporaryDirectory();
  const store = openSqliteStore(directory, { salt: TEST_SALT });
  return {
    store,
    remove: async () => {
      await store.close();
      removeDirectory(directory);
    },
  };
}

export async function temporaryRedis(): Promise<TemporaryStore> {
  const store = await openPatiently(await emptyRedisUrl());
  return { store, remove: () => store.close() };
}

/**
 * Opens Redis for tests that are not about its deadline: on a busy machine redis-server itself may get no time
 * for longer than callers are promised to wait.
 */
export async function openPatiently(url: string, options: RedisStoreOptions = {}): Promise<Store> {
  const ignore = () => {
    // A failed call reports it.
  };
  const triedFromMs = performance.now();
  for (;;) {
    try {
      return await openRedisStore(url, ignore, {
        commandTimeoutMs: PATIENCE_MS,
        salt: TEST_SALT,
        ...options,
      });
    } catch (error) {
      if (performance.now() - triedFromMs > PATIENCE_MS) throw error;
    }
  }
}
