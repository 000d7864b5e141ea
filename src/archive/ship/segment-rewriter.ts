import type { Archive, ErasedClients } from '../archive.ts';
import type { ArchiveState, Commit, Segment } from '../archive-log.ts';
import { type Duck, numberOf } from '../duck.ts';
import { isAboutClients, TABLE_NAMES } from '../tables.ts';
import { nextMerge } from './compaction.ts';
import { dayOf } from './row-drafts.ts';
import type { SegmentWriter } from './segment-writer.ts';

type Rewriting = Pick<Commit, 'add' | 'remove'>;

/** When a file of full length that cannot be read is tried again, ms; a shorter one is noticed at once. */
const TRY_AGAIN_MS = 600_000;

/** How long the archive names an erased client's number, ms; then only that somebody was erased. */
export const ERASURES_NAMED_MS = 30 * 24 * 3_600_000;

const NAMELESS_SQL = ["'' AS client_number"];

function isOldErasure({ table, to, nameless }: Segment, now: number): boolean {
  return table === 'erasures' && nameless !== true && to < now - ERASURES_NAMED_MS;
}

/** A client's number and a count of rows. */
type ClientRows = readonly [string, number];

function sumsOf(counts: readonly ClientRows[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [client, rows] of counts) sums.set(client, rows + (sums.get(client) ?? 0));
  return sums;
}

/**
 * Writes segments anew: without clients who were erased, and many small ones as one. A file that cannot be read harms
 * only itself. Whom it is to be without is noted on its segment, and it is rewritten once it can be read again.
 */
export class SegmentRewriter {
  readonly #archive: Archive;
  readonly #duck: Duck;
  readonly #writer: SegmentWriter;
  /** When to try segments again that could not be read, by name, epoch ms. */
  readonly #tryAgainAt = new Map<string, number>();

  constructor(archive: Archive, duck: Duck, writer: SegmentWriter) {
    this.#archive = archive;
    this.#duck = duck;
    this.#writer = writer;
  }

  /** The segments of a platform without some clients, and how many rows of each are gone as far as they could be read. */
  async withoutClients(
    state: ArchiveState,
    platform: string,
    clients: ErasedClients,
  ): Promise<Rewriting & { readonly rowsRemoved: ReadonlyMap<string, number> }> {
    const add: Segment[] = [];
    const remove: string[] = [];
    const removed: ClientRows[] = [];
    const isErased = `client_hash IN (${clients.join(', ')})`;
    for (const table of TABLE_NAMES.filter(isAboutClients)) {
      for (const segment of this.#archive.segments(state, { table, platform })) {
        const left = await this.#leftOf(segment, isErased);
        if (left === 'nothing to remove') continue;
        if (left === 'unreadable') {
          add.push({ ...segment, without: [...new Set([...(segment.without ?? []), ...clients])] });
          continue;
        }
        if (left.segment !== null) add.push(left.segment);
        remove.push(segment.name);
        removed.push(...left.removed);
      }
    }
    return { add, remove, rowsRemoved: sumsOf(removed) };
  }

  /** What a segment is without some clients, null when it has no others, and how many rows of each it had. */
  async #leftOf(segment: Segment, isErased: string) {
    try {
      if ((await this.#archive.bring([segment])).length > 0) return 'unreadable';
      const rows = await this.#duck.rows(
        `SELECT client_hash AS client, count(*) AS n FROM ${this.#archive.source([segment])} WHERE ${isErased} GROUP BY client_hash`,
      );
      if (rows.length === 0) return 'nothing to remove';
      const removed = rows.map(({ client, n }): ClientRows => [String(client), numberOf(n) ?? 0]);
      return { segment: await this.#writer.merge([segment], isErased), removed };
    } catch (error) {
      // Readable rows could not be written, for example to a full disk: the step must be repeated.
      if (await this.#archive.canRead(this.#duck, segment)) throw error;
      return 'unreadable';
    }
  }

  /** One segment in the place of others; null when there is nothing to rewrite. */
  async next(state: ArchiveState, now: number): Promise<Rewriting | null> {
    for (;;) {
      const parts = this.#nextParts(state, now);
      if (parts === null) return null;
      try {
        const whole = await this.#asOne(parts, now);
        return { add: whole === null ? [] : [whole], remove: parts.map(({ name }) => name) };
      } catch (error) {
        if (!(await this.#setAside(parts, now))) throw error;
      }
    }
  }

  async #asOne(parts: readonly Segment[], now: number): Promise<Segment | null> {
    const isOld = parts.every((segment) => isOldErasure(segment, now));
    const whole = await this.#writer.merge(parts, null, isOld ? NAMELESS_SQL : []);
    const isNameless = isOld || parts.every(({ nameless }) => nameless);
    return whole === null || !isNameless ? whole : { ...whole, nameless: true };
  }

  /** Who was erased goes first, as soon as the file is back; then the numbers of those erased long ago, and what is small. */
  #nextParts(state: ArchiveState, now: number): readonly Segment[] | null {
    const readable = [...state.segments.values()]
      .filter(({ name }) => (this.#tryAgainAt.get(name) ?? 0) <= now)
      .filter((segment) => this.#archive.isWhole(segment));
    const noted =
      readable.find(({ without }) => without !== undefined) ??
      readable.find((segment) => isOldErasure(segment, now));
    return noted === undefined ? nextMerge(readable, dayOf(now)) : [noted];
  }

  /** Leaves those for later that cannot be read; false when all can, so that something else went wrong. */
  async #setAside(segments: readonly Segment[], now: number): Promise<boolean> {
    let isAny = false;
    for (const segment of segments) {
      if (await this.#archive.canRead(this.#duck, segment)) continue;
      this.#tryAgainAt.set(segment.name, now + TRY_AGAIN_MS);
      isAny = true;
    }
    return isAny;
  }
}
