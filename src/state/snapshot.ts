import { type ClientState, UNKNOWN_CLIENT } from '../client/client-state.ts';
import { decodeOrder } from '../client/order-row.ts';
import { decodeClientState } from '../client/state-document.ts';
import { type Decision, verdictAnswer } from '../decision/decision.ts';
import type { Snapshot, StoredAnswer } from './store.ts';
import { StoreUnavailable } from './store-errors.ts';

/** What an adapter read of a client; null for what is not there. */
export interface StoredParts {
  /** As they are stored. */
  readonly state: string | null;
  readonly order: string | null;
  readonly answer: StoredAnswer | null;
}

/** The snapshot behind the parts. `storeTimeMs` is the store's own clock when they were read, epoch ms. */
export function readSnapshot({ state, order, answer }: StoredParts, storeTimeMs: number): Snapshot {
  const stamp = { raw: state, storeTimeMs, arrivedMs: performance.now() };
  return {
    state: state === null ? UNKNOWN_CLIENT : readState(state),
    order: order === null ? null : decodeOrder(order),
    answer,
    stamp,
  };
}

/** An unreadable client must never look like a new one, nor like a store that is away. */
function readState(text: string): ClientState {
  try {
    return decodeClientState(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StoreUnavailable(
      `the stored state of the client cannot be read (${why}); "state rebuild" mends it, and it can be erased`,
      { cause },
    );
  }
}

/** A value that a database gave, when it is a text. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** What a verdict answered, told by its decision. */
export function answerOf(decision: Decision): StoredAnswer {
  return { answer: verdictAnswer(decision), decisionId: decision.decisionId };
}
