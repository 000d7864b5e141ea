import type { ClientKey, PlatformName } from '../../../client/client-key.ts';
import { encodeClientState } from '../../../client/state-document.ts';
import { type Decision, recordedDecision } from '../../../decision/decision.ts';
import { NOTES, nameOf } from '../../keys.ts';
import { readAnswer, readSnapshot, textOf } from '../../snapshot.ts';
import { type Change, type LoadAlso, RETENTION, type Snapshot } from '../../store.ts';
import type { TakenClient } from '../client/clients.ts';
import type { RedisCommands } from '../connection/connection.ts';
import type { NodeCalls } from '../connection/node-calls.ts';
import { RedisScript } from '../script.ts';
import type { ServerTime } from '../server-time.ts';
import { type EarlierFate, earlierCommitCall, earlierCommitScript, readEarlierReply } from './commit.ts';
import {
  answerKey,
  EARLIER_PARTITIONS,
  earlierPartitionOf,
  movedKey,
  noKey,
  orderClientsKey,
  orderNumbersKey,
  outcomeKey,
  ownedKey,
  recordKey,
  stateKeyOf,
} from './keys.ts';

const loadScript = new RedisScript('earlier/load-4.lua');
const takeScript = new RedisScript('earlier/take-3.lua');
const leaveScript = new RedisScript('earlier/leave-1.lua');
const noteScript = new RedisScript('earlier/note-order-1.lua');

/** Records that are read with one command. */
const BATCH_RECORDS_MAX = 100;

/** Clients in the layout of keys before this one, as nodes of the earlier version read and write them. */
export class EarlierClients {
  readonly #commands: RedisCommands;
  readonly #calls: NodeCalls;
  readonly #time: ServerTime;

  constructor(commands: RedisCommands, calls: NodeCalls, time: ServerTime) {
    this.#commands = commands;
    this.#calls = calls;
    this.#time = time;
  }

  /** Null when the client's partition is being moved: then it is loaded from the layout of today. */
  async load({ hash }: ClientKey, { orderRef, idempotencyKey }: LoadAlso): Promise<Snapshot | null> {
    const key = stateKeyOf(hash);
    const keys = [
      key,
      orderRef === undefined ? noKey(hash) : outcomeKey(hash, nameOf(orderRef)),
      idempotencyKey === undefined ? noKey(hash) : answerKey(hash, nameOf(idempotencyKey)),
      movedKey(earlierPartitionOf(hash)),
    ];
    const reply = await this.#calls.reading(key)(() =>
      this.#time.observed(key, () => loadScript.run(this.#commands, keys, [])),
    );
    const [time, moved, state, order, answer] = reply;
    if (moved === 1) return null;
    const answerText = textOf(answer);
    const parts = {
      state: textOf(state),
      order: textOf(order),
      answer: answerText === null ? null : readAnswer(answerText),
    };
    return readSnapshot(parts, Number(time), true);
  }

  async commit(change: Change, validUntilMs: number): Promise<EarlierFate> {
    const { client, decision, state } = change;
    if (decision !== undefined) await this.#noteOrder(client, decision);
    const { keys, args } = earlierCommitCall(change, encodeClientState(state), validUntilMs);
    return this.#calls.on(stateKeyOf(client.hash))(async () =>
      readEarlierReply(await earlierCommitScript.run(this.#commands, keys, args)),
    );
  }

  /** From now on no client of these partitions is changed here by a node that knows the layout of today. */
  async fence(): Promise<void> {
    for (const partition of EARLIER_PARTITIONS) {
      const key = movedKey(partition);
      await this.#calls.on(key)(() => this.#commands.set(key, '1'));
    }
  }

  /** What is to be taken of a client into the layout of today; null when there is nothing, or nothing any more. */
  async take({ hash }: Pick<ClientKey, 'hash'>): Promise<TakenClient | null> {
    const key = stateKeyOf(hash);
    const keys = [movedKey(earlierPartitionOf(hash)), key, ownedKey(hash)];
    const args = [outcomeKey(hash, ''), answerKey(hash, '')];
    const reply = await this.#calls.on(key)(() => takeScript.run(this.#commands, keys, args));
    const [state, ...notes]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    return typeof state === 'string' ? { state, notes: notes.map(String) } : null;
  }

  /** Forgets what was taken. Decisions stay until they end: they are read from here. */
  async leave({ hash }: Pick<ClientKey, 'hash'>, { state, notes }: TakenClient): Promise<void> {
    const names = notes.filter((_, index) => index % 3 === 0);
    const keys = names.flatMap((name) => {
      if (name.startsWith(NOTES.order)) return [outcomeKey(hash, name.slice(1))];
      return name.startsWith(NOTES.answer) ? [answerKey(hash, name.slice(1))] : [];
    });
    const key = stateKeyOf(hash);
    await this.#calls.on(key)(() => leaveScript.run(this.#commands, [key], [state, ...keys]));
  }

  /** Whether the client left anything here. */
  async mayHold({ hash }: ClientKey): Promise<boolean> {
    const keys = [stateKeyOf(hash), ownedKey(hash)];
    return (await this.#calls.on(stateKeyOf(hash))(() => this.#commands.exists(keys))) > 0;
  }

  /** The decisions with these numbers that are still kept, in that order. */
  async decisions(clientHash: string, seqs: readonly number[]): Promise<readonly Decision[]> {
    const texts: (string | null)[] = [];
    for (let start = 0; start < seqs.length; start += BATCH_RECORDS_MAX) {
      const keys = seqs.slice(start, start + BATCH_RECORDS_MAX).map((seq) => recordKey(clientHash, seq));
      texts.push(...(await this.#calls.on(stateKeyOf(clientHash))(() => this.#commands.mGet(keys))));
    }
    return texts.filter((text) => text !== null).map((text) => recordedDecision(JSON.parse(text)));
  }

  async decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    const order = nameOf(orderRef);
    const key = orderClientsKey(platform, order);
    const clients = await this.#calls.on(key)(() => this.#commands.zRange(key, 0, -1));
    const decisions = await Promise.all(
      clients.map(async (clientHash) => {
        const numbers = orderNumbersKey(clientHash, order);
        const seqs = await this.#calls.on(numbers)(() => this.#commands.zRange(numbers, 0, -1));
        return this.decisions(clientHash, seqs.map(Number));
      }),
    );
    return decisions.flat();
  }

  async #noteOrder({ platform, hash }: ClientKey, { orderRef, at }: Decision): Promise<void> {
    const key = orderClientsKey(platform, nameOf(orderRef));
    const args = [hash, String(at), String(RETENTION.decisionsPerOrder), String(RETENTION.decisionMs)];
    await this.#calls.on(key)(() => noteScript.run(this.#commands, [key], args));
  }
}
