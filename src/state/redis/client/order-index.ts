import { type PlatformName, parseDecisionId } from '../../../client/client-key.ts';
import type { Decision } from '../../../decision/decision.ts';
import { lateOrdersKey, nameOf, orderKey, PARTITIONS, partitionOf } from '../../keys.ts';
import type { RunCall } from '../../run-call.ts';
import { RETENTION, StoreUnavailable } from '../../store.ts';
import type { RedisCommands } from '../connection/connection.ts';
import { RedisScript } from '../script.ts';
import type { DecisionPlace } from './decision-records.ts';

const noteOrder = new RedisScript('note-order-1.lua');

/** What one decision is noted as under its order. */
interface OrderNote {
  readonly key: string;
  /** The client's hash and the number of the decision. */
  readonly place: string;
  /** Epoch ms. */
  readonly at: number;
}

/**
 * Which decisions an order had. An order lies wherever its name says, which may be on a server that hangs while the
 * client's works: the verdict does not wait for it then. It is noted beside the client that its order is to be
 * noted later, and so it is.
 */
export class OrderIndex {
  readonly #commands: RedisCommands;
  readonly #runOn: (key: string) => RunCall;
  readonly #keptMs: number;
  #mayBeLate = false;

  constructor(commands: RedisCommands, runOn: (key: string) => RunCall, keptMs: number) {
    this.#commands = commands;
    this.#runOn = runOn;
    this.#keptMs = keptMs;
  }

  /** Resolves to whether the decision can be found by its order now. */
  async note(decision: Decision): Promise<boolean> {
    try {
      await this.#write(noteOf(decision));
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable) return false;
      throw error;
    }
  }

  /** Has the decision noted later: `noteLate` of any node does it. */
  async postpone(decision: Decision): Promise<void> {
    const key = lateOrdersKey(partitionOf(decision.decisionId));
    const { key: order, place, at } = noteOf(decision);
    this.#mayBeLate = true;
    await this.#runOn(key)(() => this.#commands.sAdd(key, JSON.stringify([order, place, at])));
  }

  /** Whether this process postponed something that was not noted since, or has not looked for it yet. */
  get mayBeLate(): boolean {
    return this.#mayBeLate;
  }

  /** Notes what any node postponed; what cannot be noted yet stays for the next time. */
  async noteLate(): Promise<void> {
    this.#mayBeLate = false;
    const tries = await Promise.allSettled(PARTITIONS.map((partition) => this.#noteLateIn(partition)));
    if (tries.some(({ status }) => status === 'rejected')) this.#mayBeLate = true;
  }

  /** Forgets what was postponed about a client. */
  async forgetLate(clientHash: string): Promise<void> {
    const late = lateOrdersKey(partitionOf(clientHash));
    const texts = await this.#runOn(late)(() => this.#commands.sMembers(late));
    const mine = texts.filter((text) => text.includes(clientHash));
    if (mine.length > 0) await this.#runOn(late)(() => this.#commands.sRem(late, mine));
  }

  async #noteLateIn(partition: string): Promise<void> {
    const late = lateOrdersKey(partition);
    const texts = await this.#runOn(late)(() => this.#commands.sMembers(late));
    for (const text of texts) {
      const [key, place, at]: [string, string, number] = JSON.parse(text);
      await this.#write({ key, place, at });
      await this.#runOn(late)(() => this.#commands.sRem(late, text));
    }
  }

  /** Forgets the decisions of a client about an order. */
  async forget(platform: PlatformName, orderRef: string, clientHash: string): Promise<void> {
    const key = orderKey(platform, nameOf(orderRef));
    const run = this.#runOn(key);
    const ids = await run(() => this.#commands.zRange(key, 0, -1));
    const mine = ids.filter((id) => id.startsWith(clientHash));
    if (mine.length > 0) await run(() => this.#commands.zRem(key, mine));
  }

  /** Where the decisions of an order may be, newest first. */
  async placesOf(platform: PlatformName, orderRef: string): Promise<readonly DecisionPlace[]> {
    const key = orderKey(platform, nameOf(orderRef));
    const ids = await this.#runOn(key)(() => this.#commands.zRange(key, 0, -1, { REV: true }));
    return ids.map(parseDecisionId).filter((place) => place !== null);
  }

  async #write({ key, place, at }: OrderNote): Promise<void> {
    const args = [place, at, RETENTION.decisionsPerOrder, this.#keptMs].map(String);
    await this.#runOn(key)(() => noteOrder.run(this.#commands, [key], args));
  }
}

function noteOf({ platform, orderRef, decisionId, at }: Decision): OrderNote {
  return { key: orderKey(platform, nameOf(orderRef)), place: placeText(decisionId), at };
}

/** A decisionId without its time: the order's decisions are read anyway, and there is one of these for each. */
function placeText(decisionId: string): string {
  return decisionId.split('.', 2).join('.');
}
