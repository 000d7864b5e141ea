import type { Decision } from '#decision/decision.ts';
import {
  decodeDecisionRow,
  encodeDecision,
  isDecisionRow,
  parseDecisionOrRow,
  parseRecordDictionary,
  type RecordDictionary,
} from '#decision/decision-record.ts';
import {
  type AskedAttribute,
  addClientMarks,
  CLIENTS_ON_DEVICE_MAX,
  computeDeviceVerdictCount,
  type DeviceKind,
  type DeviceSharingCounts,
  groupCountsByName,
  type Sightings,
} from '#decision/facts/fact.ts';
import { type ClientKey, type PlatformName, toClientNumberText } from '#decision/payer/client-key.ts';
import { toShortHash } from '#decision/payer/client-state.ts';
import { encodeOrder } from '#decision/payer/order-text.ts';
import { addPaymentToMarkBits, encodeSightingMarks } from '#decision/payer/sighting-marks.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';
import { getFirstImpossibleStep, getStepNumber, getWindowFirstStep } from '#decision/payer/verdict-steps.ts';
import {
  type AnyJournalEntry,
  decodeJournalEntry,
  encodeJournalEntry,
  type PlacedEntry,
  toVerdictEntry,
} from '#state/journal.ts';
import type {
  ClientFromStore,
  Commit,
  LoadOptions,
  PaymentToNote,
  SightingsQueryAndNote,
} from '#state/store.ts';
import { decodeClientFromStore, toAnswerToStore } from '#state/stored-parts.ts';

/** All data of one client, as the texts of the real stores. */
interface StoredClient {
  readonly raw: string;
  readonly decisions: ReadonlyMap<number, string>;
  readonly orders: ReadonlyMap<string, string>;
  /** The number of the decision by the Idempotency-Key. */
  readonly answers: ReadonlyMap<string, number>;
}

export interface JournalRow {
  readonly clientHash: string;
  readonly text: string;
}

/** What a store keeps of clients, changed one call at a time: the server's side of the port. */
export class StoredClients {
  readonly #clients = new Map<string, StoredClient>();
  readonly #devices = new Map<string, Map<string, Sighting>>();
  /** When the verdicts on a device were asked that some rule set counts. */
  readonly #verdicts = new Map<string, readonly number[]>();
  readonly #claims = new Map<string, string>();
  readonly #shapes = new Map<string, RecordDictionary>();
  #journal: readonly JournalRow[] = [];

  load(client: ClientKey, { orderRef, idempotencyKey }: LoadOptions, nowMs: number): ClientFromStore {
    const stored = this.#clients.get(client.hash);
    const raw = stored?.raw ?? null;
    const order = orderRef === undefined ? undefined : stored?.orders.get(toShortHash(orderRef));
    const answer = idempotencyKey === undefined ? undefined : stored?.answers.get(idempotencyKey);
    const answered = answer === undefined ? null : toAnswerToStore(this.#decision(client.hash, answer));
    const snapshot = decodeClientFromStore({ state: raw, order: order ?? null, answer: answered }, nowMs);
    return { ...snapshot, stamp: { ...snapshot.stamp, arrivedMs: nowMs } };
  }

  commit(change: Commit): 'committed' | 'conflict' {
    if ((this.#clients.get(change.client.hash)?.raw ?? null) !== change.stamp.raw) return 'conflict';
    this.write(change);
    return 'committed';
  }

  /** Writes a change without checking what it was made from. */
  write({ client, state, entry, decision, shape, displaced, idempotencyKey }: Commit): void {
    const { decisions, orders, answers } = this.#clients.get(client.hash) ?? NOTHING;
    if (shape !== undefined && !this.#shapes.has(shape.id))
      this.#shapes.set(shape.id, parseRecordDictionary(shape.text));
    const isReplayable = idempotencyKey !== undefined && decision !== undefined;
    this.#clients.set(client.hash, {
      raw: encodeClientState(state),
      decisions:
        decision === undefined
          ? decisions
          : new Map(decisions).set(decision.seq, encodeDecision(decision, shape)),
      orders: new Map([
        ...orders,
        ...(displaced?.orders ?? []).map((order) => [order.token, encodeOrder(order)] as const),
      ]),
      answers: isReplayable ? new Map(answers).set(idempotencyKey, decision.seq) : answers,
    });
    this.#journal = [...this.#journal, { clientHash: client.hash, text: encodeJournalEntry(entry) }];
  }

  sightings(ask: SightingsQueryAndNote): Sightings {
    if (ask.record) {
      this.#note(ask, 'fingerprint');
      this.#note(ask, 'ip');
      for (const asked of ask.attributes ?? []) this.#noteValue(ask, asked);
    }
    const devices = { fingerprint: this.#count(ask, 'fingerprint'), ip: this.#count(ask, 'ip') };
    if (ask.attributes === undefined) return devices;
    const counted = ask.attributes.map((asked) => [asked.name, this.#countWithValue(ask, asked)] as const);
    return { ...devices, attributes: groupCountsByName(counted) };
  }

  notePayment({ client: { hash }, since, isUnpaid }: PaymentToNote): void {
    for (const seen of this.#devices.values()) {
      const known = seen.get(hash);
      if (known !== undefined && known.at > since)
        seen.set(hash, { ...known, bits: addPaymentToMarkBits(known.bits, isUnpaid) });
    }
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

  erase({ platform, hash }: Pick<ClientKey, 'platform' | 'hash'>, nowMs: number): void {
    const answers = this.#clients.get(hash)?.answers ?? NOTHING.answers;
    for (const key of answers.keys()) this.#claims.delete(JSON.stringify([platform, key]));
    this.#clients.delete(hash);
    for (const seen of this.#devices.values()) seen.delete(hash);
    const erasure = { kind: 'erasure', at: nowMs, platform, clientNumber: toClientNumberText(hash) } as const;
    const others = this.#journal.filter(({ clientHash }) => clientHash !== hash);
    this.#journal = [...others, { clientHash: '', text: encodeJournalEntry(erasure) }];
  }

  /** A client's decisions in their order. */
  decisionsOf(clientHash: string): readonly Decision[] {
    const numbers = [...(this.#clients.get(clientHash)?.decisions.keys() ?? [])];
    return numbers.sort((a, b) => a - b).map((seq) => this.#decision(clientHash, seq));
  }

  /** Decisions of all clients, newest first. */
  allDecisions(): readonly Decision[] {
    return [...this.#clients.keys()]
      .flatMap((hash) => this.decisionsOf(hash))
      .sort((a, b) => b.at - a.at || b.seq - a.seq);
  }

  /** The entries after a number of them, in the order in which they were accepted. */
  journal(after = 0, limit = Number.MAX_SAFE_INTEGER): readonly PlacedEntry<AnyJournalEntry>[] {
    return this.#journal
      .flatMap((row, index) => (index < after ? [] : this.#placed(row, index)))
      .slice(0, limit);
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

  #decision(clientHash: string, seq: number): Decision {
    const text = this.#clients.get(clientHash)?.decisions.get(seq);
    if (text === undefined) throw new Error(`decision ${seq} of ${clientHash} is not kept`);
    const record = parseDecisionOrRow(text);
    if (!isDecisionRow(record)) return record;
    const [shapeId] = record;
    const shape = this.#shapes.get(shapeId);
    if (shape === undefined) throw new Error(`decision ${seq} has the shape ${shapeId}, which is not kept`);
    return decodeDecisionRow(record, clientHash, shape);
  }

  /** The entry of a row; none where the decision that it refers to is not kept. */
  #placed({ clientHash, text }: JournalRow, seq: number): readonly PlacedEntry<AnyJournalEntry>[] {
    const [parsed, place] = [decodeJournalEntry(text), { partition: 0, ms: 0, seq }];
    if ('kind' in parsed) return [{ ...parsed, place }];
    const isKept = this.#clients.get(clientHash)?.decisions.has(parsed.seq) === true;
    return isKept ? [{ ...toVerdictEntry(this.#decision(clientHash, parsed.seq)), place }] : [];
  }

  #note(ask: SightingsQueryAndNote, kind: DeviceKind): void {
    const device = deviceOf(ask, kind);
    if (device === null) return;
    const seen = this.#devices.get(device) ?? new Map<string, Sighting>();
    const at = Math.max(ask.at, seen.get(ask.client.hash)?.at ?? ask.at);
    const { notes } = ask.sharing[kind];
    const ordersBefore = (seen.get(ask.client.hash)?.bits ?? 0) & ~7;
    const own = encodeSightingMarks(ask.marks);
    const bits = notes.unpaidOrders ? own : (own & 7) | ordersBefore;
    seen.set(ask.client.hash, { at, bits });
    if (notes.verdicts && ask.isRepeated !== true)
      this.#verdicts.set(device, [...(this.#verdicts.get(device) ?? []), ask.at]);
    const newest = [...seen].sort(([, one], [, other]) => other.at - one.at).slice(0, CLIENTS_ON_DEVICE_MAX);
    this.#devices.set(device, new Map(newest));
  }

  #noteValue({ client, at }: SightingsQueryAndNote, { name, value }: AskedAttribute): void {
    const holder = `${client.platform}/attribute/${name}/${value}`;
    const seen = this.#devices.get(holder) ?? new Map<string, Sighting>();
    seen.set(client.hash, { at: Math.max(at, seen.get(client.hash)?.at ?? at), bits: 0 });
    const newest = [...seen].sort(([, one], [, other]) => other.at - one.at).slice(0, CLIENTS_ON_DEVICE_MAX);
    this.#devices.set(holder, new Map(newest));
  }

  #countWithValue(
    { client, at: now }: SightingsQueryAndNote,
    { name, value, windowsMs }: AskedAttribute,
  ): ReadonlyMap<number, number> {
    const seen = [...(this.#devices.get(`${client.platform}/attribute/${name}/${value}`) ?? [])];
    const others = seen.filter(([hash]) => hash !== client.hash).map(([, { at }]) => at);
    const count = (windowMs: number) => others.filter((at) => at > now - windowMs).length + 1;
    return new Map(windowsMs.map((windowMs) => [windowMs, Math.min(CLIENTS_ON_DEVICE_MAX, count(windowMs))]));
  }

  #count(ask: SightingsQueryAndNote, kind: DeviceKind): ReadonlyMap<number, DeviceSharingCounts> {
    const device = deviceOf(ask, kind);
    if (device === null) return new Map();
    const others = [...(this.#devices.get(device) ?? [])].filter(([hash]) => hash !== ask.client.hash);
    const { windowsMs, marks, verdictWindowsMs } = ask.sharing[kind];
    const verdictsIn = (windowMs: number) => {
      const { ring, first } = getWindowFirstStep(windowMs, ask.at);
      const end = getFirstImpossibleStep(ring, ask.at);
      const steps = (this.#verdicts.get(device) ?? []).map((at) => getStepNumber(ring, at));
      return steps.filter((step) => step >= first && step < end).length;
    };
    return new Map(
      windowsMs.map((windowMs) => {
        const recent = others.filter(([, { at }]) => at > ask.at - windowMs);
        const having = (bit: number) => recent.filter(([, { bits }]) => (bits & bit) !== 0).length;
        const clients = Math.min(CLIENTS_ON_DEVICE_MAX, recent.length + 1);
        const seen = {
          clients,
          verdicts: verdictWindowsMs.includes(windowMs)
            ? computeDeviceVerdictCount(verdictsIn(windowMs), clients)
            : 0,
          unpaidOrders: recent.reduce((sum, [, { bits }]) => sum + (bits >> 3), 0),
          paying: having(1),
          unpaid: having(2),
          blocked: having(4),
        };
        return [windowMs, addClientMarks(seen, ask.marks, marks)];
      }),
    );
  }
}

interface Sighting {
  readonly at: number;
  readonly bits: number;
}

const NOTHING: Omit<StoredClient, 'raw'> = {
  decisions: new Map(),
  orders: new Map(),
  answers: new Map(),
};

function deviceOf({ client, ...ask }: SightingsQueryAndNote, kind: DeviceKind): string | null {
  const id = ask[kind];
  return id === null ? null : `${client.platform}/${kind}/${id}`;
}
