import { type ClientKey, type PlatformName, parseDecisionId } from '../../../client/client-key.ts';
import { type Decision, isNamed } from '../../../decision/decision.ts';
import { partitionOf, stateKey } from '../../keys.ts';
import { searchSteps } from '../../paced-steps.ts';
import {
  type Change,
  type LoadAlso,
  RETENTION,
  type Snapshot,
  type Stamp,
  StoreUnavailable,
} from '../../store.ts';
import type { RedisClients } from '../client/clients.ts';
import type { CommitFate } from '../client/commit.ts';
import type { DecisionRecords } from '../client/decision-records.ts';
import type { ClientErasure } from '../client/erasure.ts';
import type { OrderIndex } from '../client/order-index.ts';
import type { EarlierClients } from '../earlier/clients.ts';
import type { EarlierFate } from '../earlier/commit.ts';
import type { EarlierErasure } from '../earlier/erasure.ts';
import { stateKeyOf } from '../earlier/keys.ts';
import type { Layout } from './layout.ts';

/** A change that takes effect must have this long to be noticed before it is given up. */
const ANSWER_MARGIN_MS = 20;

export interface LaidOutClientsParts {
  readonly layout: Layout;
  readonly clients: RedisClients;
  readonly records: DecisionRecords;
  readonly orders: OrderIndex;
  readonly erasure: ClientErasure;
  readonly earlier: EarlierClients;
  readonly earlierErasure: EarlierErasure;
  /** How long a call may take, ms. */
  readonly commandTimeoutMs: number;
}

/** Clients and their decisions wherever they lie: in the layout of keys of today, or still in the one before. */
export class LaidOutClients {
  readonly #parts: LaidOutClientsParts;

  constructor(parts: LaidOutClientsParts) {
    this.#parts = parts;
  }

  async load(client: ClientKey, also: LoadAlso): Promise<Snapshot> {
    const { layout, clients, earlier } = this.#parts;
    if (layout.phase === 'earlier') {
      const snapshot = await earlier.load(client, also);
      if (snapshot !== null) return snapshot;
      layout.foundMoving();
    }
    const snapshot = await clients.load(client, also);
    if (layout.phase === 'current' || snapshot.stamp.raw !== null) return snapshot;
    return (await this.#takeOver(client, snapshot.stamp)) ? clients.load(client, also) : snapshot;
  }

  async commit(change: Change): Promise<'committed' | 'conflict'> {
    const validUntilMs = this.#validUntilMs(change.stamp);
    if (change.stamp.isEarlier === true)
      return this.#told(await this.#parts.earlier.commit(change, validUntilMs));
    return this.#told(await this.#parts.clients.commit(change, validUntilMs));
  }

  /** After this every client is changed in the layout of today alone. */
  beginToMove(): Promise<void> {
    return this.#parts.earlier.fence();
  }

  /** Moves a client of the earlier layout that nobody asked for; true when there was one. */
  async move(client: Pick<ClientKey, 'hash'>): Promise<boolean> {
    const { stamp } = await this.#parts.clients.load(client, {});
    return this.#takeOver(client, stamp);
  }

  async decision(decisionId: string): Promise<Decision | null> {
    const parsed = parseDecisionId(decisionId);
    if (parsed === null) return null;
    const [decision] = await this.#decisions(parsed.clientHash, [parsed.seq]);
    return decision !== undefined && isNamed(decisionId, decision) ? decision : null;
  }

  async decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    const { layout, orders, earlier, records } = this.#parts;
    const places = await orders.placesOf(platform, orderRef);
    const found = await searchSteps.map(places, (some) =>
      Promise.all(some.map((place) => records.at([place]))),
    );
    const before = layout.hasEarlier ? await earlier.decisionsOfOrder(platform, orderRef) : [];
    return [...found.flat(), ...before]
      .filter((decision) => decision !== null)
      .filter((decision) => decision.platform === platform && decision.orderRef === orderRef)
      .toSorted((a, b) => b.at - a.at || b.seq - a.seq)
      .slice(0, RETENTION.decisionsPerOrder);
  }

  async decisionsOfClient(client: ClientKey, limit: number, beforeSeq: number): Promise<readonly Decision[]> {
    const { state } = await this.load(client, {});
    const newest = Math.min(state.seq, beforeSeq - 1);
    const count = Math.max(0, Math.min(limit, newest));
    const numbers = Array.from({ length: count }, (_, index) => newest - index);
    return searchSteps.map(numbers, (some) => this.#decisions(client.hash, some));
  }

  /** Where the state of a client lies, readable or not. While clients move this one moves first. */
  async stateKeyOf(hash: string): Promise<string> {
    const { layout, earlier } = this.#parts;
    if (layout.phase === 'earlier') return stateKeyOf(hash);
    // A state that moved before and cannot be read must not be read for a second move.
    if (layout.phase === 'moving' && (await earlier.take({ hash })) !== null) await this.move({ hash });
    return stateKey(hash);
  }

  /** The number of the newest decision as records and orders tell it, for a client whose state cannot. */
  async newestDecision(clientHash: string): Promise<number> {
    const { layout, erasure, earlierErasure } = this.#parts;
    const before = layout.hasEarlier ? await earlierErasure.newestDecision(clientHash) : 0;
    return layout.phase === 'earlier' ? before : Math.max(before, await erasure.newestDecision(clientHash));
  }

  async erase(client: ClientKey): Promise<void> {
    const { layout, erasure, earlierErasure, earlier } = this.#parts;
    if (layout.phase === 'earlier') return earlierErasure.erase(client);
    // What is still in the earlier layout would otherwise be taken over behind the erasure.
    if (layout.phase === 'moving') await this.move(client);
    const newest = await erasure.erase(client);
    if (layout.hasEarlier && (await earlier.mayHold(client))) await earlierErasure.erase(client, newest);
  }

  /** The decisions with these numbers that are still kept, in that order. */
  async #decisions(clientHash: string, seqs: readonly number[]): Promise<readonly Decision[]> {
    const { layout, records, earlier } = this.#parts;
    if (layout.phase === 'earlier') return earlier.decisions(clientHash, seqs);
    const found = await records.at(seqs.map((seq) => ({ clientHash, seq })));
    const missing = layout.hasEarlier ? seqs.filter((_, index) => found[index] === null) : [];
    const before = missing.length === 0 ? [] : await earlier.decisions(clientHash, missing);
    return [...found.filter((decision) => decision !== null), ...before].toSorted(
      (a, b) => seqs.indexOf(a.seq) - seqs.indexOf(b.seq),
    );
  }

  /** True when the client was in the earlier layout and is here now, whichever node moved it. */
  async #takeOver(client: Pick<ClientKey, 'hash'>, stamp: Stamp): Promise<boolean> {
    const { clients, earlier } = this.#parts;
    const taken = await earlier.take(client);
    if (taken === null) return false;
    const fate = await clients.adopt(client, taken, this.#validUntilMs(stamp));
    if (fate === -1)
      throw new StoreUnavailable(`the client in partition ${partitionOf(client.hash)} moved too late`);
    await earlier.leave(client, taken);
    return true;
  }

  #validUntilMs({ storeTimeMs, arrivedMs }: Stamp): number {
    const nowMs = storeTimeMs + (performance.now() - arrivedMs);
    return Math.floor(nowMs + this.#parts.commandTimeoutMs - ANSWER_MARGIN_MS);
  }

  #told(fate: CommitFate | EarlierFate): 'committed' | 'conflict' {
    switch (fate) {
      case 'committed':
      case 'conflict':
        return fate;
      case 'moved':
        // Loaded again, it is found where it is now.
        this.#parts.layout.foundMoving();
        return 'conflict';
      case 'expired':
        throw new StoreUnavailable('a change reached its server too late');
      case 'shapeless':
        throw new Error('a shape was stored with its record and is not there');
      default:
        throw new Error(fate satisfies never);
    }
  }
}
