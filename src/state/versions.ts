import { randomUUID } from 'node:crypto';

/** Collections of documents and registers that every node follows: it reads them again only when their version has changed. */
const FOLLOWED: readonly string[] = ['access-keys', 'rollout'];

/** The versions of everything that is followed; a change writes another one. */
export interface VersionTable {
  /** By name; what never changed is not there. */
  read(): Promise<Readonly<Record<string, string>>>;
  write(name: string, version: string): Promise<void>;
}

export interface SeenVersion {
  readonly version: string;
  /** It was the version at this moment of the process's monotonic clock, ms, or later. */
  readonly asOfMs: number;
}

/** Whoever asks after this causes a new read. */
const REREAD_MS = 400;

/** A version that was read longer ago tells nothing: a change reaches every process within this. */
const VALID_MS = 800;

interface Known {
  readonly versions: Readonly<Record<string, string>>;
  readonly askedMs: number;
}

/** What all nodes read again and again is followed by versions: one small read for all that is followed and everybody in the process. */
export class Versions {
  readonly #table: VersionTable;
  #known: Known | null = null;
  #reading: Promise<Known> | null = null;
  /** When this process itself changed something. */
  #changedMs = Number.NEGATIVE_INFINITY;

  constructor(table: VersionTable) {
    this.#table = table;
  }

  /** The version that was read a moment ago; null when there is none. It never waits, and has an old one read again. */
  recent(name: string): SeenVersion | null {
    const fresh = this.#within(REREAD_MS);
    if (fresh === null) this.#read().catch(() => {});
    const known = fresh ?? this.#within(VALID_MS);
    return known === null ? null : seen(known, name);
  }

  /** The version, read again unless that was done a moment ago. */
  async current(name: string): Promise<SeenVersion> {
    const known = this.#within(REREAD_MS);
    if (known !== null) return seen(known, name);
    // One that is under way may have been asked before a change of this process.
    await this.#reading?.catch(() => {});
    return seen(await this.#read(), name);
  }

  /** Tells everybody who follows it, if anybody does, that this has changed. */
  async changed(name: string): Promise<void> {
    if (!FOLLOWED.includes(name)) return;
    await this.#table.write(name, randomUUID());
    this.#changedMs = performance.now();
  }

  #within(ageMs: number): Known | null {
    const known = this.#known;
    if (known === null || known.askedMs < this.#changedMs) return null;
    return performance.now() - known.askedMs <= ageMs ? known : null;
  }

  #read(): Promise<Known> {
    const askedMs = performance.now();
    this.#reading ??= this.#table
      .read()
      .then((versions) => {
        this.#known = { versions, askedMs };
        return this.#known;
      })
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }
}

function seen({ versions, askedMs }: Known, name: string): SeenVersion {
  return { version: versions[name] ?? '', asOfMs: askedMs };
}
