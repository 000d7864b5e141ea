import {
  AuditCheck,
  type AuditFault,
  type AuditLink,
  type AuditNote,
  bodyOf,
  type ChainEnd,
  linkAfter,
} from './audit-chain.ts';
import { RETENTION } from './retention.ts';
import { StoreUnavailable, UnknownCursor } from './store-errors.ts';

/** How a store keeps the entries of the audit. */
export interface AuditRows {
  /** Null when none was ever written. */
  newest(): Promise<ChainEnd | null>;
  /** False when another entry has its number by now. */
  add(link: AuditLink): Promise<boolean>;
  /** Entries after a number, oldest first. */
  read(after: number, limit: number): Promise<readonly AuditLink[]>;
  /** Numbers of entries that lead to a client. */
  about(clientHash: string): Promise<readonly number[]>;
  /** Takes from entries what leads to a client. */
  forgetPayer(clientHash: string, numbers: readonly number[]): Promise<void>;
  /** Removes the entries up to and with a number. */
  drop(through: number): Promise<void>;
}

export interface AuditLogPage {
  readonly links: readonly AuditLink[];
  /** The place after the last entry; null when there is none yet. */
  readonly cursor: string | null;
}

/** Whoever loses a race for a number tries again; one of those who race always wins. */
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

  /** Entries after a cursor (null: from the oldest kept). Throws UnknownCursor. */
  async read(after: string | null, limit: number): Promise<AuditLogPage> {
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
    return (await this.#rows.newest())?.number ?? 0;
  }

  /** Notes that a client is forgotten, then takes from the entries about it what leads to it. Without entries it may go unnoted. */
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
    const young = oldest.findIndex((link) => (bodyOf(link)?.at ?? Number.POSITIVE_INFINITY) >= before);
    const old = young === -1 ? oldest : oldest.slice(0, young);
    for (const { number, payer } of old)
      if (payer !== null) await this.#rows.forgetPayer(payer.clientHash, [number]);
    const last = old.at(-2);
    if (last !== undefined) await this.#rows.drop(last.number);
  }
}

const CHECKED_AT_ONCE = 500;

/** Follows all that is kept of the audit. `known` is an entry that somebody has written down elsewhere. */
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
