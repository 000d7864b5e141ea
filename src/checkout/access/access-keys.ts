import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DAY_MS } from '#base/duration.ts';
import { NamedError } from '#base/named-error.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { ACCEPTED_REGISTER, type Documents } from '#state/documents.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { AdmittedKeys, KeyLost, type LostKey } from './admitted-keys.ts';

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

/** What a key of the whole installation may be granted: nothing that reads clients or decides. */
const INSTALLATION_KEY_OPERATIONS = [
  'lists:read',
  'lists',
  'rules:read',
  'rules',
  'operate',
  'keys',
  'audit',
  'approve',
] as const satisfies readonly Operation[];

/** What a key may be granted: the caller's two operations, the platform's own, and the installation's. */
export const OPERATIONS = [...PLATFORM_KEY_OPERATIONS, 'operate'] as const;

export type Operation = (typeof OPERATIONS)[number];

/** No platform can have this name; only `INSTALLATION_KEY_OPERATIONS` are granted under it. */
export function isInstallation(platform: string): platform is PlatformName {
  return platform === '*';
}

/** The platform of keys that belong to the owner of the whole installation. */
export const INSTALLATION: PlatformName = installation('*');

function installation(name: string): PlatformName {
  if (isInstallation(name)) return name;
  throw new RangeError(`the installation is not called ${name}`);
}

export function listGrantable(platform: PlatformName): readonly Operation[] {
  return isInstallation(platform) ? INSTALLATION_KEY_OPERATIONS : PLATFORM_KEY_OPERATIONS;
}

/** What is kept of an access key. The key itself is shown once and never stored. */
export interface AccessKey {
  readonly id: string;
  /** `*` for keys of the installation. */
  readonly platform: PlatformName;
  /** The person or team that answers for the key, if one was named. */
  readonly owner?: string;
  readonly operations: readonly Operation[];
  /** sha256 of the whole key, hex. */
  readonly sha256: string;
  readonly issuedAt: string;
  /** ISO 8601; null means that it does not expire. */
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export interface IssuedKey {
  /** The secret, which is shown only now. */
  readonly key: string;
  readonly record: AccessKey;
}

interface KnownKey {
  readonly record: AccessKey;
  readonly sha256: Buffer;
}

/** What this process knows about a key id. Times are by its monotonic clock, ms. */
interface Remembered {
  readonly known: KnownKey | 'unknown';
  /** It was live when it was last read, and is gone from the store. */
  readonly isLost: boolean;
  /** The version of all keys when this one was read; null: unknown. */
  readonly version: string | null;
  readonly readMs: number;
  /** Until when this is known to be true. */
  readonly asOfMs: number;
  /** When it was last read, or tried to be read. */
  readonly triedMs: number;
}

const COLLECTION = 'access-keys';

/** A key that nobody remembers ends by itself. Only those of the installation may live for ever. */
export const KEY_DAYS_MAX = 3650;
/** A program that makes keys in a loop must not fill the store. */
const LIVE_KEYS_MAX = 200;

/** No such key can be made; the message says why and what to do. */
export class KeyRefused extends NamedError {}

/** While it is unknown whether keys have changed, each key in use is read again after this time. */
const CACHE_MS = 500;
/** Each key in use is read again after this time in any case, in case a server lost a change. */
const REREAD_MS = 60_000;
/**
 * While the server with the keys is away, a key that was read within this time is still accepted, so that payers on
 * other servers are served. A key that is revoked elsewhere meanwhile is accepted for the same time.
 */
const KNOWN_MS_MAX = 60_000;
const CACHED_KEYS = 10_000;

/** A revoked or expired key stays in the list this long, so that a caller can learn why it is refused. */
const REMEMBER_ENDED_MS = 30 * 24 * 3600_000;

/** Issues, revokes and checks the access keys of all platforms (interface, section 5). */
export class AccessKeys {
  readonly #documents: Documents;
  readonly #now: () => number;
  readonly #monotonicMs: () => number;
  readonly #cache = new LRUCache<string, Remembered>({ max: CACHED_KEYS });
  readonly #admitted: AdmittedKeys<AccessKey>;

  /** `onLost` is told once of each key that the store has lost. */
  constructor(
    documents: Documents,
    now: () => number,
    monotonicMs = () => performance.now(),
    onLost: (key: LostKey) => void = () => {},
  ) {
    this.#documents = documents;
    this.#now = now;
    this.#monotonicMs = monotonicMs;
    this.#admitted = new AdmittedKeys(monotonicMs, onLost);
  }

  /** The keys that the store has lost and that callers still use. */
  lost(): readonly LostKey[] {
    return this.#admitted.lost();
  }

  /**
   * A platform may have several live keys, so that it can introduce a new one before the old one ends. Operations
   * that may not be granted are left out.
   */
  async issue(
    platform: PlatformName,
    operations: readonly Operation[],
    lifetimeMs: number | null,
    owner?: string,
  ): Promise<IssuedKey> {
    const issued = this.make(platform, operations, lifetimeMs, owner);
    await this.keep(issued.record);
    return issued;
  }

  /** Makes a new key, which is accepted once `keep` has stored its record. Throws KeyRefused for too long a life. */
  make(
    platform: PlatformName,
    operations: readonly Operation[],
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
      operations: listGrantable(platform).filter((operation) => operations.includes(operation)),
      sha256: hash('sha256', key, 'hex'),
      issuedAt: new Date(now).toISOString(),
      expiresAt: lifetimeMs === null ? null : new Date(now + lifetimeMs).toISOString(),
      revokedAt: null,
    };
    return { key, record };
  }

  /** Throws KeyRefused. */
  async keep(record: AccessKey): Promise<void> {
    const { id, platform, issuedAt, expiresAt } = record;
    requireLifetime(platform, expiresAt === null ? null : Date.parse(expiresAt) - Date.parse(issuedAt));
    await this.requirePlace(platform);
    const leftMs = expiresAt === null ? null : Math.max(0, Date.parse(expiresAt) - this.#now());
    const ttlMs = leftMs === null ? undefined : leftMs + REMEMBER_ENDED_MS;
    await this.#documents.set(COLLECTION, id, record, ttlMs);
    this.#cache.delete(id);
  }

  /** Throws KeyRefused where the platform has as many live keys as it may. */
  async requirePlace(platform: PlatformName): Promise<void> {
    const now = this.#now();
    const live = (await this.list()).filter(
      (one) => one.platform === platform && getKeyStatus(one, now) === 'live',
    );
    if (live.length < LIVE_KEYS_MAX) return;
    throw new KeyRefused(
      `${platform} has ${live.length} live keys, and may have ${LIVE_KEYS_MAX}; revoke those that nobody uses`,
    );
  }

  async list(): Promise<readonly AccessKey[]> {
    const records = await this.#documents.list<AccessKey>(COLLECTION);
    for (const record of records) this.#note(record);
    return records.toSorted(
      (a, b) => a.platform.localeCompare(b.platform) || a.issuedAt.localeCompare(b.issuedAt),
    );
  }

  /** Null when there is no such key; revoking twice changes nothing. */
  async revoke(id: string): Promise<AccessKey | null> {
    const record = await this.find(id);
    if (record === null) return null;
    // Written again even if it is revoked: the first try may have failed before the nodes were told.
    const revokedAt = record.revokedAt ?? new Date(this.#now()).toISOString();
    const revoked = { ...record, revokedAt };
    await this.#documents.set(COLLECTION, id, revoked, REMEMBER_ENDED_MS);
    this.#cache.delete(id);
    return revoked;
  }

  /** Revokes the live keys of an owner, but for those of some platforms. */
  async revokeOf(owner: string, isKept: (platform: PlatformName) => boolean): Promise<readonly AccessKey[]> {
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

  /** The record behind a live key; null for anything else. Throws KeyLost for one that the store has lost. */
  async authenticate(key: string): Promise<AccessKey | null> {
    const id = idOf(key);
    if (id === null) return null;
    const { known, isLost } = this.#remembered(id) ?? (await this.#read(id));
    if (known === 'unknown' || !sameHash(hash('sha256', key, 'buffer'), known.sha256)) return null;
    return this.#liveOf(known.record, isLost);
  }

  /** The record while it is live; throws KeyLost when the store has lost it. */
  #liveOf(record: AccessKey, isLost: boolean): AccessKey | null {
    if (getKeyStatus(record, this.#now()) !== 'live') return null;
    if (!isLost) return record;
    this.#admitted.noteTried(record);
    throw new KeyLost(
      `the access key ${record.id} of ${record.platform} was live when it was last read, and the store does not hold it any more`,
    );
  }

  /** The platform of a key by this process's cache alone; null when the key is not in it. */
  platformOf(key: string): PlatformName | null {
    const known = this.#cache.get(idOf(key) ?? '')?.known ?? 'unknown';
    const isIt = known !== 'unknown' && sameHash(hash('sha256', key, 'buffer'), known.sha256);
    return isIt ? known.record.platform : null;
  }

  /** Whether the key with this id still allows the operation, for work that lasts longer than its request. */
  async isGranted(id: string, operation: Operation): Promise<boolean> {
    const key = await this.live(id);
    return key !== null && isGranted(key, operation);
  }

  /** The record of a live key by its id; null when it is unknown, revoked or expired. Throws KeyLost. */
  async live(id: string): Promise<AccessKey | null> {
    const { known, isLost } = this.#remembered(id) ?? (await this.#read(id));
    return known === 'unknown' ? null : this.#liveOf(known.record, isLost);
  }

  /** Null when the key must be read. */
  #remembered(id: string): Remembered | null {
    const entry = this.#cache.get(id);
    if (entry === undefined) return null;
    const now = this.#monotonicMs();
    const seen = this.#documents.recentVersion(COLLECTION);
    if (seen !== null && seen.version === entry.version && now - entry.readMs < REREAD_MS) {
      if (seen.asOfMs > entry.asOfMs)
        this.#cache.set(id, { ...entry, asOfMs: seen.asOfMs, triedMs: seen.asOfMs });
      return entry;
    }
    return now - entry.triedMs < CACHE_MS ? entry : null;
  }

  async #read(id: string): Promise<Remembered> {
    const version = this.#documents.recentVersion(COLLECTION)?.version ?? null;
    const readMs = this.#monotonicMs();
    try {
      const record = await this.#documents.get<AccessKey>(COLLECTION, id);
      const lost = record === undefined ? this.#admitted.lostRecord(id, this.#accepted()) : null;
      if (record !== undefined) this.#note(record);
      const read = {
        known: knownKey(record ?? lost),
        isLost: lost !== null,
        // One that is lost may be back at any moment, and nobody would tell.
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

  /** Remembers a key that was read as long as it is live. */
  #note(record: AccessKey): void {
    if (getKeyStatus(record, this.#now()) === 'live') this.#admitted.noteLive(record, this.#accepted());
    else this.#admitted.noteEnded(record.id);
  }

  /** Which acceptance of the store holds; null while that is not known. */
  #accepted(): string | null {
    return this.#documents.recentVersion(ACCEPTED_REGISTER)?.version ?? null;
  }
}

function requireLifetime(platform: PlatformName, lifetimeMs: number | null): void {
  if (lifetimeMs === null ? isInstallation(platform) : lifetimeMs <= KEY_DAYS_MAX * DAY_MS) return;
  const asked = lifetimeMs === null ? 'for ever' : `for ${Math.ceil(lifetimeMs / DAY_MS)} days`;
  const others = isInstallation(platform) ? '' : '; only keys of "*" may live for ever';
  throw new KeyRefused(
    `a key of ${platform} cannot live ${asked}: it ends after at most ${KEY_DAYS_MAX} days${others}`,
  );
}

/** The id in the text of a key, which is not secret; null for a text of another form. */
export function parseKeyId(text: string): string | null {
  return /^ka_([0-9a-f]{12})_/.exec(text)?.[1] ?? null;
}

function idOf(key: string): string | null {
  return /^ka_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/.exec(key)?.[1] ?? null;
}

function knownKey(record: AccessKey | null): KnownKey | 'unknown' {
  return record === null ? 'unknown' : { record, sha256: Buffer.from(record.sha256, 'hex') };
}

export const KEY_STATUSES = ['live', 'expired', 'revoked'] as const;

type KeyStatus = (typeof KEY_STATUSES)[number];

export function getKeyStatus({ expiresAt, revokedAt }: AccessKey, now: number): KeyStatus {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= now ? 'expired' : 'live';
}

/**
 * Whether the key allows the operation. Operations that such a key may not have are ignored, even if its record names
 * them.
 */
export function isGranted(
  { platform, operations }: Pick<AccessKey, 'platform' | 'operations'>,
  operation: Operation,
): boolean {
  return listGrantable(platform).includes(operation) && addIncludedOperations(operations).includes(operation);
}

/** Adds what each operation includes: the right to change something includes reading it. */
export function addIncludedOperations(operations: readonly Operation[]): readonly Operation[] {
  return OPERATIONS.filter(
    (one) =>
      operations.includes(one) ||
      (one === 'figures' && operations.includes('decisions')) ||
      (one === 'clients:read' && operations.includes('clients')) ||
      (one === 'lists:read' && operations.includes('lists')) ||
      (one === 'rules:read' && operations.includes('rules')),
  );
}

/** In constant time, so that the duration of a refusal says nothing about the hash. */
function sameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
