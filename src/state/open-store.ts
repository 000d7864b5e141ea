import { type ExpectedInstallation, recallInstallation, rememberInstallation } from './known-installation.ts';
import { parseRedisUrl, type RedisSecurity } from './redis/connection/url.ts';
import type { LockPatience } from './sqlite/group-commit.ts';
import { openSqliteStore } from './sqlite/store.ts';
import type { Store } from './store.ts';
import type { StoreUnavailable } from './store-errors.ts';

/** Host names that mean this machine. */
export const LOOPBACK = /^(127(\.\d+){3}|::1|localhost)$/;

/** Whether all state is on this machine. Throws when the URL is not one of the forms of REDIS_URL. */
export function isLocalStore(redisUrl: string | null): boolean {
  if (redisUrl === null) return true;
  const target = parseRedisUrl(redisUrl);
  const endpoints = target.kind === 'standalone' ? [target.endpoint] : target.endpoints;
  return endpoints.every(({ host }) => LOOPBACK.test(host));
}

export interface StorePlace {
  /** Null chooses SQLite under `dataDir`. */
  readonly redisUrl: string | null;
  readonly redisSecurity?: RedisSecurity;
  readonly dataDir: string;
  /**
   * For commands, for which a person waits: how long a call may take, and who is told of a long wait for another
   * process.
   */
  readonly patience?: LockPatience;
  /** The salt of client hashes for a new store. The default is random. */
  readonly salt?: string;
  /** The installation that something beside the store names, where DATA_DIR names none. */
  readonly expected?: ExpectedInstallation | null | undefined;
  /**
   * Whether the store is opened for one command. A command may read a store that DATA_DIR does not know, but never
   * starts a new one in the place of another.
   */
  readonly isForCommand?: boolean;
  /** Whether the store is accepted even when it is empty or another one than expected. */
  readonly isAccepted?: boolean;
}

/**
 * Opens Redis when there is a URL, and otherwise SQLite under `dataDir`. A node notes there which installation it is.
 * Throws StoreUnavailable when the store cannot be reached, and AnotherStore when it is not the one that `dataDir` or
 * `expected` names. `onLost` is called when a disk of this process refuses to keep what was written; the store must
 * then be opened again.
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
  // Loaded only when used, because loading it would be most of a start on SQLite.
  const { openRedisStore } = await import('./redis/store.ts');
  const options = { security: redisSecurity, commandTimeoutMs: patience?.limitMs, ...terms };
  return openRedisStore(redisUrl, onError, options);
}
