import type { DatabaseSync } from 'node:sqlite';
import type { GroupCommit } from './file/group-commit.ts';
import { trimOverflow } from './journal.ts';
import type { Statements } from './statements.ts';

/** How many rows of each table are removed at once: some milliseconds, in which no request is served. */
const BITE_ROWS = 200;

/** Pages that are given back to the disk at once. */
const BITE_PAGES = 200;

/** Free pages are used again; only more than this, and than a tenth of the file, are given back. */
const FREE_PAGES_MAX = 1000;
const FREE_SHARE_MAX = 0.1;

/** With a bite every 50 ms it removes up to 4,000 rows of each table a second, more than verdicts write. */
const NEXT_BITE_MS = 50;
const LOOK_INTERVAL_MS = 1000;

/** Removes what is past its retention, and gives the disk back what that leaves free. */
export class SqliteRetention {
  readonly #db: DatabaseSync;
  readonly #sql: Statements;
  readonly #writes: GroupCommit;
  readonly #clock: () => number;
  #timer: NodeJS.Timeout;
  #stopped = false;

  constructor(db: DatabaseSync, sql: Statements, writes: GroupCommit, clock: () => number) {
    this.#db = db;
    this.#sql = sql;
    this.#writes = writes;
    this.#clock = clock;
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
    this.#writes
      .run(() => this.#removeSome())
      .then(
        (more) => {
          this.#timer = this.#after(more ? NEXT_BITE_MS : LOOK_INTERVAL_MS);
        },
        () => {
          // The disk is full or another process writes: it is tried again.
          this.#timer = this.#after(LOOK_INTERVAL_MS);
        },
      );
  }

  /** Whether there is more to be done. */
  #removeSome(): boolean {
    const now = this.#clock();
    const removed = this.#sql.purge.map((statement) => Number(statement.run(now, BITE_ROWS).changes));
    removed.push(trimOverflow(this.#sql, BITE_ROWS));
    const shrunk = this.#giveBack();
    return shrunk || removed.includes(BITE_ROWS);
  }

  #giveBack(): boolean {
    const free = Number(this.#sql.freePages.get()?.['freelist_count']);
    const all = Number(this.#sql.pages.get()?.['page_count']);
    if (free <= Math.max(FREE_PAGES_MAX, all * FREE_SHARE_MAX)) return false;
    this.#db.exec(`PRAGMA incremental_vacuum(${BITE_PAGES})`);
    return Number(this.#sql.freePages.get()?.['freelist_count']) < free;
  }
}
