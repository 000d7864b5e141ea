import { NamedError } from '#base/named-error.ts';

/** The store cannot be reached, does not answer in time, or cannot write. Callers get 503. */
export class StoreUnavailable extends NamedError {}

/** A text was given as a cursor, and this journal never wrote it. */
export class UnknownCursor extends NamedError {
  constructor() {
    super('not a cursor of this journal');
  }
}

/** The store was slow, or another process had locked it. The next call may well succeed. */
export class StoreLate extends StoreUnavailable {
  /** Code that goes by the name need not tell this error from a store that is away. */
  override get name(): string {
    return StoreUnavailable.name;
  }
}

/** Runs one call on a store within its time limit; throws StoreUnavailable when it fails or is late. */
export type RunCall = <T>(call: () => Promise<T>) => Promise<T>;
