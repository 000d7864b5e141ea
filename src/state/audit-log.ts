import { hash, randomBytes } from 'node:crypto';
import { parseJsonObjectOrNull } from '#base/files/json-object.ts';
import { RETENTION } from './retention.ts';
import { StoreUnavailable, UnknownCursor } from './store-errors.ts';

/** A stored entry of the audit. Its hash is computed from its number, the hash of the previous entry, and its body. */
export interface AuditLink {
  /** Counted from 1 without gaps. */
  readonly number: number;
  /** The hash of the previous entry. Empty for the first entry. */
  readonly previous: string;
  readonly hash: string;
  /** The body contains nothing that identifies a payer. */
  readonly body: string;
  /** Null if the entry is about no payer, or if the payer was forgotten. */
  readonly payer: PayerPart | null;
}

/**
 * The part of an entry that identifies a payer. The body of the entry has only a digest of this part. The text has a
 * random nonce, so the digest reveals nothing once the text is gone.
 */
interface PayerPart {
  readonly clientHash: string;
  readonly text: string;
}

/** The newest entry of the chain. Its number stays taken even if the entry itself is gone. */
export type ChainEnd = Pick<AuditLink, 'number' | 'hash'>;

export interface AuditNote {
  /** Epoch ms. */
  readonly at: number;
  readonly entry: unknown;
  readonly payer: { readonly clientHash: string; readonly detail: unknown } | null;
  /** Numbers of the entries whose payer is forgotten. */
  readonly forgets?: readonly number[];
}

export interface AuditBody {
  readonly at: number;
  readonly payer: string | null;
  readonly forgets: readonly number[];
  readonly entry: unknown;
}

function createLink(end: ChainEnd | null, { at, entry, payer, forgets = [] }: AuditNote): AuditLink {
  const nonce = randomBytes(16).toString('base64url');
  const part = payer && { clientHash: payer.clientHash, text: JSON.stringify([payer.detail, nonce]) };
  const written: AuditBody = { at, payer: part && computePayerPartDigest(part), forgets, entry };
  const link = {
    number: (end?.number ?? 0) + 1,
    previous: end?.hash ?? '',
    body: JSON.stringify(written),
    payer: part,
  };
  return { ...link, hash: computeAuditHash(link) };
}

/** Parses the body of an entry. Returns null if it is not the text that was written. */
export function parseAuditBody({ body }: Pick<AuditLink, 'body'>): AuditBody | null {
  const { at, payer, forgets, entry } = parseJsonObjectOrNull(body) ?? {};
  if (typeof at !== 'number' || (payer !== null && typeof payer !== 'string')) return null;
  if (!Array.isArray(forgets) || entry === undefined) return null;
  return { at, payer, forgets: forgets.map(Number), entry };
}

export function computeAuditHash({
  number,
  previous,
  body,
}: Pick<AuditLink, 'number' | 'previous' | 'body'>): string {
  return hash('sha256', `${number}\n${previous}\n${body}`);
}

export function computePayerPartDigest({ clientHash, text }: PayerPart): string {
  return hash('sha256', `${clientHash}\n${text}`);
}

/** How a store keeps the entries of the audit. */
export interface AuditRows {
  /** Returns the newest entry. Returns null if no entry was ever written. */
  newest(): Promise<ChainEnd | null>;
  /** Adds an entry. Returns false if another entry took the number first. */
  add(link: AuditLink): Promise<boolean>;
  /** Reads entries after a number, the oldest first. */
  read(after: number, limit: number): Promise<readonly AuditLink[]>;
  /** Lists the numbers of the entries whose payer part names a client. */
  about(clientHash: string): Promise<readonly number[]>;
  forgetPayer(clientHash: string, numbers: readonly number[]): Promise<void>;
  drop(through: number): Promise<void>;
}

/**
 * If another writer has taken the number, the writer tries again with the next one. At each try one of the writers
 * succeeds.
 */
const TRIES_MAX = 100;

/** How many old entries a new one removes at most. */
const DROPPED_MAX = 20;

/**
 * What people and keys did, in the sequence in which it was noted. Each entry is chained to the previous one. Only
 * age removes entries. The newest of the entries older than RETENTION.auditMs stays, because the next entry refers to
 * its hash.
 */
export class AuditLog {
  readonly #rows: AuditRows;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(rows: AuditRows) {
    this.#rows = rows;
  }

  append(note: AuditNote): Promise<void> {
    const turn = this.#turn.then(() => this.#append(note));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /**
   * Reads the entries after a cursor. Returns them with the cursor for the next read. A null cursor starts at the
   * oldest kept entry. Throws UnknownCursor.
   */
  async read(after: string | null, limit: number) {
    if (after !== null && !/^\d{1,15}$/.test(after)) throw new UnknownCursor();
    const links = await this.#rows.read(Number(after ?? 0), limit);
    return { links, cursor: links.at(-1)?.number.toString() ?? after };
  }

  /** Reads the entries whose payer part names a client, the oldest first. */
  async *about(clientHash: string): AsyncGenerator<AuditLink> {
    for (const number of await this.#rows.about(clientHash)) {
      const [link] = await this.#rows.read(number - 1, 1);
      if (link?.payer?.clientHash === clientHash) yield link;
    }
  }

  /** Returns the number that was given last. Returns 0 if there is none. */
  async newest(): Promise<number> {
    return (await this.end())?.number ?? 0;
  }

  end(): Promise<ChainEnd | null> {
    return this.#rows.newest();
  }

  /**
   * Notes that a client is forgotten, then removes the payer parts of the client's entries. If the client has no
   * entries, the note is written only if `evenFromNone` is true.
   */
  async forget(
    clientHash: string,
    note: Pick<AuditNote, 'at' | 'entry'>,
    evenFromNone: boolean,
  ): Promise<void> {
    const forgets = await this.#rows.about(clientHash);
    if (evenFromNone || forgets.length > 0) await this.append({ ...note, payer: null, forgets });
    await this.#rows.forgetPayer(clientHash, forgets);
  }

  async #append(note: AuditNote): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      if (!(await this.#rows.add(createLink(await this.#rows.newest(), note)))) continue;
      await this.#dropOld(note.at - RETENTION.auditMs);
      return;
    }
    throw new StoreUnavailable('too many write to the audit at once');
  }

  async #dropOld(before: number): Promise<void> {
    const oldest = await this.#rows.read(0, DROPPED_MAX);
    const times = oldest.map((link) =>
      computeAuditHash(link) === link.hash ? (parseAuditBody(link)?.at ?? null) : null,
    );
    const young = times.findIndex((at) => at !== null && at >= before);
    const untilYoung = young === -1 ? times : times.slice(0, young);
    // The time in an entry that somebody changed cannot be trusted, so the entry is removed together with the next
    // sound one.
    const old = oldest.slice(0, untilYoung.findLastIndex((at) => at !== null) + 1);
    for (const { number, payer } of old)
      if (payer !== null) await this.#rows.forgetPayer(payer.clientHash, [number]);
    const last = old.at(-2);
    if (last !== undefined) await this.#rows.drop(last.number);
  }
}
