import { statSync } from 'node:fs';
import { StoreUnavailable } from '#state/store-errors.ts';

/**
 * The identity of the file at a path: its device and inode number. No other file has the same identity while a
 * process keeps this one open.
 */
type FileIdentity = string | null;

/**
 * Watches whether the opened files are still at their paths. A file that was replaced or removed stays open, but
 * nobody opens it again. Everything written to it is lost when the process ends.
 */
export class FileReplacementWatch {
  readonly #path: string;
  #opened: readonly (readonly [path: string, identity: FileIdentity])[];
  #refusal: StoreUnavailable | null = null;

  /**
   * `path` is the path of an open database. The log of the database is at this path with `-wal` as long as the
   * database is open.
   */
  constructor(path: string) {
    this.#path = path;
    this.#opened = [path, `${path}-wal`].map((one) => [one, readFileIdentity(one)] as const);
  }

  /** Why nothing may be read or written, as the last call of `check` found. Null if the files are at their paths. */
  get refusal(): StoreUnavailable | null {
    return this.#refusal;
  }

  /** Looks at the paths, which takes some microseconds. Returns the new value of `refusal`. */
  check(): StoreUnavailable | null {
    const isInPlace = this.#opened.every(([path, identity]) => readFileIdentity(path) === identity);
    if (isInPlace) this.#refusal = null;
    else
      this.#refusal ??= new StoreUnavailable(
        `the file at ${this.#path} is missing, or is not the one that this process opened: ${REMEDY}`,
      );
    return this.#refusal;
  }

  /** Ends the watch. Closing a database removes its log, which is no fault. */
  stop(): void {
    this.#opened = [];
  }
}

const REMEDY =
  'further writes would be lost; put the former file back together with its -wal file, or restart the service to go on with the new one';

function readFileIdentity(path: string): FileIdentity {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}/${stats.ino}`;
}
