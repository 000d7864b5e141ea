import { statSync } from 'node:fs';
import { StoreUnavailable } from '#state/store-errors.ts';

/** Which file lies at a path: its device and number, which no other file has while somebody keeps it open. */
type FileIdentity = string | null;

/**
 * Knows whether the files that were opened still lie at their paths. A file that was replaced or removed stays open, and what is
 * written to it is lost with the process: nobody opens it again.
 */
export class FileWatch {
  readonly #path: string;
  #opened: readonly (readonly [path: string, identity: FileIdentity])[];
  #refusal: StoreUnavailable | null = null;

  /** `path` is that of an open database; its log lies beside it as long as it is open. */
  constructor(path: string) {
    this.#path = path;
    this.#opened = [path, `${path}-wal`].map((one) => [one, identityOf(one)] as const);
  }

  /** Why nothing may be read or written, as it was when last looked at; null while the files are in their place. */
  get refusal(): StoreUnavailable | null {
    return this.#refusal;
  }

  /** Looks at the paths: some microseconds. Returns what `refusal` is from now on. */
  look(): StoreUnavailable | null {
    const isInPlace = this.#opened.every(([path, identity]) => identityOf(path) === identity);
    if (isInPlace) this.#refusal = null;
    else
      this.#refusal ??= new StoreUnavailable(
        `another file lies at ${this.#path} than the one that this process opened, or none: ${REMEDY}`,
      );
    return this.#refusal;
  }

  /** From now on nothing is amiss: whoever closes a database takes its log away. */
  stop(): void {
    this.#opened = [];
  }
}

const REMEDY =
  'what is still written goes to a file that nobody opens again; put the former file back with its -wal beside it, or restart the service to go on with the new one';

function identityOf(path: string): FileIdentity {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}/${stats.ino}`;
}
