import { LRUCache } from 'lru-cache';
import { type Decision, toVerdictAnswer } from '#decision/decision.ts';
import {
  decodeDecisionRow,
  isDecisionRow,
  parseRecord,
  parseRecordShape,
  RecordDamaged,
  type RecordShape,
} from '#decision/decision-record.ts';
import { type ClientState, UNKNOWN_CLIENT } from '#decision/payer/client-state.ts';
import { decodeOrder } from '#decision/payer/order-text.ts';
import { decodeClientState } from '#decision/payer/state-document.ts';
import type { Snapshot, StoredAnswer } from './store.ts';
import { StoreUnavailable } from './store-errors.ts';

/** What an adapter read of a client; null for missing parts. */
interface StoredParts {
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
export function toTextOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function toStoredAnswer(decision: Decision): StoredAnswer {
  return { answer: toVerdictAnswer(decision), decisionId: decision.decisionId };
}

export interface StoredRecord {
  readonly clientHash: string;
  readonly text: string;
}

/** A few versions decide at a time; a search of months may meet more. */
const KNOWN_SHAPES_MAX = 200;

/** Turns stored records into decisions. Shapes are read once: the name of a shape never means another one. */
export class RecordReader {
  readonly #readShape: (id: string, clientHash: string) => Promise<string | null>;
  readonly #shapes = new LRUCache<string, RecordShape>({ max: KNOWN_SHAPES_MAX });

  /** `readShape` gives the text of a shape as it is stored beside a client's records. */
  constructor(readShape: (id: string, clientHash: string) => Promise<string | null>) {
    this.#readShape = readShape;
  }

  /** Throws RecordDamaged when no version stores this form. */
  async decision({ clientHash, text }: StoredRecord): Promise<Decision> {
    const record = parseRecord(text);
    if (!isDecisionRow(record)) return record;
    const [shapeId] = record;
    return decodeDecisionRow(
      record,
      clientHash,
      this.#shapes.get(shapeId) ?? (await this.#load(shapeId, clientHash)),
    );
  }

  async decisions(records: readonly StoredRecord[]): Promise<readonly Decision[]> {
    const decisions: Decision[] = [];
    for (const record of records) decisions.push(await this.decision(record));
    return decisions;
  }

  async #load(id: string, clientHash: string): Promise<RecordShape> {
    const text = await this.#readShape(id, clientHash);
    if (text === null)
      throw new RecordDamaged(`a decision record names the shape ${id}, which is not stored`);
    const shape = parseRecordShape(text);
    this.#shapes.set(id, shape);
    return shape;
  }
}
