import { existsSync } from 'node:fs';
import { readConfig } from '../config.ts';
import { openStore } from '../state/open-store.ts';
import { sqlitePath } from '../state/sqlite/file/open-file.ts';
import type { Store } from '../state/store.ts';
import { printError } from './print.ts';

/** Runs a command on the store that the environment names, and lets go of it whatever happens. */
export async function withOpenStore<T>(run: (store: Store) => Promise<T>): Promise<T> {
  const config = readConfig();
  const isNew = config.redisUrl === null && !existsSync(sqlitePath(config.dataDir));
  const store = await openStore(config, (error) => printError(`store: ${error.message}`));
  if (isNew) printError(`The store is ${store.name}: it was made just now, because REDIS_URL is not set.`);
  try {
    return await run(store);
  } finally {
    await store.close();
  }
}
