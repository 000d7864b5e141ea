import { LRUCache } from 'lru-cache';
import type { Decision } from '../decision/decision.ts';
import {
  decisionOf,
  isRow,
  parseRecord,
  RecordDamaged,
  type RecordShape,
  readShape,
} from '../decision/decision-record.ts';

/** A decision record as a store keeps it. */
export interface StoredRecord {
  readonly clientHash: string;
  readonly text: string;
}

/** A few versions decide at a time; a search of months may meet more. */
const KNOWN_SHAPES_MAX = 200;

/** Makes decisions of stored records. Shapes are read once: what one is called never means another. */
export class RecordReader {
  readonly #readShape: (id: string, clientHash: string) => Promise<string | null>;
  readonly #shapes = new LRUCache<string, RecordShape>({ max: KNOWN_SHAPES_MAX });

  /** `readShape` gives the text of a shape as it is stored beside a client's records. */
  constructor(readShape: (id: string, clientHash: string) => Promise<string | null>) {
    this.#readShape = readShape;
  }

  /** Throws RecordDamaged when it has a form that no version stores. */
  async decision({ clientHash, text }: StoredRecord): Promise<Decision> {
    const record = parseRecord(text);
    if (!isRow(record)) return record;
    const [shapeId] = record;
    return decisionOf(
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
    const shape = readShape(text);
    this.#shapes.set(id, shape);
    return shape;
  }
}
