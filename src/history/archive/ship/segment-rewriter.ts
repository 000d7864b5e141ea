import type { Archive, ErasedClientNumbers } from '#history/archive/archive.ts';
import type { ArchiveCommit, ArchiveState, Segment } from '#history/archive/archive-log.ts';
import { formatDay } from '#history/archive/period.ts';
import { type QueryEngine, toNumberOrNull } from '#history/archive/query-engine.ts';
import type { SegmentWriter } from '#history/archive/segment-writer.ts';
import { hasClientRows, TABLE_NAMES } from '#history/archive/tables.ts';
import { findNextMerge } from './next-merge.ts';

type Rewriting = Pick<ArchiveCommit, 'add' | 'remove'>;

/**
 * The longest time, in ms, for which an erasure rewrites files at once, and the largest file that it rewrites.
 * Shipping waits for this, so the rest is rewritten later.
 */
const REWRITING_MS_MAX = 20_000;
const REWRITTEN_BYTES_MAX = 16 * 1024 ** 2;

/**
 * The time, in ms, after which a file of full length that cannot be read is tried again. A file that is too short is
 * noticed at once.
 */
const TRY_AGAIN_MS = 600_000;

/**
 * How long the archive names an erased client's number, in ms. After that the row only says that a client was erased.
 */
const ERASURES_NAMED_MS = 30 * 24 * 3_600_000;

const NAMELESS_SQL = ["'' AS client_number"];

function isOldErasure({ table, to, nameless }: Segment, now: number): boolean {
  return table === 'erasures' && nameless !== true && to < now - ERASURES_NAMED_MS;
}

/** A client's number and a number of rows. */
type ClientRows = readonly [string, number];

function sumByClient(counts: readonly ClientRows[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [client, rows] of counts) sums.set(client, rows + (sums.get(client) ?? 0));
  return sums;
}

/**
 * Rewrites segments without erased clients, and merges small segments into one. A file that cannot be read does not
 * affect the others. Its segment then notes which clients a reader must leave out. The file is rewritten when it can
 * be read again.
 */
export class SegmentRewriter {
  readonly #archive: Archive;
  readonly #duck: QueryEngine;
  readonly #writer: SegmentWriter;
  /** The times, in epoch ms, from which segments that could not be read are tried again, by name. */
  readonly #tryAgainAt = new Map<string, number>();

  constructor(archive: Archive, duck: QueryEngine, writer: SegmentWriter) {
    this.#archive = archive;
    this.#duck = duck;
    this.#writer = writer;
  }

  /**
   * Returns the changes that take clients out of the segments of a platform, and the number of removed rows of each
   * client. A segment is only marked to be read `without` the clients if it cannot be read, if it is too large, if
   * time is over, or if `onlyNoted` is set. It is then among the next to be rewritten.
   */
  async withoutClients(
    state: ArchiveState,
    platform: string,
    clients: ErasedClientNumbers,
    onlyNoted: boolean,
  ): Promise<Rewriting & { readonly rowsRemoved: ReadonlyMap<string, number> }> {
    const add: Segment[] = [];
    const remove: string[] = [];
    const removed: ClientRows[] = [];
    const isErased = `client_hash IN (${clients.join(', ')})`;
    const endMs = performance.now() + REWRITING_MS_MAX;
    const tables = TABLE_NAMES.filter(hasClientRows);
    for (const segment of tables.flatMap((table) => this.#archive.listSegments(state, { table, platform }))) {
      const isLater = onlyNoted || performance.now() > endMs || segment.bytes > REWRITTEN_BYTES_MAX;
      const left = isLater ? 'later' : await this.#rewriteWithout(segment, isErased);
      if (left === 'nothing to remove') continue;
      if (left === 'later') {
        add.push({ ...segment, without: [...new Set([...(segment.without ?? []), ...clients])] });
        continue;
      }
      if (left.segment !== null) add.push(left.segment);
      remove.push(segment.name);
      removed.push(...left.removed);
    }
    return { add, remove, rowsRemoved: sumByClient(removed) };
  }

  /**
   * Returns the segment without the clients, and the number of rows that each had. The segment is null if it held no
   * other clients.
   */
  async #rewriteWithout(segment: Segment, isErased: string) {
    try {
      if ((await this.#archive.makeReadable([segment])).length > 0) return 'later';
      const rows = await this.#duck.rows(
        `SELECT client_hash AS client, count(*) AS n FROM ${this.#archive.createRowsSql([segment])} WHERE ${isErased} GROUP BY client_hash`,
      );
      if (rows.length === 0) return 'nothing to remove';
      const removed = rows.map(({ client, n }): ClientRows => [String(client), toNumberOrNull(n) ?? 0]);
      return { segment: await this.#writer.merge([segment], isErased), removed };
    } catch (error) {
      // Readable rows could not be written, for example to a full disk. The step must be repeated.
      if (await this.#archive.canRead(this.#duck, segment)) throw error;
      return 'later';
    }
  }

  /** Returns the change that replaces some segments by one. Returns null if there is nothing to rewrite. */
  async next(state: ArchiveState, now: number): Promise<Rewriting | null> {
    const add = await this.#findNeedlessMarks(this.#listReadable(state, now));
    if (add.length > 0) return { add, remove: [] };
    for (;;) {
      const parts = this.#findNextParts(state, now);
      if (parts === null) return null;
      try {
        const whole = await this.#mergeToOne(parts, now);
        return { add: whole === null ? [] : [whole], remove: parts.map(({ name }) => name) };
      } catch (error) {
        if (!(await this.#postponeUnreadable(parts, now))) throw error;
      }
    }
  }

  async #mergeToOne(parts: readonly Segment[], now: number): Promise<Segment | null> {
    const isOld = parts.every((segment) => isOldErasure(segment, now));
    const whole = await this.#writer.merge(parts, null, isOld ? NAMELESS_SQL : []);
    const isNameless = isOld || parts.every(({ nameless }) => nameless);
    return whole === null || !isNameless ? whole : { ...whole, nameless: true };
  }

  /**
   * Finds segments whose `without` names only clients that the segment does not hold. Returns them without that mark.
   */
  async #findNeedlessMarks(readable: readonly Segment[]): Promise<readonly Segment[]> {
    const endMs = performance.now() + REWRITING_MS_MAX;
    const found: Segment[] = [];
    for (const { without, ...segment } of readable) {
      if (without === undefined || performance.now() > endMs) continue;
      if ((await this.#archive.makeReadable([segment])).length > 0) continue;
      const held = `SELECT 1 FROM ${this.#archive.createRowsSql([segment])} WHERE client_hash IN (${without.join(', ')}) LIMIT 1`;
      const rows = await this.#duck.rows(held).catch(() => null);
      if (rows?.length === 0) found.push(segment);
    }
    return found;
  }

  #listReadable(state: ArchiveState, now: number): readonly Segment[] {
    return [...state.segments.values()]
      .filter(({ name }) => (this.#tryAgainAt.get(name) ?? 0) <= now)
      .filter((segment) => !this.#archive.isCutOff(segment));
  }

  /**
   * Returns the segments to rewrite next. Segments with erased clients come first, as soon as the file can be read
   * again, then those with the numbers of old erasures, then small segments.
   */
  #findNextParts(state: ArchiveState, now: number): readonly Segment[] | null {
    const readable = this.#listReadable(state, now);
    const noted =
      readable.find(({ without }) => without !== undefined) ??
      readable.find((segment) => isOldErasure(segment, now));
    return noted === undefined ? findNextMerge(readable, formatDay(now)) : [noted];
  }

  /** Postpones segments whose rewriting could not be committed. */
  postpone(names: readonly string[], now: number): void {
    for (const name of names) this.#tryAgainAt.set(name, now + TRY_AGAIN_MS);
  }

  /**
   * Postpones segments that cannot be read. Returns false if all can be read, because something else went wrong then.
   */
  async #postponeUnreadable(segments: readonly Segment[], now: number): Promise<boolean> {
    let isAny = false;
    for (const segment of segments) {
      if (await this.#archive.canRead(this.#duck, segment)) continue;
      this.#tryAgainAt.set(segment.name, now + TRY_AGAIN_MS);
      isAny = true;
    }
    return isAny;
  }
}
