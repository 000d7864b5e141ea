import { failureText } from '../../health/store-health.ts';
import type { RunCall } from '../../run-call.ts';
import { StoreUnavailable, UnknownCursor } from '../../store-errors.ts';

/** Whatever SQLite itself throws (busy, full disk, damaged file) means that state cannot be relied on now. */
export const sqliteCall: RunCall = async (call) => {
  try {
    return await call();
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof UnknownCursor) throw error;
    throw new StoreUnavailable(`SQLite could not answer: ${failureText(error)}`, { cause: error });
  }
};
