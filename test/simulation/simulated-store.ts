import { type ClientKey, type PlatformName, parseDecisionId } from '../../src/client/client-key.ts';
import type { Decision } from '../../src/decision/decision.ts';
import type { Sightings } from '../../src/facts/fact.ts';
import { type AuditLink, AuditLog, type AuditRows } from '../../src/state/audit-log.ts';
import type { Documents } from '../../src/state/documents.ts';
import { type ErasureEntry, NUMBER_CURSORS, type Placed } from '../../src/state/journal.ts';
import { LocalRateBuckets, type RateBuckets } from '../../src/state/rate-buckets.ts';
import { RETENTION } from '../../src/state/retention.ts';
import type {
  Change,
  JournalPage,
  ListLog,
  ListRecord,
  LoadAlso,
  Registers,
  SightingsAsk,
  Snapshot,
  Store,
  StoredTexts,
  Tallies,
} from '../../src/state/store.ts';
import type { StoreHealth } from '../../src/state/store-health.ts';
import { TEST_KEYS } from '../client/client-keys.ts';
import type { StoredClients } from './stored-clients.ts';

/** Carries a call to the store and its answer back, or loses them. */
export type Carrier = <T>(call: () => T) => Promise<T>;

/** The store's clients with the calls that may change them, any of which a test may put a bug into. */
export type StoreServer = Pick<StoredClients, 'load' | 'commit' | 'sightings' | 'claim'>;

/** A simulation needs no repair. */
const NO_OPERATOR: StoredTexts = {
  all: async function* () {},
  read: async () => null,
  replace: async () => false,
  states: async () => ({ states: [], next: null }),
  replaceState: async () => false,
  newestDecision: async () => 0,
};

/** Nothing is on trial in a simulation. */
const NO_TRIAL: Tallies = { add: async () => {}, read: async () => ({}) };

/** One node's connection to a store that lives in memory; the conformance suite holds it to the port. */
export class SimulatedStore implements Store {
  readonly name = 'a simulated store';
  readonly clientKeys = TEST_KEYS;
  readonly documents: Documents;
  readonly registers: Registers;
  readonly auditLog = new AuditLog(memoryAuditRows());
  readonly listLog: ListLog = memoryListLog();
  readonly texts: StoredTexts = NO_OPERATOR;
  readonly tallies: Tallies = NO_TRIAL;
  readonly #clients: StoredClients;
  readonly #server: StoreServer;
  readonly #carry: Carrier;
  readonly #clock: () => number;
  #rateBuckets: RateBuckets | null = null;
  #shippedEntries = 0;

  /** `server` answers what a decision needs, `clients` everything that is only read. */
  constructor(clients: StoredClients, server: StoreServer, carry: Carrier, clock: () => number) {
    this.#clients = clients;
    this.#server = server;
    this.#carry = carry;
    this.#clock = clock;
    this.documents = memoryDocuments(clock);
    this.registers = memoryRegisters();
  }

  /** Made only when used, since making them takes longer than a whole seed. */
  get rateBuckets(): RateBuckets {
    this.#rateBuckets ??= new LocalRateBuckets(this.#clock);
    return this.#rateBuckets;
  }

  load(client: ClientKey, also: LoadAlso = {}): Promise<Snapshot> {
    return this.#carry(() => this.#server.load(client, also, this.#clock()));
  }

  commit(change: Change): Promise<'committed' | 'conflict'> {
    return this.#carry(() => this.#server.commit(change));
  }

  sightings(ask: SightingsAsk): Promise<Sightings> {
    return this.#carry(() => this.#server.sightings(ask));
  }

  claimIdempotencyKey(platform: PlatformName, key: string, requestHash: string): Promise<string> {
    return this.#carry(() => this.#server.claim(platform, key, requestHash));
  }

  decision(decisionId: string): Promise<Decision | null> {
    const parsed = parseDecisionId(decisionId);
    return this.#carry(() => {
      const decisions = parsed === null ? [] : this.#clients.decisionsOf(parsed.clientHash);
      return decisions.find((decision) => decision.decisionId === decisionId) ?? null;
    });
  }

  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    return this.#carry(() =>
      this.#clients
        .allDecisions()
        .filter((decision) => decision.platform === platform && decision.orderRef === orderRef)
        .slice(0, RETENTION.decisionsPerOrder),
    );
  }

  decisionsOfClient(
    client: ClientKey,
    limit: number,
    beforeSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly Decision[]> {
    return this.#carry(() =>
      this.#clients
        .decisionsOf(client.hash)
        .filter(({ seq }) => seq < beforeSeq)
        .toReversed()
        .slice(0, limit),
    );
  }

  readonly cursors = NUMBER_CURSORS;

  readJournal(after: string | null, limit: number): Promise<JournalPage> {
    return this.#carry(() => {
      const entries = this.#clients.journal(Number(after ?? 0), limit);
      const last = entries.at(-1);
      const cursor = last === undefined ? after : String(last.place.seq + 1);
      return { entries, cursor, gap: null };
    });
  }

  async newestCursor(entries: number): Promise<string | null> {
    const before = (await this.journalLength()) - entries;
    return before > 0 ? String(before) : null;
  }

  journalLength(): Promise<number> {
    return this.#carry(() => this.#clients.journal(0, Number.MAX_SAFE_INTEGER).length);
  }

  /** Storms are short, so that a search covers everything. */
  async trimJournal(through: string): Promise<void> {
    this.#shippedEntries = Number(through);
    this.#clients.forgetErasures(this.#shippedEntries);
  }

  unshippedErasures(): Promise<readonly Placed<ErasureEntry>[]> {
    return this.#carry(() =>
      this.#clients
        .journal(this.#shippedEntries, Number.MAX_SAFE_INTEGER)
        .filter((entry) => entry.kind === 'erasure'),
    );
  }

  erase(client: ClientKey): Promise<void> {
    return this.#carry(() => {
      this.#clients.erase(client, this.#clock());
    });
  }

  readonly move = (): null => null;

  readonly clockOffsetMs = (): number => 0;

  check(): Promise<StoreHealth> {
    return this.#carry(() => [{ server: this.name, failure: null, warnings: [] }]);
  }

  async close(): Promise<void> {}
}

function memoryAuditRows(): AuditRows {
  let links: readonly AuditLink[] = [];
  return {
    newest: async () => links.at(-1) ?? null,
    add: async (link) => {
      if ((links.at(-1)?.number ?? 0) >= link.number) return false;
      links = [...links, link];
      return true;
    },
    read: async (after, limit) => links.filter(({ number }) => number > after).slice(0, limit),
    about: async (clientHash) =>
      links.filter(({ payer }) => payer?.clientHash === clientHash).map(({ number }) => number),
    forgetPayer: async (_, numbers) => {
      links = links.map((link) => (numbers.includes(link.number) ? { ...link, payer: null } : link));
    },
    drop: async (through) => {
      links = links.filter(({ number }) => number > through);
    },
  };
}

function memoryDocuments(clock: () => number): Documents {
  const kept = new Map<string, Map<string, { readonly text: string; readonly untilMs: number }>>();
  const live = (collection: string) =>
    [...(kept.get(collection) ?? [])].filter(([, { untilMs }]) => untilMs > clock());
  return {
    get: async <T>(collection: string, name: string) => {
      const found = live(collection).find(([known]) => known === name);
      return found === undefined ? undefined : parse<T>(found[1].text);
    },
    set: async (collection, name, value, ttlMs = Number.POSITIVE_INFINITY) => {
      const documents = kept.get(collection) ?? new Map();
      kept.set(collection, documents.set(name, { text: JSON.stringify(value), untilMs: clock() + ttlMs }));
    },
    delete: async (collection, name) => {
      kept.get(collection)?.delete(name);
    },
    list: async <T>(collection: string) => live(collection).map(([, { text }]) => parse<T>(text)),
    recentVersion: () => null,
  };
}

function memoryRegisters(): Registers {
  const texts = new Map<string, string>();
  return {
    read: async (name) => texts.get(name) ?? null,
    compareAndSet: async (name, expected, next) => {
      if ((texts.get(name) ?? null) !== expected) return false;
      texts.set(name, next);
      return true;
    },
    version: async (name) => texts.get(name) ?? '',
  };
}

function parse<T>(text: string): T {
  return JSON.parse(text);
}

function memoryListLog(): ListLog {
  const records = new Map<string, ListRecord>();
  let latest = 0;
  return {
    write: async (changes, unless) => {
      const hasOther = [...records.values()].some(
        ({ id, version, text }) =>
          unless !== undefined &&
          version > unless.since &&
          id.startsWith(unless.idsBegin) &&
          text?.startsWith(unless.textsBegin) === false,
      );
      if (hasOther) return null;
      return changes.map(({ id, text, expected }) => {
        const there = records.get(id);
        const isThere = there !== undefined && there.text !== null;
        if (expected !== undefined && !(isThere && there.version === expected)) return false;
        if (text === null && !isThere) return false;
        latest++;
        records.set(id, { id, version: latest, text });
        return true;
      });
    },
    read: async (after, limit) => ({
      records: [...records.values()]
        .filter(({ version }) => version > after)
        .sort((a, b) => a.version - b.version)
        .slice(0, limit),
      latest,
      horizon: 0,
      epoch: latest === 0 ? null : 'simulated',
    }),
  };
}
