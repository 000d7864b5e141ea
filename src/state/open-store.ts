import { openSqliteStore } from './sqlite/store.ts';
import type { Store } from './store.ts';

/** Redis when there is a URL, otherwise SQLite under `dataDir`. Throws StoreUnavailable when it is not there. */
export async function openStore(
  { redisUrl, dataDir }: { readonly redisUrl: string | null; readonly dataDir: string },
  onError: (error: Error) => void,
): Promise<Store> {
  if (redisUrl === null) return openSqliteStore(dataDir);
  // Loaded only when it is used: it is most of what a start on SQLite would wait for.
  const { openRedisStore } = await import('./redis/store.ts');
  return openRedisStore(redisUrl, onError);
}
