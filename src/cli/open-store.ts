import { existsSync } from 'node:fs';
import { exactSystemClock } from '../clock.ts';
import { readConfig } from '../config.ts';
import { storeClock } from '../state/clock-offset.ts';
import { openStore } from '../state/open-store.ts';
import { sqlitePath } from '../state/sqlite/file/open-file.ts';
import type { Store } from '../state/store.ts';
import { printError } from './print.ts';

/**
 * Runs a command on the store that the environment names, and closes it whatever happens. The clock is the
 * store's: what a command notes is dated as the nodes date theirs.
 */
export async function withOpenStore<T>(run: (store: Store, clock: () => number) => Promise<T>): Promise<T> {
  const config = readConfig();
  const isNew = config.redisUrl === null && !existsSync(sqlitePath(config.dataDir));
  const store = await openStore(config, (error) => printError(`store: ${error.message}`));
  if (isNew) printError(`The store is ${store.name}: it was made just now, because REDIS_URL is not set.`);
  try {
    return await run(store, storeClock(exactSystemClock, store));
  } finally {
    await store.close();
  }
}
