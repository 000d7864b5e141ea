import { hash, randomBytes } from 'node:crypto';
import {
  type AccessKeys,
  type GrantableOperation,
  INSTALLATION_PLATFORM,
  isGranted,
} from '#checkout/access/access-keys.ts';
import {
  type Actor,
  type Caller,
  type CredentialRef,
  toKeyActor,
  toKeyCaller,
} from '#checkout/access/caller.ts';
import { isPlatformName, type PlatformName } from '#decision/payer/client-key.ts';
import { type Documents, mapInBatches } from '#state/documents.ts';
import { createPersonActor } from './actors.ts';
import type { Person } from './identity-provider.ts';
import { listOperationsAtPlatform, type Role, type RoleMapping } from './roles.ts';

/** The signed-in user: the holder of a key, or a person. */
export type SignedInUser =
  | { readonly kind: 'key'; readonly keyId: string }
  | ({ readonly kind: 'person' } & Person);

/** A session in the store. Its id is the hash of its secret. */
interface SessionRecord {
  readonly id: string;
  readonly who: SignedInUser;
  /** The end of the session, in epoch ms. */
  readonly endsAt: number;
}

/**
 * The last use of a session. It is stored apart from the session, so that noting a use cannot restore a session that
 * was just ended.
 */
interface SessionUse {
  /** The time of the use, in epoch ms. */
  readonly at: number;
}

export interface Session {
  /** The platforms where the user may do something. `*` stands for all of them. */
  readonly platforms: readonly PlatformName[];
  /**
   * Returns the caller, with what the user may do at a platform. If `platform` is null, the first of the user's
   * platforms is taken. Returns null if the user may do nothing at that platform.
   */
  readonly getCaller: (platform: string | null) => Caller | null;
}

/** A user who is signed in, in one browser or in several. */
interface SignedInPerson {
  readonly actor: Actor;
  /** The role at each platform. Null if the user signed in with a key. */
  readonly access: readonly { readonly platform: PlatformName; readonly role: Role | null }[];
  /** The user's sessions, newest first. Times are in epoch ms. */
  readonly sessions: readonly {
    readonly id: string;
    readonly beganAt: number;
    /** The last use, noted at most once a minute. */
    readonly usedAt: number;
    readonly endsAt: number;
  }[];
}

const SESSIONS = 'sessions';
const USES = 'session-uses';

/** A session ends after this time without use. */
const IDLE_MS_MAX = 30 * 60_000;
/** A session ends after this time, however much it is used. */
const SESSION_MS_MAX = 12 * 3600_000;
const NOTE_USE_EVERY_MS = 60_000;

/** The most sessions of one user. A further session ends the oldest. */
const SESSIONS_MAX = 20;

/** The sessions of people who signed in. Only the browser keeps the secret of a session. */
export class Sessions {
  readonly #documents: Documents;
  readonly #keys: AccessKeys;
  /** The configured roles, and the claims that give them. */
  readonly roles: readonly RoleMapping[];
  readonly #now: () => number;

  constructor(documents: Documents, keys: AccessKeys, roles: readonly RoleMapping[], now: () => number) {
    this.#documents = documents;
    this.#keys = keys;
    this.roles = roles;
    this.#now = now;
  }

  /** Starts a session and returns its secret. */
  async start(who: SignedInUser): Promise<string> {
    const others = await this.#of(who);
    const oldest = others.toSorted((a, b) => b.endsAt - a.endsAt).slice(SESSIONS_MAX - 1);
    for (const { id } of oldest) await this.#remove(id);
    const secret = randomBytes(32).toString('base64url');
    const id = hashSecret(secret);
    const record: SessionRecord = { id, who, endsAt: this.#now() + SESSION_MS_MAX };
    await this.#noteUse(id);
    await this.#documents.set(SESSIONS, id, record, SESSION_MS_MAX);
    return secret;
  }

  /** Finds a session. Returns null if the session is unknown or has ended, or if its key or role has ended. */
  find(secret: string): Promise<Session | null> {
    return this.#find(hashSecret(secret));
  }

  /** Tells whether a credential still allows an operation, for work that takes longer than its request. */
  async isGranted(
    { kind, id }: CredentialRef,
    platform: PlatformName,
    operation: GrantableOperation,
  ): Promise<boolean> {
    if (kind === 'key') return this.#keys.isGranted(id, operation);
    const caller = (await this.#find(id))?.getCaller(platform) ?? null;
    return caller !== null && isGranted(caller, operation);
  }

  /** Ends this session, or all sessions of the same user. Returns how many ended. */
  async end(secret: string, which: 'this' | 'all'): Promise<number> {
    const record = await this.#documents.get<SessionRecord>(SESSIONS, hashSecret(secret));
    if (record === undefined) return 0;
    const ending = which === 'this' ? [record] : await this.#of(record.who);
    for (const { id } of ending) await this.#remove(id);
    return ending.length;
  }

  /** Lists the signed-in users whom a platform may know, sorted by name. */
  async listSignedIn(platform: PlatformName): Promise<readonly SignedInPerson[]> {
    const records = await this.#documents.list<SessionRecord>(SESSIONS);
    const newestFirst = records.toSorted((a, b) => b.endsAt - a.endsAt);
    const each = (await mapInBatches(newestFirst, (record) => this.#personOf(record))).flat();
    return [...Map.groupBy(each, ({ actor }) => actor.id).values()]
      .map((same) => selectVisible(platform, same))
      .filter((same) => same.length > 0)
      .map((same) => same.reduce(mergePeople))
      .toSorted((a, b) => a.actor.text.localeCompare(b.actor.text));
  }

  /** Ends the sessions of a user whom the platform may know, at all platforms. Returns how many ended. */
  async endOf(actorId: string, platform: PlatformName): Promise<number> {
    const person = (await this.listSignedIn(platform)).find(({ actor }) => actor.id === actorId);
    if (person === undefined) return 0;
    for (const { id } of person.sessions) await this.#remove(id);
    return person.sessions.length;
  }

  /** Returns the user of a session as a list. The list is empty if the session has ended. */
  async #personOf({ id, who, endsAt }: SessionRecord): Promise<readonly SignedInPerson[]> {
    const use = await this.#documents.get<SessionUse>(USES, id);
    if (use === undefined || !isOpen(endsAt, use, this.#now())) return [];
    const sessions = [{ id, beganAt: endsAt - SESSION_MS_MAX, usedAt: use.at, endsAt }];
    if (who.kind === 'person') {
      const access = this.#rolesOf(who);
      return access.length === 0 ? [] : [{ actor: createPersonActor(who), access, sessions }];
    }
    const key = await this.#keys.findLive(who.keyId);
    if (key === null) return [];
    return [{ actor: toKeyActor(key), access: [{ platform: key.platform, role: null }], sessions }];
  }

  /** Returns the person's roles that are still configured. */
  #rolesOf({ items }: Person): readonly RoleMapping[] {
    return this.roles.filter(({ item }) => items.includes(item));
  }

  async #find(id: string): Promise<Session | null> {
    const record = await this.#live(id);
    if (record === null) return null;
    const { who } = record;
    if (who.kind === 'person') return this.#sessionOf(record, who);
    const key = await this.#keys.findLive(who.keyId);
    if (key === null) return null;
    const caller = toKeyCaller(key);
    const getCaller = (platform: string | null): Caller | null => {
      if (platform === null || platform === key.platform) return caller;
      return coversPlatform([key.platform], platform) ? { ...caller, platform } : null;
    };
    return { platforms: [key.platform], getCaller };
  }

  async #sessionOf({ id, endsAt }: SessionRecord, person: Person): Promise<Session | null> {
    const roles = this.#rolesOf(person);
    const platforms = [...new Set(roles.map(({ platform }) => platform))];
    const [first] = platforms;
    if (first === undefined) return null;
    const getCaller = (name: string | null): Caller | null => {
      const platform = name ?? first;
      if (!coversPlatform(platforms, platform)) return null;
      return {
        actor: createPersonActor(person),
        platform,
        operations: listOperationsAtPlatform(roles, platform),
        credential: { kind: 'session', id },
        expiresAt: new Date(endsAt).toISOString(),
      };
    };
    return { platforms, getCaller };
  }

  async #live(id: string): Promise<SessionRecord | null> {
    const [record, use] = await Promise.all([
      this.#documents.get<SessionRecord>(SESSIONS, id),
      this.#documents.get<SessionUse>(USES, id),
    ]);
    const now = this.#now();
    if (record === undefined || use === undefined || !isOpen(record.endsAt, use, now)) return null;
    if (now - use.at >= NOTE_USE_EVERY_MS) await this.#noteUse(id);
    return record;
  }

  #noteUse(id: string): Promise<void> {
    const use: SessionUse = { at: this.#now() };
    return this.#documents.set(USES, id, use, IDLE_MS_MAX);
  }

  /** Lists the sessions of a user. Listing also makes the store forget the names of expired documents. */
  async #of(who: SignedInUser): Promise<readonly SessionRecord[]> {
    const [records] = await Promise.all([
      this.#documents.list<SessionRecord>(SESSIONS),
      this.#documents.list<SessionUse>(USES),
    ]);
    return records.filter((record) => getUserId(record.who) === getUserId(who));
  }

  async #remove(id: string): Promise<void> {
    await this.#documents.delete(SESSIONS, id);
    await this.#documents.delete(USES, id);
  }
}

function isOpen(endsAt: number, { at }: SessionUse, now: number): boolean {
  return now < endsAt && now - at < IDLE_MS_MAX;
}

function mergePeople(one: SignedInPerson, other: SignedInPerson): SignedInPerson {
  const access = [...one.access, ...other.access].map(
    (each) => [`${each.role}@${each.platform}`, each] as const,
  );
  return { ...one, access: [...new Map(access).values()], sessions: [...one.sessions, ...other.sessions] };
}

/**
 * Returns the part of a user's sessions that a platform may know. A platform may not know the users of the whole
 * installation. The installation may know all users.
 */
function selectVisible(
  platform: PlatformName,
  sessions: readonly SignedInPerson[],
): readonly SignedInPerson[] {
  if (platform === INSTALLATION_PLATFORM) return sessions;
  if (sessions.some(({ access }) => access.some((one) => one.platform === INSTALLATION_PLATFORM))) return [];
  return sessions
    .map((one) => ({ ...one, access: one.access.filter((each) => each.platform === platform) }))
    .filter(({ access }) => access.length > 0);
}

function coversPlatform(platforms: readonly PlatformName[], name: string): name is PlatformName {
  return (
    platforms.some((one) => one === name) ||
    (platforms.includes(INSTALLATION_PLATFORM) && isPlatformName(name))
  );
}

function getUserId(who: SignedInUser): string {
  return who.kind === 'key' ? `key ${who.keyId}` : createPersonActor(who).id;
}

function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}
