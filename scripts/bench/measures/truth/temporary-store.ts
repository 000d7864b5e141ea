import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../../../../test/decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../../../test/servers/temporary-directory.ts';

/** Runs work with a store of its own, and closes the store. */
export async function withTemporaryStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
