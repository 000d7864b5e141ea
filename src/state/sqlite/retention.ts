import { type StatsFs, statfsSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { ClockJumps } from '#state/clock-jumps.ts';
import { RETENTION } from '#state/retention.ts';
import { repeatWithinLockTime } from './group-commit.ts';
import type { JournalLossesAndErasures } from './journal.ts';
import { JournalIndexWriter } from './journal-index.ts';
import type { JournalTable } from './journal-table.ts';
import type { SqliteFileAccess } from './open-file.ts';

/** The tables with an index by the time at which rows expire. */
const INDEXED = ['orders', 'documents'] as const;

/**
 * The tables in which a verdict writes rows or extends their life. An index by time would be a second row to write
 * each time.
 */
const LOOKED_THROUGH = ['clients', 'claims', 'sightings', 'device_verdicts', 'tallies'] as const;

/**
 * The number of rows of each table that are removed at once. That takes about a millisecond, in which no request is
 * served.
 */
const BITE_ROWS = 200;

/** A table without an index is read with shorter pauses while a batch of its rows has more expired ones than this. */
const STALE_ROWS_MAX = 20;

/** The number of pages that are given back to the disk at once. */
const BITE_PAGES = 400;

/**
 * SQLite uses free pages again. Pages are given back to the disk only while more pages than this, and more than a
 * tenth of the file, are free.
 */
const FREE_PAGES_MAX = 2000;
const FREE_SHARE_MAX = 0.1;

/** If the free space is below both of these limits, the journal is shortened to leave room for the payers' states. */
const DISK_FREE_BYTES_MIN = 2e9;
const DISK_FREE_SHARE_MIN = 0.1;

/** With a batch every 50 ms, up to 4,000 rows of each table are removed a second, which is more than verdicts write. */
const NEXT_BITE_MS = 50;
const LOOK_INTERVAL_MS = 1000;

/** Removes data past its retention, writes the journal's index, and returns free pages to the disk. */
export class SqliteRetention {
  readonly #file: SqliteFileAccess;
  readonly #folder: string;
  readonly #indexing: JournalIndexWriter;
  #removals: readonly Removal[];
  #timer: NodeJS.Timeout;
  #stopped = false;

  /** `folder` is the file's folder. */
  constructor(
    file: SqliteFileAccess,
    journal: JournalTable,
    losses: JournalLossesAndErasures,
    folder: string,
    jumps: Pick<ClockJumps, 'isSettled'>,
  ) {
    const { db } = file;
    this.#folder = folder;
    this.#file = file;
    this.#indexing = new JournalIndexWriter(journal, file.readPage);
    this.#removals = [
      ...[
        ...INDEXED.map((table) => createRemovalByTime(db, table)),
        ...LOOKED_THROUGH.map((table) => createRemovalByKey(db, table)),
        (nowMs: number) => journal.removeOld(nowMs),
      ].map(
        (remove): Removal =>
          (nowMs) =>
            jumps.isSettled() && remove(nowMs),
      ),
      () => journal.removeOldIndex(),
      () => this.#pushOut(journal, losses),
      () => this.#indexing.write(),
      createPageRemoval(db),
    ];
    this.#timer = this.#after(LOOK_INTERVAL_MS);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#bite(), ms).unref();
  }

  #bite(): void {
    if (this.#stopped) return;
    void this.#indexing.read();
    this.#file
      .write(() => this.#removeSome())
      .then(
        (more) => {
          this.#timer = this.#after(more ? NEXT_BITE_MS : LOOK_INTERVAL_MS);
        },
        () => {
          // The disk is full or another process writes. The work is tried again.
          this.#timer = this.#after(LOOK_INTERVAL_MS);
        },
      );
  }

  /**
   * Removes rows from each table in turn, from where the last batch ended. Returns whether there is more to be done.
   */
  #removeSome(): boolean {
    const now = this.#file.clock();
    let more = false;
    let left = this.#removals.length;
    const isCut = repeatWithinLockTime(() => {
      const [next, ...others] = this.#removals;
      if (next === undefined || left === 0) return false;
      this.#removals = [...others, next];
      if (next(now)) more = true;
      left--;
      return left > 0;
    });
    return isCut || more;
  }

  /** Removes entries from a journal that is too long, and notes the loss. */
  #pushOut(journal: JournalTable, losses: JournalLossesAndErasures): boolean {
    const isRoomy = hasRoomForJournal(statfsSync(this.#folder));
    const lost = journal.pushOut(isRoomy ? RETENTION.journalEntries : RETENTION.journalEntriesMin);
    if (lost !== null) losses.add(lost);
    return lost !== null;
  }
}

/** Whether a disk has room for a long journal. */
export function hasRoomForJournal({
  bavail,
  blocks,
  bsize,
}: Pick<StatsFs, 'bavail' | 'blocks' | 'bsize'>): boolean {
  return bavail * bsize >= DISK_FREE_BYTES_MIN || bavail >= blocks * DISK_FREE_SHARE_MIN;
}

/** Removes a batch of rows that have expired by `nowMs`, epoch ms. Returns whether there is probably more. */
type Removal = (nowMs: number) => boolean;

/** Gives free pages back to the disk. */
function createPageRemoval(db: DatabaseSync): Removal {
  const count = (pragma: 'freelist_count' | 'page_count') => {
    const statement = db.prepare(`PRAGMA ${pragma}`);
    return () => Number(statement.get()?.[pragma]);
  };
  const [free, all] = [count('freelist_count'), count('page_count')];
  return () => {
    const before = free();
    if (before <= Math.max(FREE_PAGES_MAX, all() * FREE_SHARE_MAX)) return false;
    db.exec(`PRAGMA incremental_vacuum(${BITE_PAGES})`);
    return free() < before;
  };
}

function createRemovalByTime(db: DatabaseSync, table: (typeof INDEXED)[number]): Removal {
  const key = listKeyColumns(db, table).join(', ');
  const remove = db.prepare(
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE expires_at <= ? LIMIT ?)`,
  );
  return (nowMs) => remove.run(nowMs, BITE_ROWS).changes === BITE_ROWS;
}

/** Goes through the rows sorted by their key, and then begins again. */
function createRemovalByKey(db: DatabaseSync, table: (typeof LOOKED_THROUGH)[number]): Removal {
  const names = listKeyColumns(db, table);
  const key = names.join(', ');
  const values = names.map(() => '?').join(', ');
  const next = db.prepare(
    `SELECT ${key}, expires_at FROM ${table} WHERE (${key}) > (${values}) ORDER BY ${key} LIMIT ?`,
  );
  const remove = db.prepare(`DELETE FROM ${table} WHERE (${key}) = (${values})`);
  const keyIn = (row: Readonly<Record<string, SQLInputValue>>) => names.map((name) => row[name] ?? '');
  let place = keyIn({});
  return (nowMs) => {
    const rows = next.all(...place, BITE_ROWS);
    const expired = rows.filter((row) => Number(row['expires_at']) <= nowMs);
    for (const row of expired) remove.run(...keyIn(row));
    place = rows.length < BITE_ROWS ? keyIn({}) : keyIn(rows.at(-1) ?? {});
    return expired.length > STALE_ROWS_MAX;
  };
}

function listKeyColumns(db: DatabaseSync, table: string): readonly string[] {
  const key = db.prepare(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0 ORDER BY pk`).all();
  return key.map(({ name }) => String(name));
}
