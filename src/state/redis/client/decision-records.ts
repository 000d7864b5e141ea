import type { Decision } from '../../../decision/decision.ts';
import { decisionKey, partitionOf, shapeKey, stateKey } from '../../keys.ts';
import type { RunCall } from '../../run-call.ts';
import { RecordReader } from '../../stored-record.ts';
import type { RedisCommands } from '../connection/connection.ts';

/** Records that are read with one command. */
const BATCH_RECORDS_MAX = 100;

/** One decision of a client. */
export interface DecisionPlace {
  readonly clientHash: string;
  readonly seq: number;
}

/** Decision records by client and number. */
export class DecisionRecords {
  readonly reader: RecordReader;
  readonly #commands: RedisCommands;
  readonly #runOn: (key: string) => RunCall;

  constructor(commands: RedisCommands, runOn: (key: string) => RunCall) {
    this.#commands = commands;
    this.#runOn = runOn;
    this.reader = new RecordReader((id, clientHash) => {
      const key = shapeKey(partitionOf(clientHash), id);
      return runOn(key)(() => commands.get(key));
    });
  }

  /** In the order of the places, which lie in one partition; null for what is not kept. */
  async at(places: readonly DecisionPlace[]): Promise<readonly (Decision | null)[]> {
    const decisions: (Decision | null)[] = [];
    for (let start = 0; start < places.length; start += BATCH_RECORDS_MAX) {
      const some = places.slice(start, start + BATCH_RECORDS_MAX);
      const texts = await this.#texts(some);
      for (const [index, { clientHash }] of some.entries()) {
        const text = texts[index] ?? null;
        decisions.push(text === null ? null : await this.reader.decision({ clientHash, text }));
      }
    }
    return decisions;
  }

  #texts(places: readonly DecisionPlace[]): Promise<readonly (string | null)[]> {
    const keys = places.map(({ clientHash, seq }) => decisionKey(clientHash, seq));
    return this.#runOn(stateKey(places[0]?.clientHash ?? 'A'))(() => this.#commands.mGet(keys));
  }
}
