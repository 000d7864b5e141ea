import { hash, randomBytes } from 'node:crypto';
import type { Documents } from '../state/documents.ts';
import type { AccessKeys } from './access-keys.ts';
import { type Caller, callerOfKey } from './caller.ts';

/** What is kept of a session, under the hash of its secret. */
interface SessionRecord {
  readonly id: string;
  readonly keyId: string;
  /** Epoch ms. */
  readonly endsAt: number;
}

/** Apart from the session: noting a use can then never bring back one that was just ended. */
interface SessionUse {
  /** Epoch ms. */
  readonly at: number;
}

const SESSIONS = 'sessions';
const USES = 'session-uses';

/** A session that nobody used for this long has ended. */
const IDLE_MS_MAX = 30 * 60_000;
/** However much it is used. */
const SESSION_MS_MAX = 12 * 3600_000;
const NOTE_USE_EVERY_MS = 60_000;

/** With the next one the oldest ends. */
const SESSIONS_MAX = 20;

/** What people who signed in are known by: a secret that only their browser keeps, until it ends or is ended. */
export class Sessions {
  readonly #documents: Documents;
  readonly #keys: AccessKeys;
  readonly #now: () => number;

  constructor(documents: Documents, keys: AccessKeys, now: () => number) {
    this.#documents = documents;
    this.#keys = keys;
    this.#now = now;
  }

  /** The secret of a new session of whoever holds the key. */
  async start(keyId: string): Promise<string> {
    const others = await this.#of(keyId);
    const oldest = others.toSorted((a, b) => b.endsAt - a.endsAt).slice(SESSIONS_MAX - 1);
    for (const { id } of oldest) await this.#remove(id);
    const secret = randomBytes(32).toString('base64url');
    const id = idOf(secret);
    const record: SessionRecord = { id, keyId, endsAt: this.#now() + SESSION_MS_MAX };
    await this.#noteUse(id);
    await this.#documents.set(SESSIONS, id, record, SESSION_MS_MAX);
    return secret;
  }

  /** Who signed in; null when the session is not known, has ended, or its key has. */
  async callerOf(secret: string): Promise<Caller | null> {
    const record = await this.#live(idOf(secret));
    if (record === null) return null;
    const key = await this.#keys.live(record.keyId);
    return key === null ? null : callerOfKey(key);
  }

  /** Ends the session, or all of the same key; gives how many ended. */
  async end(secret: string, which: 'this' | 'all'): Promise<number> {
    const record = await this.#documents.get<SessionRecord>(SESSIONS, idOf(secret));
    if (record === undefined) return 0;
    const ending = which === 'this' ? [record] : await this.#of(record.keyId);
    for (const { id } of ending) await this.#remove(id);
    return ending.length;
  }

  async #live(id: string): Promise<SessionRecord | null> {
    const [record, use] = await Promise.all([
      this.#documents.get<SessionRecord>(SESSIONS, id),
      this.#documents.get<SessionUse>(USES, id),
    ]);
    const now = this.#now();
    if (record === undefined || use === undefined) return null;
    if (now >= record.endsAt || now - use.at >= IDLE_MS_MAX) return null;
    if (now - use.at >= NOTE_USE_EVERY_MS) await this.#noteUse(id);
    return record;
  }

  #noteUse(id: string): Promise<void> {
    const use: SessionUse = { at: this.#now() };
    return this.#documents.set(USES, id, use, IDLE_MS_MAX);
  }

  /** Listing also makes the store forget the names of what has expired. */
  async #of(keyId: string): Promise<readonly SessionRecord[]> {
    const [records] = await Promise.all([
      this.#documents.list<SessionRecord>(SESSIONS),
      this.#documents.list<SessionUse>(USES),
    ]);
    return records.filter((record) => record.keyId === keyId);
  }

  async #remove(id: string): Promise<void> {
    await this.#documents.delete(SESSIONS, id);
    await this.#documents.delete(USES, id);
  }
}

function idOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}
