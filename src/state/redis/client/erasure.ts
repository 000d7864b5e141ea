import type { ClientKey } from '../../../client/client-key.ts';
import {
  claimKey,
  decisionKey,
  decisionPrefix,
  journalKey,
  notesKey,
  partitionOf,
  stateKey,
} from '../../keys.ts';
import { StoreUnavailable } from '../../store.ts';
import type { RedisConnection } from '../connection/connection.ts';
import { scannedKeys } from '../connection/scanned-keys.ts';
import { BATCH_KEYS_MAX, ERASURE_ROUNDS_MAX, type Erasing, ownedNames } from '../erasing.ts';
import type { DecisionRecords } from './decision-records.ts';
import type { OrderIndex } from './order-index.ts';

export interface ClientErasureParts {
  readonly connection: RedisConnection;
  readonly erasing: Erasing;
  readonly records: DecisionRecords;
  readonly orders: OrderIndex;
}

/** Forgets clients. The state goes last: it leads to the rest, so a broken-off erasure can be repeated. */
export class ClientErasure {
  readonly #parts: ClientErasureParts;

  constructor(parts: ClientErasureParts) {
    this.#parts = parts;
  }

  /** Gives the number of the client's newest decision. */
  async erase(client: ClientKey): Promise<number> {
    const { erasing } = this.#parts;
    const { platform, hash } = client;
    const partition = partitionOf(hash);
    for (let round = 0; round < ERASURE_ROUNDS_MAX; round += 1) {
      const { state, stamp } = await erasing.readState(stateKey(hash));
      const names = await erasing.call(notesKey(hash), (commands, key) => commands.hKeys(key));
      const owned = ownedNames(names);
      await erasing.removeSightings(client, owned, state);
      const newest = stamp === '' ? 0 : (state?.seq ?? (await this.newestDecision(hash)));
      await this.#removeDecisions(client, newest);
      // They lie in slots of their own.
      for (const name of owned.answers) await erasing.unlink([claimKey(platform, name)]);
      await erasing.removeFromJournal(journalKey(partition), hash);
      const keys = [stateKey(hash), notesKey(hash)] as const;
      if (await erasing.removeState(client, stamp, keys, partition)) return newest;
    }
    throw new StoreUnavailable('the client kept changing while it was erased');
  }

  /** With what finds them by their orders. */
  async #removeDecisions(client: ClientKey, newest: number): Promise<void> {
    const { erasing, orders } = this.#parts;
    const { hash } = client;
    for (let first = 1; first <= newest; first += BATCH_KEYS_MAX) {
      const length = Math.min(BATCH_KEYS_MAX, newest - first + 1);
      const seqs = Array.from({ length }, (_, index) => first + index);
      for (const orderRef of await this.#ordersOf(hash, seqs)) await orders.forget(client, orderRef);
      await erasing.unlink(seqs.map((seq) => decisionKey(hash, seq)));
    }
  }

  async #ordersOf(clientHash: string, seqs: readonly number[]): Promise<ReadonlySet<string>> {
    const decisions = await this.#parts.records.at(seqs.map((seq) => ({ clientHash, seq })));
    return new Set(decisions.filter((decision) => decision !== null).map(({ orderRef }) => orderRef));
  }

  /**
   * The number of the newest decision when the state cannot tell it: all keys of the server are looked through, which
   * only a damaged client needs.
   */
  async newestDecision(clientHash: string): Promise<number> {
    const { connection } = this.#parts;
    const prefix = decisionPrefix(clientHash);
    let newest = 0;
    for await (const keys of scannedKeys(connection, connection.nodeOf(prefix), `${prefix}*`))
      for (const key of keys) newest = Math.max(newest, Number(key.slice(prefix.length)));
    return newest;
  }
}
