import { setTimeout as sleep } from 'node:timers/promises';
import { ClientOfflineError, ErrorReply } from '@redis/client';
import type { ClientKey } from '../../client/client-key.ts';
import { token } from '../../client/client-state.ts';
import { encodeClientState } from '../../client/state-document.ts';
import { StoreLate } from '../health/store-late.ts';
import { decisionPrefix, NOTES, nameOf, notesKey, partitionOf, shapeKey, stateKey } from '../keys.ts';
import { RETENTION } from '../retention.ts';
import { answerOf, readSnapshot } from '../snapshot.ts';
import type { Change, LoadAlso, Snapshot, Stamp } from '../store.ts';
import { StoreUnavailable } from '../store-errors.ts';
import { type CommitFate, commitCall, commitLimits, commitScript, readCommitReply } from './commit.ts';
import type { RedisCommands } from './connection/connection.ts';
import type { NodeCalls } from './connection/node-calls.ts';
import { checked, isTextOrNothing, textOrNothing, wholeOf } from './connection/reply.ts';
import type { RedisDecisions } from './decisions.ts';
import type { Installation } from './installation.ts';
import type { NodeClocks } from './node-clocks.ts';
import { RedisScript } from './script.ts';

const loadScript = new RedisScript('load-2.lua');

/** A shape in use is stored again this often, long before it would expire. */
const SHAPE_RENEWAL_MS = RETENTION.shapeMs / 6;

/** How often a change is looked for whose answer was lost with its connection. */
const LOOK_AGAIN_MS = 10;

/** A change that takes effect must have this long to be noticed before it is given up. */
const ANSWER_MARGIN_MS = 20;

export interface RedisClientsParts {
  readonly commands: RedisCommands;
  readonly calls: NodeCalls;
  readonly clocks: NodeClocks;
  readonly decisions: RedisDecisions;
  /** How long decisions are found by their orders. */
  readonly decisionsHotMs: number;
  readonly installation: Installation;
}

/** States, notes and records of clients: everything in the slot of a client. */
export class RedisClients {
  readonly #parts: RedisClientsParts;
  readonly #limits: readonly string[];
  /** When a shape was stored in a partition by this process, by the process's monotonic clock. */
  readonly #storedShapes = new Map<string, number>();

  constructor(parts: RedisClientsParts) {
    this.#parts = parts;
    this.#limits = commitLimits(parts.decisionsHotMs);
  }

  async load({ hash }: ClientKey, { orderRef, idempotencyKey }: LoadAlso): Promise<Snapshot> {
    const { commands, calls, clocks, decisions } = this.#parts;
    const args =
      orderRef === undefined && idempotencyKey === undefined
        ? []
        : [
            orderRef === undefined ? '' : NOTES.order + token(orderRef),
            idempotencyKey === undefined ? '' : NOTES.answer + nameOf(idempotencyKey),
            decisionPrefix(hash),
          ];
    const key = stateKey(hash);
    const { time, state, order, answered } = await calls.reading(key)(() =>
      clocks.timed(key, () => loadScript.run(commands, [key, notesKey(hash)], args)).then(readLoadReply),
    );
    const parts = {
      state,
      order,
      answer:
        answered === null
          ? null
          : answerOf(await decisions.reader.decision({ clientHash: hash, text: answered })),
    };
    return readSnapshot(parts, time);
  }

  async commit(change: Change): Promise<'committed' | 'conflict'> {
    const { client, shape } = change;
    const next = encodeClientState(change.state);
    const place = shape === undefined ? '' : shapeKey(partitionOf(client.hash), shape.id);
    const storedMs = this.#storedShapes.get(place);
    const believed = storedMs !== undefined && performance.now() - storedMs < SHAPE_RENEWAL_MS;
    const fate = await this.#commit(change, next, !believed);
    if (fate === 'shapeless') {
      this.#storedShapes.delete(place);
      return told(await this.#commit(change, next, true));
    }
    if (fate === 'committed' && !believed && shape !== undefined)
      this.#storedShapes.set(place, performance.now());
    return told(fate);
  }

  async #commit(change: Change, next: string, storesShape: boolean): Promise<CommitFate> {
    const { commands, calls, installation } = this.#parts;
    const limitMs = calls.limitMsOn(stateKey(change.client.hash));
    const terms = {
      validUntilMs: validUntilMs(change.stamp, limitMs),
      storesShape,
      limits: this.#limits,
      installation: installation.id,
    };
    const { keys, args } = commitCall(change, next, terms);
    try {
      return await calls.on(stateKey(change.client.hash))(() =>
        commitScript.run(commands, keys, args).then(readCommitReply),
      );
    } catch (error) {
      if (!isAnswerLost(error) || !(await this.#isStored(change, next, terms.validUntilMs))) throw error;
      return 'committed';
    }
  }

  /**
   * Whether a change was made of which no answer came that could be believed, told by the state that it was to leave. It is
   * looked for as long as it could still be made: the connection comes back within some milliseconds.
   */
  async #isStored({ client, stamp }: Change, next: string, validUntilMs: number): Promise<boolean> {
    const { commands, calls } = this.#parts;
    const key = stateKey(client.hash);
    const untilMs = stamp.arrivedMs + validUntilMs - stamp.storeTimeMs;
    while (performance.now() < untilMs) {
      await sleep(LOOK_AGAIN_MS);
      const there = await calls
        .reading(key)(() => checked('GET', commands.get(key), isTextOrNothing))
        .catch(() => stamp.raw);
      if (there === next) return true;
      if (there !== stamp.raw) return false;
    }
    return false;
  }
}

/** By the store's clock: a commit that comes later is not applied, because its caller has been refused by then. */
function validUntilMs({ storeTimeMs, arrivedMs }: Stamp, limitMs: number): number {
  const nowMs = storeTimeMs + (performance.now() - arrivedMs);
  return Math.floor(nowMs + limitMs - ANSWER_MARGIN_MS);
}

/** Redis may have done what it was asked, and nobody heard: it neither refused, nor was it late or not asked at all. */
function isAnswerLost(error: unknown): boolean {
  if (!(error instanceof StoreUnavailable) || error instanceof StoreLate) return false;
  const { cause } = error;
  return cause instanceof Error && !(cause instanceof ErrorReply) && !(cause instanceof ClientOfflineError);
}

function readLoadReply([time, state, order, answered]: readonly unknown[]) {
  const what = 'load-2.lua';
  return {
    time: wholeOf(what, time),
    state: textOrNothing(what, state),
    order: textOrNothing(what, order),
    answered: textOrNothing(what, answered),
  };
}

function told(fate: CommitFate): 'committed' | 'conflict' {
  switch (fate) {
    case 'committed':
    case 'conflict':
      return fate;
    case 'expired':
      throw new StoreUnavailable('a change reached its server too late');
    case 'foreign':
      throw new StoreUnavailable('the master of this client belongs to another installation');
    case 'shapeless':
      throw new Error('a shape was stored with its record and is not there');
    default:
      throw new Error(fate satisfies never);
  }
}
