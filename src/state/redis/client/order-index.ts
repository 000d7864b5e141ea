import { type ClientKey, type PlatformName, parseDecisionId } from '../../../client/client-key.ts';
import { formerOrderKey, nameOf, orderKey, PARTITIONS, partitionOf } from '../../keys.ts';
import type { RunCall } from '../../run-call.ts';
import { RETENTION } from '../../store.ts';
import type { RedisCommands } from '../connection/connection.ts';
import type { DecisionPlace } from './decision-records.ts';

/**
 * Which decisions an order had. They are noted beside each client, by the commit of the decision: a verdict asks one
 * server, and a search for an order, which is rare, asks all of them.
 */
export class OrderIndex {
  readonly #commands: RedisCommands;
  readonly #runOn: (key: string) => RunCall;

  constructor(commands: RedisCommands, runOn: (key: string) => RunCall) {
    this.#commands = commands;
    this.#runOn = runOn;
  }

  /** Forgets the decisions of a client about an order. */
  async forget({ platform, hash }: ClientKey, orderRef: string): Promise<void> {
    const order = nameOf(orderRef);
    for (const key of [orderKey(partitionOf(hash), platform, order), formerOrderKey(platform, order)]) {
      const run = this.#runOn(key);
      const places = await run(() => this.#commands.zRange(key, 0, -1));
      const mine = places.filter((place) => place.startsWith(hash));
      if (mine.length > 0) await run(() => this.#commands.zRem(key, mine));
    }
  }

  /** Where the newest decisions of an order may be, newest first; at most RETENTION.decisionsPerOrder. */
  async placesOf(platform: PlatformName, orderRef: string): Promise<readonly DecisionPlace[]> {
    const order = nameOf(orderRef);
    const keys = [
      ...PARTITIONS.map((partition) => orderKey(partition, platform, order)),
      formerOrderKey(platform, order),
    ];
    const noted = await Promise.all(
      keys.map((key) => this.#runOn(key)(() => this.#commands.zRangeWithScores(key, 0, -1))),
    );
    return noted
      .flat()
      .toSorted((a, b) => b.score - a.score)
      .slice(0, RETENTION.decisionsPerOrder)
      .map(({ value }) => parseDecisionId(value))
      .filter((place) => place !== null);
  }
}
