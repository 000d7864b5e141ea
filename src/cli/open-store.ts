import { readConfig } from '../config.ts';
import { openStore } from '../state/open-store.ts';
import type { Store } from '../state/store.ts';
import { printError } from './print.ts';

/** Runs a command on the store that the environment names, and lets go of it whatever happens. */
export async function withOpenStore<T>(run: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(readConfig(), (error) => printError(`store: ${error.message}`));
  try {
    return await run(store);
  } finally {
    await store.close();
  }
}
