import { type ClientKey, parseDecisionId } from '#decision/payer/client-key.ts';
import { RETENTION } from '#state/retention.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { TEST_SALT } from '../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import type { StoredClients } from './stored-clients.ts';

/** Carries a call to the store and its answer back, or loses them. */
export type Carrier = <T>(call: () => T) => Promise<T>;

/** The store's clients with the calls that may change them, any of which a test may put a bug into. */
export type StoreServer = Pick<StoredClients, 'load' | 'commit' | 'sightings' | 'notePayment' | 'claim'>;

/** Has what no decision needs, and nothing of which a storm uses. */
let spare: Store | null = null;

/**
 * One node's connection to clients who live in memory; the conformance suite holds it to the port. `server` answers what a
 * decision needs, `clients` everything that is only read.
 */
export function simulatedStore(
  clients: StoredClients,
  server: StoreServer,
  carry: Carrier,
  clock: () => number,
): Store {
  spare ??= openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
  const newestOf = ({ hash }: ClientKey) => clients.decisionsOf(hash).toReversed();
  return {
    ...spare,
    load: (client, also = {}) => carry(() => server.load(client, also, clock())),
    commit: (change) => carry(() => server.commit(change)),
    sightings: (ask) => carry(() => server.sightings(ask)),
    notePayment: (payment) => carry(() => server.notePayment(payment)),
    claimIdempotencyKey: (platform, key, hash) => carry(() => server.claim(platform, key, hash)),
    decision: async (id) => {
      const decisions = clients.decisionsOf(parseDecisionId(id)?.clientHash ?? '');
      return decisions.find(({ decisionId }) => decisionId === id) ?? null;
    },
    decisionsOfOrder: async (platform, orderRef) =>
      clients
        .allDecisions()
        .filter((decision) => decision.platform === platform && decision.orderRef === orderRef)
        .slice(0, RETENTION.decisionsPerOrder),
    decisionsOfClient: async (client, limit, beforeSeq = Number.MAX_SAFE_INTEGER) =>
      newestOf(client)
        .filter(({ seq }) => seq < beforeSeq)
        .slice(0, limit),
    readJournal: async (after, limit) => {
      const entries = clients.journal(Number(after ?? 0), limit);
      const last = entries.at(-1);
      return { entries, cursor: last === undefined ? after : String(last.place.seq + 1), gap: null };
    },
    erase: (client) => carry(() => clients.erase(client, clock())),
  };
}
