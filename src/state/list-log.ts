/**
 * The records of the shared lists, each the newest text under an id with the number of the change that wrote it.
 * Nodes keep a copy of all of them and ask for what changed since. A removed record leaves its id and number
 * behind for LIST_REMOVAL_KEPT_MS, so that copies hear of it.
 */
export interface ListLog {
  /**
   * Writes the changes one after the other, each under a number of its own; tells which were made. Null: nothing
   * was written, because `unless` says so.
   */
  write(changes: readonly ListChange[], unless?: OtherText): Promise<readonly boolean[] | null>;
  /** At most `limit` changes after a number, the oldest first. A copy that holds nothing asks after 0. */
  read(after: number, limit: number): Promise<ListPage>;
}

export interface ListChange {
  readonly id: string;
  /** Null removes the record; what is not there is not removed. */
  readonly text: string | null;
  /** Only if this is the number of the record as it stands. */
  readonly expected?: number;
}

/** A record whose id begins so was given, after a change that the writer has seen, a text that does not begin so. */
export interface OtherText {
  readonly since: number;
  readonly idsBegin: string;
  readonly textsBegin: string;
}

export interface ListRecord {
  readonly id: string;
  readonly version: number;
  /** Null: it was removed. */
  readonly text: string | null;
}

export interface ListPage {
  readonly records: readonly ListRecord[];
  /** The number of the newest change. */
  readonly latest: number;
  /** A copy that is not as new as this may hold what was removed, and must be read again from the start. */
  readonly horizon: number;
  /** Changes when the store was emptied; null as long as nothing was ever written. */
  readonly epoch: string | null;
}

/** How long a removal can be heard of. */
export const LIST_REMOVAL_KEPT_MS = 7 * 24 * 3600_000;

/** Changes that are written in one step, in which no other request is served. */
export const LIST_CHANGES_MAX = 100;
