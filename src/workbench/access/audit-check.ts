import { isJsonObject } from '#base/files/json-object.ts';
import {
  type AuditBody,
  type AuditLink,
  type AuditLog,
  type ChainEnd,
  computeAuditHash,
  computePayerPartDigest,
  parseAuditBody,
} from '#state/audit-log.ts';
import { RETENTION } from '#state/retention.ts';

/**
 * Reads the entry of a link, with its part about a payer if that part is kept. Returns null if the entry cannot be
 * read, because it was changed.
 */
export function parseAuditLinkEntry({ body, payer }: Pick<AuditLink, 'body' | 'payer'>) {
  const { at, entry } = parseAuditBody({ body }) ?? { at: 0, entry: null };
  const part = payer === null ? [{}] : parseJson(payer.text);
  const detail: unknown = Array.isArray(part) ? part[0] : null;
  return isJsonObject(entry) && isJsonObject(detail) ? { at, entry: { ...entry, ...detail } } : null;
}

/** A change to the chain, described in one sentence for people. */
export interface AuditFault {
  readonly number: number;
  readonly what: string;
}

/** Follows a chain from the oldest entry on, and names entries that were changed, dropped or swapped. */
class AuditCheck {
  readonly #keptSince: number;
  readonly #known: ChainEnd | null;
  /** The numbers of entries that lack their part about a payer, while no erasure has explained this so far. */
  readonly #unexplained = new Set<number>();
  #before: ChainEnd | null = null;
  entries = 0;
  /** How many entries lack their part about a payer because of an erasure. */
  forgotten = 0;

  /** Entries from before `keptSince` (epoch ms) may be missing. `known` is an entry that was written down elsewhere. */
  constructor(keptSince: number, known: ChainEnd | null) {
    this.#keptSince = keptSince;
    this.#known = known;
  }

  take(link: AuditLink): readonly AuditFault[] {
    const { number } = link;
    const body = parseAuditBody(link);
    const fits = body !== null && computeAuditHash(link) === link.hash;
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

  /**
   * Returns the faults that show at the end of the chain. `newest` is the number that was given to the newest entry.
   */
  end(newest: number): readonly AuditFault[] {
    const last = this.#before?.number ?? 0;
    const gone = [...this.#unexplained].map((number) => ({
      number,
      what: `What entry ${number} told of a payer is gone, and no erasure says so.`,
    }));
    const known = this.#known?.number ?? 0;
    const end = Math.max(newest, known);
    return end > last ? [...gone, { number: end, what: formatMissing(last + 1, end) }] : gone;
  }

  #place({ number, previous }: AuditLink, isOld: boolean): string | null {
    const before = this.#before;
    if (before === null) return number === 1 || isOld ? null : formatMissing(1, number - 1);
    if (number > before.number + 1) return formatMissing(before.number + 1, number - 1);
    if (number === before.number + 1 && previous === before.hash) return null;
    return `Entry ${number} does not follow entry ${before.number}.`;
  }

  #payer({ number, payer }: AuditLink, body: AuditBody): string | null {
    if (payer !== null)
      return computePayerPartDigest(payer) === body.payer
        ? null
        : `What entry ${number} tells of a payer was changed.`;
    if (body.payer !== null && body.at > this.#keptSince) this.#unexplained.add(number);
    return null;
  }
}

function formatMissing(from: number, to: number): string {
  return from === to ? `Entry ${from} is missing.` : `Entries ${from} to ${to} are missing.`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const CHECKED_AT_ONCE = 500;

/** Checks the chain of all kept entries. `known` is an entry that was written down elsewhere. */
export async function checkAuditChain(log: AuditLog, now: number, known: ChainEnd | null = null) {
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
