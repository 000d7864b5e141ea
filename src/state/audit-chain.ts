import { hash, randomBytes } from 'node:crypto';

/** An entry of the audit as it is kept; from its number, the hash of the one before and its body follows its own hash. */
export interface AuditLink {
  /** From 1, without gaps. */
  readonly number: number;
  /** The hash of the entry before; of the first ''. */
  readonly previous: string;
  readonly hash: string;
  /** Nothing in it leads to a payer. */
  readonly body: string;
  /** Null where it is about no payer, or the payer was forgotten. */
  readonly payer: PayerPart | null;
}

/** What leads to a payer. The body has only its digest, which tells nothing once the nonce in the text is gone. */
export interface PayerPart {
  readonly clientHash: string;
  readonly text: string;
}

/** The newest entry: its number was given even if the entry itself is gone. */
export type ChainEnd = Pick<AuditLink, 'number' | 'hash'>;

/** What is noted. */
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

export function linkAfter(end: ChainEnd | null, { at, entry, payer, forgets = [] }: AuditNote): AuditLink {
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

/** Null when it is not what was written. */
export function bodyOf({ body }: Pick<AuditLink, 'body'>): AuditBody | null {
  const read = parsed(body);
  if (typeof read !== 'object' || read === null) return null;
  if (!('at' in read && 'payer' in read && 'forgets' in read && 'entry' in read)) return null;
  const { at, payer, forgets, entry } = read;
  if (typeof at !== 'number' || (payer !== null && typeof payer !== 'string')) return null;
  if (!Array.isArray(forgets)) return null;
  return { at, payer, forgets: forgets.map(Number), entry };
}

/** What does not fit: one sentence for a person. */
export interface AuditFault {
  readonly number: number;
  readonly what: string;
}

/** Follows a chain, oldest entry first, and names what was changed, dropped or swapped. */
export class AuditCheck {
  readonly #keptSince: number;
  readonly #known: ChainEnd | null;
  /** Whose payer is gone, as long as no erasure says so. */
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
