import type { ClientKey } from '../../../client/client-key.ts';
import { claimKey, journalKey } from '../../keys.ts';
import { StoreUnavailable } from '../../store.ts';
import { BATCH_KEYS_MAX, ERASURE_ROUNDS_MAX, type Erasing, type OwnedNames, ownedNames } from '../erasing.ts';
import {
  answerKey,
  earlierPartitionOf,
  orderClientsKey,
  orderNumbersKey,
  outcomeKey,
  ownedKey,
  recordKey,
  stateKeyOf,
} from './keys.ts';

/** Forgets clients in the layout of keys before this one, and what those that were moved left there. */
export class EarlierErasure {
  readonly #erasing: Erasing;

  constructor(erasing: Erasing) {
    this.#erasing = erasing;
  }

  /** `newest` is the number of the client's newest decision, where it is known to be higher than what is left tells. */
  async erase(client: ClientKey, newest = 0): Promise<void> {
    const { hash } = client;
    const partition = earlierPartitionOf(hash);
    for (let round = 0; round < ERASURE_ROUNDS_MAX; round += 1) {
      const { state, stamp } = await this.#erasing.readState(stateKeyOf(hash));
      const names = await this.#erasing.call(ownedKey(hash), (commands, key) => commands.zRange(key, 0, -1));
      if (stamp === '' && names.length === 0 && newest === 0) return;
      const owned = ownedNames(names);
      await this.#erasing.removeSightings(client, owned, state);
      const told = state?.seq ?? (await this.#newestOf(hash, owned.orders));
      await this.#removeDecisions(client, Math.max(newest, told));
      await this.#removeOwned(client, owned);
      await this.#erasing.removeFromJournal(journalKey(partition), hash);
      const keys = [stateKeyOf(hash), ownedKey(hash)] as const;
      if (await this.#erasing.removeState(client, stamp, keys, partition)) return;
    }
    throw new StoreUnavailable('the client kept changing while it was erased');
  }

  async #removeDecisions({ hash }: ClientKey, newest: number): Promise<void> {
    for (let first = 1; first <= newest; first += BATCH_KEYS_MAX) {
      const length = Math.min(BATCH_KEYS_MAX, newest - first + 1);
      await this.#erasing.unlink(Array.from({ length }, (_, index) => recordKey(hash, first + index)));
    }
  }

  /** The number of the newest decision as the client's orders tell it: its state is missing or cannot be read. */
  async newestDecision(clientHash: string): Promise<number> {
    const names = await this.#erasing.call(ownedKey(clientHash), (commands, key) =>
      commands.zRange(key, 0, -1),
    );
    return this.#newestOf(clientHash, ownedNames(names).orders);
  }

  async #newestOf(hash: string, orders: readonly string[]): Promise<number> {
    let newest = 0;
    for (const order of orders) {
      const key = orderNumbersKey(hash, order);
      const [last] = await this.#erasing.call(key, (commands) => commands.zRange(key, -1, -1));
      newest = Math.max(newest, Number(last ?? 0));
    }
    return newest;
  }

  /** Outcomes and decision numbers of orders, stored answers, and what their Idempotency-Keys were bound to. */
  async #removeOwned({ platform, hash }: ClientKey, { orders, answers }: OwnedNames): Promise<void> {
    await this.#erasing.unlink(
      orders.flatMap((order) => [outcomeKey(hash, order), orderNumbersKey(hash, order)]),
    );
    await this.#erasing.unlink(answers.map((name) => answerKey(hash, name)));
    for (const order of orders) await this.#erasing.removeMember(orderClientsKey(platform, order), hash);
    for (const name of answers) await this.#erasing.unlink([claimKey(platform, name)]);
  }
}
