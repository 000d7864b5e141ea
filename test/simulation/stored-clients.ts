import { type ClientKey, clientNumber, type PlatformName } from '../../src/client/client-key.ts';
import { encodeClientState } from '../../src/client/state-document.ts';
import type { Decision } from '../../src/decision/decision.ts';
import { CLIENTS_ON_DEVICE_MAX, type Sightings } from '../../src/facts/fact.ts';
import { answerOf, readAnswer, readSnapshot } from '../../src/state/snapshot.ts';
import type {
  Change,
  JournalEntry,
  JournalRecord,
  LoadAlso,
  SightingsAsk,
  Snapshot,
} from '../../src/state/store.ts';

/** All that is kept of one client; records are texts, so that nobody can change them from outside. */
interface StoredClient {
  readonly raw: string;
  readonly decisions: ReadonlyMap<number, string>;
  readonly orders: ReadonlyMap<string, string>;
  readonly answers: ReadonlyMap<string, string>;
}

export interface JournalRow {
  readonly clientHash: string;
  readonly text: string;
}

/** What a store keeps of clients, changed one call at a time: the server's side of the port. */
export class StoredClients {
  readonly #clients = new Map<string, StoredClient>();
  readonly #devices = new Map<string, Map<string, number>>();
  readonly #claims = new Map<string, string>();
  #journal: readonly JournalRow[] = [];

  load(client: ClientKey, { orderRef, idempotencyKey }: LoadAlso, nowMs: number): Snapshot {
    const stored = this.#clients.get(client.hash);
    const raw = stored?.raw ?? null;
    const order = orderRef === undefined ? undefined : stored?.orders.get(orderRef);
    const answer = idempotencyKey === undefined ? undefined : stored?.answers.get(idempotencyKey);
    const answered = answer === undefined ? null : readAnswer(answer);
    const snapshot = readSnapshot({ state: raw, order: order ?? null, answer: answered }, nowMs);
    return { ...snapshot, stamp: { ...snapshot.stamp, arrivedMs: nowMs } };
  }

  commit(change: Change): 'committed' | 'conflict' {
    if ((this.#clients.get(change.client.hash)?.raw ?? null) !== change.stamp.raw) return 'conflict';
    this.write(change);
    return 'committed';
  }

  /** Writes a change without asking what it was made from. */
  write({ client, state, entry, decision, outcome, idempotencyKey }: Change): void {
    const stored = this.#clients.get(client.hash);
    const { decisions, orders, answers } = stored ?? NOTHING;
    const isReplayable = idempotencyKey !== undefined && entry.kind === 'verdict';
    this.#clients.set(client.hash, {
      raw: encodeClientState(state),
      decisions: decision === undefined ? decisions : added(decisions, decision.seq, decision),
      orders: outcome === undefined ? orders : added(orders, outcome.orderRef, outcome.order),
      answers: isReplayable ? added(answers, idempotencyKey, answerOf(entry.decision)) : answers,
    });
    this.#journal = [...this.#journal, { clientHash: client.hash, text: JSON.stringify(entry) }];
  }

  sightings(ask: SightingsAsk): Sightings {
    if (ask.record) {
      this.#note(ask, 'fingerprint');
      this.#note(ask, 'ip');
    }
    return { fingerprint: this.#count(ask, 'fingerprint'), ip: this.#count(ask, 'ip') };
  }

  claim(platform: PlatformName, key: string, requestHash: string): string {
    const name = JSON.stringify([platform, key]);
    const earlier = this.#claims.get(name);
    if (earlier === undefined) this.#claims.set(name, requestHash);
    return earlier ?? requestHash;
  }

  /** Puts a text in the place of a client's stored state. */
  spoil({ hash }: ClientKey, raw: string): void {
    const stored = this.#clients.get(hash);
    if (stored !== undefined) this.#clients.set(hash, { ...stored, raw });
  }

  erase({ platform, hash }: ClientKey, nowMs: number): void {
    const answers = this.#clients.get(hash)?.answers ?? new Map<string, string>();
    for (const key of answers.keys()) this.#claims.delete(JSON.stringify([platform, key]));
    this.#clients.delete(hash);
    for (const seen of this.#devices.values()) seen.delete(hash);
    const erasure = { kind: 'erasure', at: nowMs, platform, clientNumber: clientNumber(hash) };
    const others = this.#journal.filter(({ clientHash }) => clientHash !== hash);
    this.#journal = [...others, { clientHash: '', text: JSON.stringify(erasure) }];
  }

  /** A client's decisions in their order. */
  decisionsOf(clientHash: string): readonly Decision[] {
    const decisions = [...(this.#clients.get(clientHash)?.decisions ?? [])];
    return decisions.sort(([a], [b]) => a - b).map(([, text]): Decision => JSON.parse(text));
  }

  /** Decisions of all clients, newest first. */
  allDecisions(): readonly Decision[] {
    return [...this.#clients.keys()]
      .flatMap((hash) => this.decisionsOf(hash))
      .sort((a, b) => b.at - a.at || b.seq - a.seq);
  }

  /** The entries after a number of them, in the order in which they were accepted. */
  journal(after = 0, limit = Number.MAX_SAFE_INTEGER): readonly JournalRecord[] {
    return this.#journal.slice(after, after + limit).map(({ text }): JournalRecord => JSON.parse(text));
  }

  /** The entries about a client, in the order in which they were accepted. */
  journalOf(clientHash: string): readonly JournalEntry[] {
    const mine = this.#journal.filter((row) => row.clientHash === clientHash);
    return mine.map(({ text }): JournalEntry => JSON.parse(text));
  }

  /** Everything, as text in which names can be searched. */
  dump(): string {
    const clients = [...this.#clients].map(([hash, { raw, decisions, orders, answers }]) => [
      [hash, raw],
      [...decisions, ...orders, ...answers],
    ]);
    const devices = [...this.#devices].map(([device, seen]) => [device, [...seen]]);
    return JSON.stringify([clients, devices, this.#journal]);
  }

  #note(ask: SightingsAsk, kind: keyof Sightings): void {
    const device = deviceOf(ask, kind);
    if (device === null) return;
    const seen = this.#devices.get(device) ?? new Map<string, number>();
    seen.set(ask.client.hash, Math.max(ask.at, seen.get(ask.client.hash) ?? ask.at));
    this.#devices.set(device, seen);
  }

  #count(ask: SightingsAsk, kind: keyof Sightings): ReadonlyMap<number, number> {
    const device = deviceOf(ask, kind);
    if (device === null) return new Map();
    const others = [...(this.#devices.get(device) ?? [])].filter(([hash]) => hash !== ask.client.hash);
    return new Map(
      ask.windowsMs[kind].map((windowMs) => {
        const recent = others.filter(([, at]) => at > ask.at - windowMs);
        return [windowMs, Math.min(CLIENTS_ON_DEVICE_MAX, recent.length + 1)];
      }),
    );
  }
}

const NOTHING: Omit<StoredClient, 'raw'> = {
  decisions: new Map(),
  orders: new Map(),
  answers: new Map(),
};

function added<Key>(texts: ReadonlyMap<Key, string>, key: Key, value: object): ReadonlyMap<Key, string> {
  return new Map(texts).set(key, JSON.stringify(value));
}

function deviceOf({ client, ...ask }: SightingsAsk, kind: keyof Sightings): string | null {
  const id = ask[kind];
  return id === null ? null : `${client.platform}/${kind}/${id}`;
}
