import { existsSync } from 'node:fs';
import { exactSystemClock } from '#base/clock.ts';
import { readConfig } from '#config.ts';
import { openStoreWithSalt } from '#history/archive/s3/open-archive.ts';
import { createStoreClock } from '#state/clock-offset.ts';
import { sqlitePath } from '#state/sqlite/open-file.ts';
import type { Store } from '#state/store.ts';
import { printError } from './print.ts';

/** How long a person waits for a busy store, or for another process that writes. */
const PATIENCE_MS = 5000;

const WAITING = `Another process keeps the SQLite file locked; waiting for it, up to ${PATIENCE_MS / 1000} s in all.`;

/**
 * Runs a command on the store that the environment names, and closes it whatever happens. The clock is the
 * store's: what a command notes is dated as the nodes date theirs. With `isAccepted` the store is taken as it is, also when it is
 * empty or another one than what lies beside it names.
 */
export async function withOpenStore<T>(
  run: (store: Store, clock: () => number) => Promise<T>,
  isAccepted = false,
): Promise<T> {
  const config = readConfig();
  const isNew = config.redisUrl === null && !existsSync(sqlitePath(config.dataDir));
  const patience = { limitMs: PATIENCE_MS, onLongWait: () => printError(WAITING) };
  const store = await openStoreWithSalt(
    { ...config, patience, isForCommand: true, isAccepted },
    errorsSaidOnce(),
  );
  if (isNew) printError(`The store is ${store.name}: it was made just now, because REDIS_URL is not set.`);
  try {
    return await run(store, createStoreClock(exactSystemClock, store));
  } finally {
    await store.close();
  }
}

/** Every attempt to reach a store that is away ends with the same message. */
function errorsSaidOnce(): (error: Error) => void {
  const said = new Set<string>();
  return ({ message }) => {
    if (!said.has(message)) printError(`store: ${message}`);
    said.add(message);
  };
}
