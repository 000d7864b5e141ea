import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DAY_MS } from '#base/duration.ts';
import { NamedError } from '#base/named-error.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { type Documents, STORE_ACCEPTED_REGISTER } from '#state/documents.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { KeyLostByStore, KeysSeenLive, type PlatformKeyRef } from './keys-seen-live.ts';

const PLATFORM_KEY_OPERATIONS = [
  'score',
  'verdict',
  'outcomes',
  'clients:read',
  'clients',
  'waits',
  'erase',
  'figures',
  'decisions',
  'lists:read',
  'lists',
  'rules:read',
  'rules',
  'events',
  'keys',
  'audit',
  'approve',
] as const;

/** The operations that a key of the whole installation may have. None of these operations reads clients or decides. */
const INSTALLATION_KEY_OPERATIONS = [
  'lists:read',
  'lists',
  'rules:read',
  'rules',
  'operate',
  'keys',
  'audit',
  'approve',
] as const satisfies readonly GrantableOperation[];

/** All operations that a key may have: those of a platform, and `operate`, which only keys of the installation have. */
export const GRANTABLE_OPERATIONS = [...PLATFORM_KEY_OPERATIONS, 'operate'] as const;

export type GrantableOperation = (typeof GRANTABLE_OPERATIONS)[number];

/** Whether the name is `*`, which stands for the whole installation. No platform can have this name. */
export function isInstallation(platform: string): platform is PlatformName {
  return platform === '*';
}

/** The platform name under which the owner of the whole installation has keys. */
export const INSTALLATION_PLATFORM: PlatformName = requireInstallationName('*');

function requireInstallationName(name: string): PlatformName {
  if (isInstallation(name)) return name;
  throw new RangeError(`the installation is not called ${name}`);
}

export function listGrantableOperations(platform: PlatformName): readonly GrantableOperation[] {
  return isInstallation(platform) ? INSTALLATION_KEY_OPERATIONS : PLATFORM_KEY_OPERATIONS;
}

/** The stored form of an access key. The key itself is shown once and never stored. */
export interface AccessKey {
  readonly id: string;
  /** `*` for keys of the installation. */
  readonly platform: PlatformName;
  /** The person or team that answers for the key. Missing if nobody was named. */
  readonly owner?: string;
  readonly operations: readonly GrantableOperation[];
  /** sha256 of the whole key, hex. */
  readonly sha256: string;
  readonly issuedAt: string;
  /** ISO 8601. Null if the key does not expire. */
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export interface IssuedKey {
  /** The secret. It is shown only in this answer. */
  readonly key: string;
  readonly record: AccessKey;
}

interface KnownKey {
  readonly record: AccessKey;
  readonly sha256: Buffer;
}

/** What this process knows about a key id. Times are ms of the process's monotonic clock. */
interface CachedKey {
  readonly known: KnownKey | 'unknown';
  /** Whether the key was live when it was last read, and the store no longer holds it. */
  readonly isLost: boolean;
  /** The version of all keys when this key was read. Null if that is unknown. */
  readonly version: string | null;
  readonly readMs: number;
  /** The last moment at which this entry is known to have been true. */
  readonly asOfMs: number;
  /** When the last attempt to read the key was made, successful or not. */
  readonly triedMs: number;
}

const COLLECTION = 'access-keys';

/**
 * The longest life of a key. Keys of platforms always expire, so that a forgotten key ends by itself. Only keys of
 * the installation may live forever.
 */
export const KEY_DAYS_MAX = 3650;
/**
 * The highest number of live keys of a platform. It prevents a program that makes keys in a loop from filling the
 * store.
 */
const LIVE_KEYS_MAX = 200;

/** The key cannot be made. The message says why and what to do. */
export class KeyRefused extends NamedError {}

/** If it is unknown whether keys have changed, each key in use is read again after this time. */
const CACHE_MS = 500;
/** Each key in use is read again after this time in any case, because a server may have lost a change. */
const REREAD_MS = 60_000;
/**
 * If the server that holds the keys is away, a key that was read within this time is still accepted, so that payers
 * on other servers are served. A key that is revoked elsewhere during the outage is accepted for the same time.
 */
const KNOWN_MS_MAX = 60_000;
const CACHED_KEYS = 10_000;

/** How long a revoked or expired key stays in the list, so that a caller can learn why it is refused. */
const REMEMBER_ENDED_MS = 30 * 24 * 3600_000;

/** Issues, revokes and checks the access keys of all platforms (interface, section 5). */
export class AccessKeys {
  readonly #documents: Documents;
  readonly #now: () => number;
  readonly #monotonicMs: () => number;
  readonly #cache = new LRUCache<string, CachedKey>({ max: CACHED_KEYS });
  readonly #admitted: KeysSeenLive<AccessKey>;

  /** `onLost` is called once for each key that the store has lost. */
  constructor(
    documents: Documents,
    now: () => number,
    monotonicMs = () => performance.now(),
    onLost: (key: PlatformKeyRef) => void = () => {},
  ) {
    this.#documents = documents;
    this.#now = now;
    this.#monotonicMs = monotonicMs;
    this.#admitted = new KeysSeenLive(monotonicMs, onLost);
  }

  /** Lists the keys that the store has lost and callers still use. */
  listLost(): readonly PlatformKeyRef[] {
    return this.#admitted.listLost();
  }

  /**
   * Issues and stores a key. A platform may have several live keys, so that it can introduce a new one before the old
   * one ends. Operations that may not be granted are left out. Throws KeyRefused.
   */
  async issue(
    platform: PlatformName,
    operations: readonly GrantableOperation[],
    lifetimeMs: number | null,
    owner?: string,
  ): Promise<IssuedKey> {
    const issued = this.createKey(platform, operations, lifetimeMs, owner);
    await this.storeKey(issued.record);
    return issued;
  }

  /** Creates a key. The key is accepted once `storeKey` has stored it. Throws KeyRefused if its lifetime is too long. */
  createKey(
    platform: PlatformName,
    operations: readonly GrantableOperation[],
    lifetimeMs: number | null,
    owner?: string,
  ): IssuedKey {
    requireLifetime(platform, lifetimeMs);
    const id = randomBytes(6).toString('hex');
    const key = `ka_${id}_${randomBytes(32).toString('base64url')}`;
    const now = this.#now();
    const record: AccessKey = {
      id,
      platform,
      ...(owner === undefined ? {} : { owner }),
      operations: listGrantableOperations(platform).filter((operation) => operations.includes(operation)),
      sha256: hash('sha256', key, 'hex'),
      issuedAt: new Date(now).toISOString(),
      expiresAt: lifetimeMs === null ? null : new Date(now + lifetimeMs).toISOString(),
      revokedAt: null,
    };
    return { key, record };
  }

  /** Stores a new key. Throws KeyRefused. */
  async storeKey(record: AccessKey): Promise<void> {
    const { id, platform, issuedAt, expiresAt } = record;
    requireLifetime(platform, expiresAt === null ? null : Date.parse(expiresAt) - Date.parse(issuedAt));
    await this.requireRoom(platform);
    const leftMs = expiresAt === null ? null : Math.max(0, Date.parse(expiresAt) - this.#now());
    const ttlMs = leftMs === null ? undefined : leftMs + REMEMBER_ENDED_MS;
    await this.#documents.set(COLLECTION, id, record, ttlMs);
    this.#cache.delete(id);
  }

  /** Throws KeyRefused if the platform already has as many live keys as it may have. */
  async requireRoom(platform: PlatformName): Promise<void> {
    const now = this.#now();
    const live = (await this.list()).filter(
      (one) => one.platform === platform && getKeyStatus(one, now) === 'live',
    );
    if (live.length < LIVE_KEYS_MAX) return;
    throw new KeyRefused(
      `${platform} has ${live.length} live keys, and at most ${LIVE_KEYS_MAX} are allowed; revoke keys that are no longer used`,
    );
  }

  async list(): Promise<readonly AccessKey[]> {
    const records = await this.#documents.list<AccessKey>(COLLECTION);
    for (const record of records) this.#noteStatus(record);
    return records.toSorted(
      (a, b) => a.platform.localeCompare(b.platform) || a.issuedAt.localeCompare(b.issuedAt),
    );
  }

  /** Revokes a key. Returns null if it does not exist. Revoking it twice changes nothing. */
  async revoke(id: string): Promise<AccessKey | null> {
    const record = await this.find(id);
    if (record === null) return null;
    // A revoked key is written again, because an earlier try may have failed before the nodes were told.
    const revokedAt = record.revokedAt ?? new Date(this.#now()).toISOString();
    const revoked = { ...record, revokedAt };
    await this.#documents.set(COLLECTION, id, revoked, REMEMBER_ENDED_MS);
    this.#cache.delete(id);
    return revoked;
  }

  /** Revokes the live keys of an owner, except those of platforms for which `isKept` returns true. */
  async revokeKeysOfOwner(
    owner: string,
    isKept: (platform: PlatformName) => boolean,
  ): Promise<readonly AccessKey[]> {
    const now = this.#now();
    const ending = (await this.list()).filter(
      (one) => one.owner === owner && getKeyStatus(one, now) === 'live' && !isKept(one.platform),
    );
    for (const { id } of ending) await this.revoke(id);
    return ending;
  }

  async find(id: string): Promise<AccessKey | null> {
    return (await this.#documents.get<AccessKey>(COLLECTION, id)) ?? null;
  }

  /** Finds a live key. Returns null for any other text. Throws KeyLostByStore if the store no longer holds the key. */
  async authenticate(key: string): Promise<AccessKey | null> {
    const id = parseWholeKeyId(key);
    if (id === null) return null;
    const { known, isLost } = this.#findCached(id) ?? (await this.#read(id));
    if (known === 'unknown' || !isSameHash(hash('sha256', key, 'buffer'), known.sha256)) return null;
    return this.#findLive(known.record, isLost);
  }

  /**
   * Returns the key if it is live. Returns null if it has ended. Throws KeyLostByStore if the store no longer holds
   * it.
   */
  #findLive(record: AccessKey, isLost: boolean): AccessKey | null {
    if (getKeyStatus(record, this.#now()) !== 'live') return null;
    if (!isLost) return record;
    this.#admitted.noteTried(record);
    throw new KeyLostByStore(
      `the access key ${record.id} of ${record.platform} was live when it was last read, but the store no longer holds it`,
    );
  }

  /** Finds the platform of a key in this process's cache. Returns null if the key is not there. */
  findCachedPlatform(key: string): PlatformName | null {
    const known = this.#cache.get(parseWholeKeyId(key) ?? '')?.known ?? 'unknown';
    const isIt = known !== 'unknown' && isSameHash(hash('sha256', key, 'buffer'), known.sha256);
    return isIt ? known.record.platform : null;
  }

  /**
   * Whether the key with this id still allows the operation. Work that goes on after its request was answered calls
   * this method.
   */
  async isGranted(id: string, operation: GrantableOperation): Promise<boolean> {
    const key = await this.findLive(id);
    return key !== null && isGranted(key, operation);
  }

  /** Finds a live key by its id. Returns null if the key is unknown, revoked or expired. Throws KeyLostByStore. */
  async findLive(id: string): Promise<AccessKey | null> {
    const { known, isLost } = this.#findCached(id) ?? (await this.#read(id));
    return known === 'unknown' ? null : this.#findLive(known.record, isLost);
  }

  /** Finds a cached key that is fresh enough. Returns null if the key must be read. */
  #findCached(id: string): CachedKey | null {
    const entry = this.#cache.get(id);
    if (entry === undefined) return null;
    const now = this.#monotonicMs();
    const seen = this.#documents.findRecentVersion(COLLECTION);
    if (seen !== null && seen.version === entry.version && now - entry.readMs < REREAD_MS) {
      if (seen.asOfMs > entry.asOfMs)
        this.#cache.set(id, { ...entry, asOfMs: seen.asOfMs, triedMs: seen.asOfMs });
      return entry;
    }
    return now - entry.triedMs < CACHE_MS ? entry : null;
  }

  async #read(id: string): Promise<CachedKey> {
    const version = this.#documents.findRecentVersion(COLLECTION)?.version ?? null;
    const readMs = this.#monotonicMs();
    try {
      const record = await this.#documents.get<AccessKey>(COLLECTION, id);
      const lost = record === undefined ? this.#admitted.findLostRecord(id, this.#acceptanceVersion()) : null;
      if (record !== undefined) this.#noteStatus(record);
      const read = {
        known: toKnownKey(record ?? lost),
        isLost: lost !== null,
        // A lost key may come back at any moment without a new version, so the version stays unknown.
        version: lost === null ? version : null,
        readMs,
        asOfMs: readMs,
        triedMs: readMs,
      };
      this.#cache.set(id, read);
      return read;
    } catch (error) {
      const last = this.#cache.get(id);
      const isKnown = last !== undefined && last.known !== 'unknown' && readMs - last.asOfMs < KNOWN_MS_MAX;
      if (!isKnown || !(error instanceof StoreUnavailable)) throw error;
      const tried = { ...last, triedMs: this.#monotonicMs() };
      this.#cache.set(id, tried);
      return tried;
    }
  }

  /** Remembers a live key, and forgets one that has ended. */
  #noteStatus(record: AccessKey): void {
    if (getKeyStatus(record, this.#now()) === 'live')
      this.#admitted.noteLive(record, this.#acceptanceVersion());
    else this.#admitted.noteEnded(record.id);
  }

  /**
   * After a store has lost data, a person may accept it as it is, which a register notes. Returns the version of this
   * register. Returns null if the version is not known.
   */
  #acceptanceVersion(): string | null {
    return this.#documents.findRecentVersion(STORE_ACCEPTED_REGISTER)?.version ?? null;
  }
}

function requireLifetime(platform: PlatformName, lifetimeMs: number | null): void {
  if (lifetimeMs === null ? isInstallation(platform) : lifetimeMs <= KEY_DAYS_MAX * DAY_MS) return;
  const asked = lifetimeMs === null ? 'for ever' : `for ${Math.ceil(lifetimeMs / DAY_MS)} days`;
  const others = isInstallation(platform) ? '' : '; only keys of "*" may live for ever';
  throw new KeyRefused(
    `a key of ${platform} cannot live ${asked}: at most ${KEY_DAYS_MAX} days are allowed${others}`,
  );
}

/** Reads the id in the text of a key. The id is not secret. Returns null if the text is no key. */
export function parseKeyId(text: string): string | null {
  return /^ka_([0-9a-f]{12})_/.exec(text)?.[1] ?? null;
}

function parseWholeKeyId(key: string): string | null {
  return /^ka_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/.exec(key)?.[1] ?? null;
}

function toKnownKey(record: AccessKey | null): KnownKey | 'unknown' {
  return record === null ? 'unknown' : { record, sha256: Buffer.from(record.sha256, 'hex') };
}

export const KEY_STATUSES = ['live', 'expired', 'revoked'] as const;

type KeyStatus = (typeof KEY_STATUSES)[number];

export function getKeyStatus({ expiresAt, revokedAt }: AccessKey, now: number): KeyStatus {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'live';
}

/**
 * Whether the key allows the operation. Operations that a key of its platform may not have are ignored, even if the
 * stored key names them.
 */
export function isGranted(
  { platform, operations }: Pick<AccessKey, 'platform' | 'operations'>,
  operation: GrantableOperation,
): boolean {
  return (
    listGrantableOperations(platform).includes(operation) &&
    addIncludedOperations(operations).includes(operation)
  );
}

/** Adds the operations that other operations include. For example, whoever may change something may also read it. */
export function addIncludedOperations(
  operations: readonly GrantableOperation[],
): readonly GrantableOperation[] {
  return GRANTABLE_OPERATIONS.filter(
    (one) =>
      operations.includes(one) ||
      (one === 'figures' && operations.includes('decisions')) ||
      (one === 'clients:read' && operations.includes('clients')) ||
      (one === 'lists:read' && operations.includes('lists')) ||
      (one === 'rules:read' && operations.includes('rules')),
  );
}

/** Compares in constant time, so that the duration of a refusal says nothing about the hash. */
function isSameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
