import { type ExpectedInstallation, recallInstallation, rememberInstallation } from './known-installation.ts';
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
  /** What something beside the store says that it holds, where DATA_DIR does not know; absent: nothing says so. */
  readonly expected?: ExpectedInstallation | null | undefined;
  /** It is opened for one command, which may look at a store that DATA_DIR does not know, but never begins one where one was. */
  readonly isForCommand?: boolean;
  /** The store is taken as it is, also when it is empty or another one than expected. */
  readonly isAccepted?: boolean;
}

/**
 * Redis when there is a URL, otherwise SQLite under `dataDir`. A node notes there which installation this is. Throws StoreUnavailable when it
 * is not there, and AnotherStore when it is not the one that `dataDir` or `expected` names. `onLost` is told when a disk of this process
 * refuses to keep what was written: then the store has to be opened again.
 */
export async function openStore(
  place: StorePlace,
  onError: (error: Error) => void,
  onLost?: (error: StoreUnavailable) => void,
): Promise<Store> {
  const { redisUrl, dataDir, isForCommand = false, isAccepted = false } = place;
  const kind = redisUrl === null ? 'sqlite' : 'redis';
  const recalled = recallInstallation(dataDir, kind) ?? place.expected;
  const mayBeAnother = isForCommand && !isAccepted && recalled;
  const expected = mayBeAnother ? { ...recalled, id: null } : recalled;
  const store = await openExpected({ ...place, expected }, onError, onLost);
  if (!isForCommand || isAccepted) rememberInstallation(dataDir, kind, store.installation);
  return store;
}

async function openExpected(
  { redisUrl, redisSecurity = {}, dataDir, patience, ...terms }: StorePlace,
  onError: (error: Error) => void,
  onLost?: (error: StoreUnavailable) => void,
): Promise<Store> {
  if (redisUrl === null) return openSqliteStore(dataDir, { onLost, patience, ...terms });
  // Loaded only when used: loading it would be most of a start on SQLite.
  const { openRedisStore } = await import('./redis/store.ts');
  const options = { security: redisSecurity, commandTimeoutMs: patience?.limitMs, ...terms };
  return openRedisStore(redisUrl, onError, options);
}
