import { type ExpectedInstallation, recallInstallation, rememberInstallation } from './known-installation.ts';
import { parseRedisUrl, type RedisSecurity } from './redis/connection/url.ts';
import type { LockPatience } from './sqlite/group-commit.ts';
import { openSqliteStore } from './sqlite/store.ts';
import type { Store } from './store.ts';
import type { StoreUnavailable } from './store-errors.ts';

/** Host names that mean this machine. */
export const LOOPBACK_HOST_PATTERN = /^(127(\.\d+){3}|::1|localhost)$/;

/** Whether all state is on this machine. Throws if the URL is not one of the forms of REDIS_URL. */
export function isStoreOnThisMachine(redisUrl: string | null): boolean {
  if (redisUrl === null) return true;
  const target = parseRedisUrl(redisUrl);
  const endpoints = target.kind === 'standalone' ? [target.endpoint] : target.endpoints;
  return endpoints.every(({ host }) => LOOPBACK_HOST_PATTERN.test(host));
}

export interface OpenStoreOptions {
  /** The URL of Redis. Null for SQLite under `dataDir`. */
  readonly redisUrl: string | null;
  readonly redisSecurity?: RedisSecurity;
  readonly dataDir: string;
  /**
   * The time limit of a command's store call, and a function that is called when another process holds the lock for
   * long. A command waits longer than a node, because a person waits for it.
   */
  readonly patience?: LockPatience;
  /** The salt of client hashes for a new store. If missing, a random one. */
  readonly salt?: string;
  /** The installation that a file or folder beside the store names, if DATA_DIR names none. */
  readonly expected?: ExpectedInstallation | null | undefined;
  /**
   * Whether the store is opened for one command. A command may read a store that DATA_DIR does not know, but never
   * starts a new store in place of another one.
   */
  readonly isForCommand?: boolean;
  /** Whether the store is accepted even if it is empty or another one than expected. */
  readonly isAccepted?: boolean;
}

/**
 * Opens Redis if there is a URL, and otherwise SQLite under `dataDir`. A node notes in `dataDir` which installation
 * it belongs to. Throws StoreUnavailable if the store cannot be reached, and AnotherStore if it is not the one that
 * `dataDir` or `expected` names. `onLost` is called when a disk of this process refuses to keep written data. The
 * store must then be opened again.
 */
export async function openStore(
  place: OpenStoreOptions,
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
  { redisUrl, redisSecurity = {}, dataDir, patience, ...terms }: OpenStoreOptions,
  onError: (error: Error) => void,
  onLost?: (error: StoreUnavailable) => void,
): Promise<Store> {
  if (redisUrl === null) return openSqliteStore(dataDir, { onLost, patience, ...terms });
  // Redis is loaded only when it is used, because loading it would be most of a start on SQLite.
  const { openRedisStore } = await import('./redis/store.ts');
  const options = { security: redisSecurity, commandTimeoutMs: patience?.limitMs, ...terms };
  return openRedisStore(redisUrl, onError, options);
}
