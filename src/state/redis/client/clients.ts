import type { ClientKey } from '../../../client/client-key.ts';
import { encodeClientState } from '../../../client/state-document.ts';
import { decisionPrefix, NOTES, nameOf, notesKey, partitionOf, shapeKey, stateKey } from '../../keys.ts';
import { answerOf, readAnswer, readSnapshot, textOf } from '../../snapshot.ts';
import { type Change, type LoadAlso, RETENTION, type Snapshot, type StoredAnswer } from '../../store.ts';
import type { RedisCommands } from '../connection/connection.ts';
import type { NodeCalls } from '../connection/node-calls.ts';
import { RedisScript } from '../script.ts';
import type { ServerTime } from '../server-time.ts';
import { type CommitFate, commitCall, commitLimits, commitScript, readCommitReply } from './commit.ts';
import type { DecisionRecords } from './decision-records.ts';

const loadScript = new RedisScript('client/load-2.lua');
const adoptScript = new RedisScript('client/adopt-2.lua');

/** A shape in use is stored again this often, long before it would expire. */
const SHAPE_RENEWAL_MS = RETENTION.shapeMs / 6;

/** What is taken in of a client from the layout of keys before this one. */
export interface TakenClient {
  readonly state: string;
  /** Name, text and how long it is kept in ms, of each note. */
  readonly notes: readonly string[];
}

export interface RedisClientsParts {
  readonly commands: RedisCommands;
  readonly calls: NodeCalls;
  readonly time: ServerTime;
  readonly records: DecisionRecords;
  /** How long decisions are found by their orders. */
  readonly decisionsHotMs: number;
}

/** States, notes and records of clients: everything in the slot of a client. */
export class RedisClients {
  readonly #commands: RedisCommands;
  readonly #calls: NodeCalls;
  readonly #time: ServerTime;
  readonly #records: DecisionRecords;
  readonly #limits: readonly string[];
  /** When a shape was stored in a partition by this process, by the process's monotonic clock. */
  readonly #storedShapes = new Map<string, number>();

  constructor({ commands, calls, time, records, decisionsHotMs }: RedisClientsParts) {
    this.#commands = commands;
    this.#calls = calls;
    this.#time = time;
    this.#records = records;
    this.#limits = commitLimits(decisionsHotMs);
  }

  async load({ hash }: Pick<ClientKey, 'hash'>, { orderRef, idempotencyKey }: LoadAlso): Promise<Snapshot> {
    const args =
      orderRef === undefined && idempotencyKey === undefined
        ? []
        : [
            orderRef === undefined ? '' : NOTES.order + nameOf(orderRef),
            idempotencyKey === undefined ? '' : NOTES.answer + nameOf(idempotencyKey),
            decisionPrefix(hash),
          ];
    const key = stateKey(hash);
    const [time, state, order, answer] = await this.#calls.reading(key)(() =>
      this.#time.observed(key, () => loadScript.run(this.#commands, [key, notesKey(hash)], args)),
    );
    const parts = {
      state: textOf(state),
      order: textOf(order),
      answer: typeof answer === 'string' ? await this.#answer(hash, answer) : null,
    };
    return readSnapshot(parts, Number(time));
  }

  /** `validUntilMs`: the change is not applied after it, by the store's clock. */
  async commit(change: Change, validUntilMs: number): Promise<CommitFate> {
    const { client, shape } = change;
    const next = encodeClientState(change.state);
    const place = shape === undefined ? '' : shapeKey(partitionOf(client.hash), shape.id);
    const storedMs = this.#storedShapes.get(place);
    const believed = storedMs !== undefined && performance.now() - storedMs < SHAPE_RENEWAL_MS;
    const fate = await this.#commit(change, next, validUntilMs, !believed);
    if (fate === 'shapeless') {
      this.#storedShapes.delete(place);
      return this.#commit(change, next, validUntilMs, true);
    }
    if (fate === 'committed' && !believed && shape !== undefined)
      this.#storedShapes.set(place, performance.now());
    return fate;
  }

  /** 1 when the client was taken in, 0 when it was here already, -1 when it came too late. */
  async adopt(
    { hash }: Pick<ClientKey, 'hash'>,
    { state, notes }: TakenClient,
    validUntilMs: number,
  ): Promise<number> {
    const key = stateKey(hash);
    const limits = [RETENTION.stateMs, RETENTION.decisionMs].map(String);
    const args = [String(validUntilMs), state, ...limits, ...notes];
    return this.#calls.on(key)(async () =>
      Number(await adoptScript.run(this.#commands, [key, notesKey(hash)], args)),
    );
  }

  #commit(change: Change, next: string, validUntilMs: number, storesShape: boolean): Promise<CommitFate> {
    const terms = { validUntilMs, storesShape, limits: this.#limits };
    const { keys, args } = commitCall(change, next, terms);
    return this.#calls.on(stateKey(change.client.hash))(async () =>
      readCommitReply(await commitScript.run(this.#commands, keys, args)),
    );
  }

  /** An answer taken over from an earlier version is a text of its own; others are rebuilt from their decision. */
  async #answer(clientHash: string, text: string): Promise<StoredAnswer> {
    if (text.startsWith('{"answer"')) return readAnswer(text);
    return answerOf(await this.#records.reader.decision({ clientHash, text }));
  }
}
