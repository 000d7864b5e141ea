/** The store cannot be reached, does not answer in time, or cannot write. Callers get 503. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** A text was given as a cursor that this journal never wrote. */
export class UnknownCursor extends Error {
  override readonly name = 'UnknownCursor';

  constructor() {
    super('not a cursor of this journal');
  }
}
