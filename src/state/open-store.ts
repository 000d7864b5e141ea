import { parseRedisUrl, type RedisSecurity } from './redis/connection/url.ts';
import type { Patience } from './sqlite/group-commit.ts';
import { openSqliteStore } from './sqlite/store.ts';
import type { Store } from './store.ts';
import type { StoreUnavailable } from './store-errors.ts';

/** Names of this machine alone. */
export const LOOPBACK = /^(127(\.\d+){3}|::1|localhost)$/;

/** Whether all state is on this machine. Throws when the URL is not one of the forms of REDIS_URL. */
export function isLocalStore(redisUrl: string | null): boolean {
  if (redisUrl === null) return true;
  const target = parseRedisUrl(redisUrl);
  const endpoints = target.kind === 'standalone' ? [target.endpoint] : target.endpoints;
  return endpoints.every(({ host }) => LOOPBACK.test(host));
}

export interface StorePlace {
  /** Null means SQLite under `dataDir`. */
  readonly redisUrl: string | null;
  readonly redisSecurity?: RedisSecurity;
  readonly dataDir: string;
  /** For commands, where a person waits: how long a call may take, and who hears of a long wait for another process. */
  readonly patience?: Patience;
  /** The salt of client hashes for a new store; random when absent. */
  readonly salt?: string;
}

/**
 * Redis when there is a URL, otherwise SQLite under `dataDir`. Throws StoreUnavailable when it is not there. `onLost` is told
 * when a disk of this process refuses to keep what was written: then the store has to be opened again.
 */
export async function openStore(
  { redisUrl, redisSecurity = {}, dataDir, patience, salt }: StorePlace,
  onError: (error: Error) => void,
  onLost?: (error: StoreUnavailable) => void,
): Promise<Store> {
  if (redisUrl === null) return openSqliteStore(dataDir, { onLost, patience, salt });
  // Loaded only when used: loading it would be most of a start on SQLite.
  const { openRedisStore } = await import('./redis/store.ts');
  const options = { security: redisSecurity, commandTimeoutMs: patience?.limitMs, salt };
  return openRedisStore(redisUrl, onError, options);
}
