import type { RedisSecurity } from './redis/connection/security.ts';
import { parseRedisUrl } from './redis/connection/url.ts';
import { openSqliteStore } from './sqlite/store.ts';
import type { Store } from './store.ts';

/** Names of this machine alone. */
export const LOOPBACK = /^(127(\.\d+){3}|::1|localhost)$/;

/** Whether all state is on this machine. Throws when the URL is not one of the forms of REDIS_URL. */
export function isLocalStore(redisUrl: string | null): boolean {
  if (redisUrl === null) return true;
  const target = parseRedisUrl(redisUrl);
  const endpoints = target.kind === 'standalone' ? [target.endpoint] : target.endpoints;
  return endpoints.every(({ host }) => LOOPBACK.test(host));
}

/** Which store, and how it is reached. */
export interface StorePlace {
  /** Null means SQLite under `dataDir`. */
  readonly redisUrl: string | null;
  readonly redisSecurity?: RedisSecurity;
  readonly dataDir: string;
}

/** Redis when there is a URL, otherwise SQLite under `dataDir`. Throws StoreUnavailable when it is not there. */
export async function openStore(
  { redisUrl, redisSecurity = {}, dataDir }: StorePlace,
  onError: (error: Error) => void,
): Promise<Store> {
  if (redisUrl === null) return openSqliteStore(dataDir);
  // Loaded only when it is used: it is most of what a start on SQLite would wait for.
  const { openRedisStore } = await import('./redis/store.ts');
  return openRedisStore(redisUrl, onError, { security: redisSecurity });
}
