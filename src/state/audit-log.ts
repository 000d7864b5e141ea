import { hash, randomBytes } from 'node:crypto';
import { isJsonObject, parseJsonObject } from '#base/files/json-object.ts';
import { RETENTION } from './retention.ts';
import { StoreUnavailable, UnknownCursor } from './store-errors.ts';

/** An entry of the audit as it is kept; from its number, the hash of the one before and its body follows its own hash. */
export interface AuditLink {
  /** From 1, without gaps. */
  readonly number: number;
  /** The hash of the entry before; of the first ''. */
  readonly previous: string;
  readonly hash: string;
  /** Nothing in it leads to a payer. */
  readonly body: string;
  /** Null when the entry is about no payer, or the payer was forgotten. */
  readonly payer: PayerPart | null;
}

/** What leads to a payer. The body has only its digest, which says nothing once the nonce in the text is gone. */
interface PayerPart {
  readonly clientHash: string;
  readonly text: string;
}

/** The newest entry: its number was given even if the entry itself is gone. */
export type ChainEnd = Pick<AuditLink, 'number' | 'hash'>;

export interface AuditNote {
  /** Epoch ms. */
  readonly at: number;
  readonly entry: unknown;
  readonly payer: { readonly clientHash: string; readonly detail: unknown } | null;
  /** Numbers of the entries whose payer is forgotten. */
  readonly forgets?: readonly number[];
}

interface AuditBody {
  readonly at: number;
  readonly payer: string | null;
  readonly forgets: readonly number[];
  readonly entry: unknown;
}

function linkAfter(end: ChainEnd | null, { at, entry, payer, forgets = [] }: AuditNote): AuditLink {
  const nonce = randomBytes(16).toString('base64url');
  const part = payer && { clientHash: payer.clientHash, text: JSON.stringify([payer.detail, nonce]) };
  const written: AuditBody = { at, payer: part && digestOf(part), forgets, entry };
  const link = {
    number: (end?.number ?? 0) + 1,
    previous: end?.hash ?? '',
    body: JSON.stringify(written),
    payer: part,
  };
  return { ...link, hash: hashOf(link) };
}

/** Null when it is not the text that was written. */
function bodyOf({ body }: Pick<AuditLink, 'body'>): AuditBody | null {
  const { at, payer, forgets, entry } = parseJsonObject(body) ?? {};
  if (typeof at !== 'number' || (payer !== null && typeof payer !== 'string')) return null;
  if (!Array.isArray(forgets) || entry === undefined) return null;
  return { at, payer, forgets: forgets.map(Number), entry };
}

/** What an entry says, with what leads to a payer where that is kept; null when it is not what was written. */
export function toldBy({ body, payer }: Pick<AuditLink, 'body' | 'payer'>) {
  const { at, entry } = bodyOf({ body }) ?? { at: 0, entry: null };
  const part = payer === null ? [{}] : parsed(payer.text);
  const detail: unknown = Array.isArray(part) ? part[0] : null;
  return isJsonObject(entry) && isJsonObject(detail) ? { at, entry: { ...entry, ...detail } } : null;
}

/** What was changed, in one sentence for a person. */
export interface AuditFault {
  readonly number: number;
  readonly what: string;
}

/** Follows a chain, oldest entry first, and names what was changed, dropped or swapped. */
class AuditCheck {
  readonly #keptSince: number;
  readonly #known: ChainEnd | null;
  /** Entries without their payer, as long as no erasure explains it. */
  readonly #unexplained = new Set<number>();
  #before: ChainEnd | null = null;
  entries = 0;
  /** Entries whose payer an erasure forgot. */
  forgotten = 0;

  /** Entries from before `keptSince`, epoch ms, may be gone. `known` is an entry that somebody has written down elsewhere. */
  constructor(keptSince: number, known: ChainEnd | null) {
    this.#keptSince = keptSince;
    this.#known = known;
  }

  take(link: AuditLink): readonly AuditFault[] {
    const { number } = link;
    const body = bodyOf(link);
    const fits = body !== null && hashOf(link) === link.hash;
    const known = this.#known?.number === number ? this.#known : null;
    const whats = [
      this.#place(link, body !== null && body.at <= this.#keptSince),
      fits ? null : `Entry ${number} was changed.`,
      known === null || known.hash === link.hash ? null : `Entry ${number} is not the one that was known.`,
      body === null ? null : this.#payer(link, body),
    ];
    for (const explained of fits ? body.forgets : [])
      if (this.#unexplained.delete(explained)) this.forgotten += 1;
    this.#before = link;
    this.entries += 1;
    return whats.filter((what) => what !== null).map((what) => ({ number, what }));
  }

  /** `newest` is the number that was given last. */
  end(newest: number): readonly AuditFault[] {
    const last = this.#before?.number ?? 0;
    const gone = [...this.#unexplained].map((number) => ({
      number,
      what: `What entry ${number} told of a payer is gone, and no erasure says so.`,
    }));
    const known = this.#known?.number ?? 0;
    const end = Math.max(newest, known);
    return end > last ? [...gone, { number: end, what: missing(last + 1, end) }] : gone;
  }

  #place({ number, previous }: AuditLink, isOld: boolean): string | null {
    const before = this.#before;
    if (before === null) return number === 1 || isOld ? null : missing(1, number - 1);
    if (number > before.number + 1) return missing(before.number + 1, number - 1);
    if (number === before.number + 1 && previous === before.hash) return null;
    return `Entry ${number} does not follow entry ${before.number}.`;
  }

  #payer({ number, payer }: AuditLink, body: AuditBody): string | null {
    if (payer !== null)
      return digestOf(payer) === body.payer ? null : `What entry ${number} tells of a payer was changed.`;
    if (body.payer !== null && body.at > this.#keptSince) this.#unexplained.add(number);
    return null;
  }
}

function missing(from: number, to: number): string {
  return from === to ? `Entry ${from} is missing.` : `Entries ${from} to ${to} are missing.`;
}

function hashOf({ number, previous, body }: Pick<AuditLink, 'number' | 'previous' | 'body'>): string {
  return hash('sha256', `${number}\n${previous}\n${body}`);
}

function digestOf({ clientHash, text }: PayerPart): string {
  return hash('sha256', `${clientHash}\n${text}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** How a store keeps the entries of the audit. */
export interface AuditRows {
  /** Null when no entry was ever written. */
  newest(): Promise<ChainEnd | null>;
  /** False when another entry took the number meanwhile. */
  add(link: AuditLink): Promise<boolean>;
  /** Entries after a number, oldest first. */
  read(after: number, limit: number): Promise<readonly AuditLink[]>;
  /** Numbers of entries that lead to a client. */
  about(clientHash: string): Promise<readonly number[]>;
  forgetPayer(clientHash: string, numbers: readonly number[]): Promise<void>;
  drop(through: number): Promise<void>;
}

/** A writer that loses the race for a number tries again; one writer always wins. */
const TRIES_MAX = 100;

/** Old entries that a new one may remove. */
const DROPPED_MAX = 20;

/**
 * What people and keys did, in the order in which it was noted, each entry chained to the one before. Nothing but age
 * removes one: of those older than RETENTION.auditMs the newest stays, as the end that the others hold on to.
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

  /** Entries after a cursor (null: from the oldest kept), and the place after them. Throws UnknownCursor. */
  async read(after: string | null, limit: number) {
    if (after !== null && !/^\d{1,15}$/.test(after)) throw new UnknownCursor();
    const links = await this.#rows.read(Number(after ?? 0), limit);
    return { links, cursor: links.at(-1)?.number.toString() ?? after };
  }

  /** The entries that lead to a client, oldest first. */
  async *about(clientHash: string): AsyncGenerator<AuditLink> {
    for (const number of await this.#rows.about(clientHash)) {
      const [link] = await this.#rows.read(number - 1, 1);
      if (link?.payer?.clientHash === clientHash) yield link;
    }
  }

  /** The number that was given last; 0 when there is none. */
  async newest(): Promise<number> {
    return (await this.end())?.number ?? 0;
  }

  end(): Promise<ChainEnd | null> {
    return this.#rows.newest();
  }

  /**
   * Notes that a client is forgotten, then removes what leads to it from its entries. Without entries nothing needs
   * to be noted.
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
      if (!(await this.#rows.add(linkAfter(await this.#rows.newest(), note)))) continue;
      await this.#dropOld(note.at - RETENTION.auditMs);
      return;
    }
    throw new StoreUnavailable('too many write to the audit at once');
  }

  async #dropOld(before: number): Promise<void> {
    const oldest = await this.#rows.read(0, DROPPED_MAX);
    const times = oldest.map((link) => (hashOf(link) === link.hash ? (bodyOf(link)?.at ?? null) : null));
    const young = times.findIndex((at) => at !== null && at >= before);
    const untilYoung = young === -1 ? times : times.slice(0, young);
    // The time of a changed entry proves nothing: it goes with the next sound one.
    const old = oldest.slice(0, untilYoung.findLastIndex((at) => at !== null) + 1);
    for (const { number, payer } of old)
      if (payer !== null) await this.#rows.forgetPayer(payer.clientHash, [number]);
    const last = old.at(-2);
    if (last !== undefined) await this.#rows.drop(last.number);
  }
}

const CHECKED_AT_ONCE = 500;

/** Checks the chain of all entries that are kept. `known` is an entry that somebody has written down elsewhere. */
export async function checkedAudit(log: AuditLog, now: number, known: ChainEnd | null = null) {
  const check = new AuditCheck(now - RETENTION.auditMs, known);
  const faults: AuditFault[] = [];
  const newest = await log.newest();
  for (let after: string | null = null; ; ) {
    const { links, cursor } = await log.read(after, CHECKED_AT_ONCE);
    if (links.length === 0) break;
    for (const link of links) faults.push(...check.take(link));
    after = cursor;
  }
  return { check, faults: [...faults, ...check.end(newest)] };
}
