import { LRUCache } from 'lru-cache';
import { type Decision, toVerdictAnswer } from '#decision/decision.ts';
import {
  decodeDecisionRow,
  isDecisionRow,
  parseDecisionOrRow,
  parseRecordDictionary,
  RecordDamaged,
  type RecordDictionary,
} from '#decision/decision-record.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { decodeOrder } from '#decision/payer/order-text.ts';
import { decodeClientState } from '#decision/payer/state-document.ts';
import type { ClientFromStore, StoredAnswer } from './store.ts';
import { StoreUnavailable } from './store-errors.ts';

/** The stored parts of a client that an adapter read. Missing parts are null. */
interface StoredParts {
  readonly state: string | null;
  readonly order: string | null;
  readonly answer: StoredAnswer | null;
}

/** Decodes the stored parts of a client. `storeTimeMs` is the store's own clock when the parts were read, epoch ms. */
export function decodeClientFromStore(
  { state, order, answer }: StoredParts,
  storeTimeMs: number,
): ClientFromStore {
  const stamp = { raw: state, storeTimeMs, arrivedMs: performance.now() };
  return {
    state: state === null ? UNKNOWN_CLIENT_STATE : readState(state),
    order: order === null ? null : decodeOrder(order),
    answer,
    stamp,
  };
}

/**
 * Decodes a state. If the state cannot be read, throws StoreUnavailable with a message that says so. Otherwise the
 * client would look new, or the store would look as if it were away.
 */
function readState(text: string): ClientState {
  try {
    return decodeClientState(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StoreUnavailable(
      `the stored state of the client cannot be read (${why}); repair it with "state rebuild", or erase the client`,
      { cause },
    );
  }
}

/** Returns a database value if it is a text. Otherwise returns null. */
export function toTextOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/**
 * Returns what is stored of a decision, so that a repeated request with the same Idempotency-Key gets the same
 * answer.
 */
export function toAnswerToStore(decision: Decision): StoredAnswer {
  return { answer: toVerdictAnswer(decision), decisionId: decision.decisionId };
}

export interface StoredRecord {
  readonly clientHash: string;
  readonly text: string;
}

/**
 * The most shapes in memory. A shape is what all records of one rule set share, see `RecordDictionary`. Few versions
 * decide at one time, but a search over months may find records of many.
 */
const KNOWN_SHAPES_MAX = 200;

/** Decodes stored records to decisions. A shape is read once, because its name never means another shape. */
export class RecordReader {
  readonly #readShape: (id: string, clientHash: string) => Promise<string | null>;
  readonly #shapes = new LRUCache<string, RecordDictionary>({ max: KNOWN_SHAPES_MAX });

  /** `readShape` reads the text of a shape that is stored beside a client's records. */
  constructor(readShape: (id: string, clientHash: string) => Promise<string | null>) {
    this.#readShape = readShape;
  }

  /** Decodes a record. Throws RecordDamaged if its form is unknown. */
  async decodeRecord({ clientHash, text }: StoredRecord): Promise<Decision> {
    const record = parseDecisionOrRow(text);
    if (!isDecisionRow(record)) return record;
    const [shapeId] = record;
    return decodeDecisionRow(
      record,
      clientHash,
      this.#shapes.get(shapeId) ?? (await this.#load(shapeId, clientHash)),
    );
  }

  async decodeRecords(records: readonly StoredRecord[]): Promise<readonly Decision[]> {
    const decisions: Decision[] = [];
    for (const record of records) decisions.push(await this.decodeRecord(record));
    return decisions;
  }

  async #load(id: string, clientHash: string): Promise<RecordDictionary> {
    const text = await this.#readShape(id, clientHash);
    if (text === null)
      throw new RecordDamaged(`a decision record names the shape ${id}, which is not stored`);
    const shape = parseRecordDictionary(text);
    this.#shapes.set(id, shape);
    return shape;
  }
}
