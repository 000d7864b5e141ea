import { NamedError } from '#base/named-error.ts';

/** The store cannot be reached, does not answer in time, or cannot write. Callers get 503. */
export class StoreUnavailable extends NamedError {}

/** A text was given as a cursor that this journal never wrote. */
export class UnknownCursor extends NamedError {
  constructor() {
    super('not a cursor of this journal');
  }
}

/** The store was slow, or another process had locked it. The next call may succeed. */
export class StoreLate extends StoreUnavailable {
  /** Code that compares names treats this error like a store that is away. */
  override get name(): string {
    return StoreUnavailable.name;
  }
}

/** Runs one call on a store within its time limit. Throws StoreUnavailable if the call fails or is late. */
export type RunCall = <T>(call: () => Promise<T>) => Promise<T>;
