import { type ClientState, UNKNOWN_CLIENT } from '../client/client-state.ts';
import type { KnownOrder } from '../client/order.ts';
import { decodeClientState } from '../client/state-document.ts';
import { type Decision, recordedDecision } from '../decision/decision.ts';
import { type Snapshot, type StoredAnswer, StoreUnavailable } from './store.ts';

/** What an adapter read of a client, as it is stored; null for what is not there. */
export interface StoredTexts {
  readonly state: string | null;
  readonly order: string | null;
  readonly answer: string | null;
}

/** The snapshot behind the texts. `storeTimeMs` is the store's own clock when they were read, epoch ms. */
export function readSnapshot({ state, order, answer }: StoredTexts, storeTimeMs: number): Snapshot {
  return {
    state: state === null ? UNKNOWN_CLIENT : readState(state),
    order: order === null ? null : readOrder(order),
    answer: answer === null ? null : readAnswer(answer),
    stamp: { raw: state, storeTimeMs, arrivedMs: performance.now() },
  };
}

/** An unreadable client must never look like a new one, nor like a store that is away. */
function readState(text: string): ClientState {
  try {
    return decodeClientState(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StoreUnavailable(
      `the stored state of the client cannot be read (${why}); "state repair" mends it, and it can be erased`,
      { cause },
    );
  }
}

export function readDecision(text: string): Decision {
  return recordedDecision(JSON.parse(text));
}

/** A value that a database gave, when it is a text. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function readOrder(text: string): KnownOrder {
  return JSON.parse(text);
}

function readAnswer(text: string): StoredAnswer {
  return JSON.parse(text);
}
