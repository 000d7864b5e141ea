import { existsSync } from 'node:fs';
import { readExactClock } from '#base/clock.ts';
import { readConfig } from '#config.ts';
import { openStoreWithArchivedSalt } from '#history/archive/s3/open-archive.ts';
import { createStoreClock } from '#state/clock-offset.ts';
import { getDbPath } from '#state/sqlite/open-file.ts';
import type { Registers, Store } from '#state/store.ts';
import { printError } from './print.ts';

/** How long, in ms, a command waits for a busy store, or for another process that writes. */
const PATIENCE_MS = 5000;

const WAITING = `Another process keeps the SQLite file locked; waiting for it, up to ${PATIENCE_MS / 1000} s in all.`;

/**
 * Runs a command on the store that environment variables name, and closes the store in any case. The command gets the
 * store's clock, so that it dates its entries like the nodes. With `isAccepted` the store is opened even if it is
 * empty or is not the one that DATA_DIR or the archive names.
 */
export async function withOpenStore<T>(
  run: (store: Store, clock: () => number) => Promise<T>,
  isAccepted = false,
): Promise<T> {
  const store = await openForCommand(isAccepted);
  try {
    return await run(store, createStoreClock(readExactClock, store));
  } finally {
    await store.close();
  }
}

/**
 * Runs a command on the registers (the named values) of the store that environment variables name. The store is
 * opened when a register is first used.
 */
export async function withStoreRegisters<T>(run: (registers: Registers) => Promise<T>): Promise<T> {
  const opened: { store: Promise<Store> | null } = { store: null };
  const registers = async () => {
    opened.store ??= openForCommand(false);
    return (await opened.store).registers;
  };
  try {
    return await run({
      read: async (name) => (await registers()).read(name),
      compareAndSet: async (name, expected, next) => (await registers()).compareAndSet(name, expected, next),
      version: async (name) => (await registers()).version(name),
    });
  } finally {
    const store = await opened.store?.catch(() => null);
    await store?.close();
  }
}

async function openForCommand(isAccepted: boolean): Promise<Store> {
  const config = readConfig();
  const isNew = config.redisUrl === null && !existsSync(getDbPath(config.dataDir));
  const patience = { limitMs: PATIENCE_MS, onLongWait: () => printError(WAITING) };
  const store = await openStoreWithArchivedSalt(
    { ...config, patience, isForCommand: true, isAccepted },
    createErrorPrinter(),
  );
  if (isNew) printError(`The store is ${store.name}: it was created now, because REDIS_URL is not set.`);
  return store;
}

/**
 * Creates a printer that prints each message once, because every attempt to reach a store that does not answer fails
 * with the same message.
 */
function createErrorPrinter(): (error: Error) => void {
  const said = new Set<string>();
  return ({ message }) => {
    if (!said.has(message)) printError(`store: ${message}`);
    said.add(message);
  };
}
