import {
  type AskedAttribute,
  boundDeviceVerdicts,
  CLIENTS_ON_DEVICE_MAX,
  countClientWithMarks,
  type DeviceKind,
  groupCountsByName,
  type NamedPseudonym,
  NOBODY_SEEN,
  pickMoreShared,
  SHARING_WINDOW_MS_MAX,
  type SharingCounts,
  type SharingQuestions,
  type Sightings,
} from './facts/fact.ts';
import type { KnownHints } from './payer/hints.ts';
import {
  addPaymentMark,
  BITS_OF_MARK,
  encodeMarks,
  type SightingMarks,
  UNMARKED,
} from './payer/sighting-marks.ts';
import { findStepRange, getStepNumber, VERDICT_STEPS, VERDICTS_OF_STEP_MAX } from './payer/verdict-steps.ts';

export type ShownDevices = Pick<KnownHints, 'fingerprints' | 'ips'>;

/** A device, or a value of an attribute, which stands here as `name/value`. */
type Kind = DeviceKind | 'attribute';

/** How many devices of a client can still learn of its payments; this bounds the memory. */
const DEVICES_OF_CLIENT_MAX = 64;

/** Which clients of a platform were seen on which devices, as the stores count it, in memory. */
export class DeviceSightings<Client = string> {
  readonly #devices: Readonly<Record<Kind, Map<string, OnlyClient<Client> | SeenClients<Client>>>> = {
    fingerprint: new Map(),
    ip: new Map(),
    attribute: new Map(),
  };
  /** For each device the verdicts by step, of each length of steps. */
  readonly #verdicts: Readonly<Record<DeviceKind, Map<string, readonly Map<number, number>[]>>> = {
    fingerprint: new Map(),
    ip: new Map(),
  };
  /** The newest devices of each client, the newest last. */
  readonly #devicesOf = new Map<Client, readonly (readonly [DeviceKind, string])[]>();

  /** `questions` say whether the verdict is counted on the devices. */
  record(
    client: Client,
    { fingerprints, ips }: ShownDevices,
    now: number,
    marks: SightingMarks = UNMARKED,
    questions: SharingQuestions | null = null,
  ): void {
    const bits = encodeMarks(marks);
    if (questions?.fingerprint.notes.verdicts === true)
      for (const id of fingerprints) this.#countVerdict('fingerprint', id, now);
    if (questions?.ip.notes.verdicts === true) for (const id of ips) this.#countVerdict('ip', id, now);
    for (const id of fingerprints) this.#see('fingerprint', id, client, { at: now, bits });
    for (const id of ips) this.#see('ip', id, client, { at: now, bits });
  }

  /** Notes a payment where the client was seen after `since`. */
  notePayment(client: Client, since: number, isUnpaid: boolean): void {
    for (const [kind, id] of this.#devicesOf.get(client) ?? []) {
      const seen = this.#devices[kind].get(id);
      if (seen instanceof SeenClients) seen.notePayment(client, since, isUnpaid);
      else if (seen !== undefined && seen.client === client && seen.at > since)
        seen.bits = addPaymentMark(seen.bits, isUnpaid);
    }
  }

  /**
   * Who was seen on the devices, the client with these marks included; for each window the counts of the most shared
   * device.
   */
  sightings(
    client: Client,
    { fingerprints, ips }: ShownDevices,
    questions: SharingQuestions,
    now: number,
    marks: SightingMarks = UNMARKED,
  ): Sightings {
    return {
      fingerprint: this.#counts('fingerprint', fingerprints, { client, questions, now, marks }),
      ip: this.#counts('ip', ips, { client, questions, now, marks }),
    };
  }

  /** Notes a client with its values of attributes. */
  recordValues(client: Client, values: readonly NamedPseudonym[], now: number): void {
    for (const { name, value } of values)
      this.#see('attribute', `${name}/${value}`, client, { at: now, bits: 0 });
  }

  /** Both; null without values. */
  seeValues(
    client: Client,
    asked: readonly AskedAttribute[],
    now: number,
  ): ReadonlyMap<string, ReadonlyMap<number, number>> | null {
    if (asked.length === 0) return null;
    this.recordValues(client, asked, now);
    return this.clientsWithValues(client, asked, now);
  }

  /** How many clients have each of the values, the client included, by the name of the attribute and the window. */
  clientsWithValues(
    client: Client,
    asked: readonly AskedAttribute[],
    now: number,
  ): ReadonlyMap<string, ReadonlyMap<number, number>> {
    return groupCountsByName(
      asked.map(({ name, value, windowsMs }) => {
        const seen = this.#devices.attribute.get(`${name}/${value}`);
        const count = (windowMs: number) => othersSince(seen, client, now - windowMs).clients + 1;
        return [
          name,
          new Map(windowsMs.map((windowMs) => [windowMs, Math.min(CLIENTS_ON_DEVICE_MAX, count(windowMs))])),
        ];
      }),
    );
  }

  #countVerdict(kind: DeviceKind, id: string, now: number): void {
    const rings = this.#verdicts[kind].getOrInsertComputed(id, () => VERDICT_STEPS.map(() => new Map()));
    for (const [ring, counts] of rings.entries()) {
      const step = getStepNumber(ring, now);
      counts.set(step, Math.min(VERDICTS_OF_STEP_MAX, (counts.get(step) ?? 0) + 1));
      for (const old of counts.keys()) if (old <= step - (VERDICT_STEPS[ring]?.kept ?? 0)) counts.delete(old);
    }
  }

  #verdictsSince(kind: DeviceKind, id: string, windowMs: number, now: number): number {
    const { ring, first } = findStepRange(windowMs, now);
    const counts = this.#verdicts[kind].get(id)?.[ring] ?? new Map<number, number>();
    return [...counts].reduce((sum, [step, verdicts]) => sum + (step >= first ? verdicts : 0), 0);
  }

  #see(kind: Kind, id: string, client: Client, { at, bits }: Sighting): void {
    const devices = this.#devices[kind];
    const seen = devices.get(id);
    if (seen === undefined) devices.set(id, { client, at, bits });
    else if (seen instanceof SeenClients) seen.note(client, { at, bits });
    else if (seen.client === client) {
      seen.at = Math.max(at, seen.at);
      seen.bits = bits;
    } else {
      const clients = new SeenClients<Client>();
      clients.note(seen.client, { at: seen.at, bits: seen.bits });
      clients.note(client, { at, bits });
      devices.set(id, clients);
    }
    if (kind !== 'attribute') this.#remember(client, kind, id);
  }

  #remember(client: Client, kind: DeviceKind, id: string): void {
    const known = this.#devicesOf.get(client) ?? [];
    if (known.some(([otherKind, other]) => otherKind === kind && other === id)) return;
    this.#devicesOf.set(client, [...known, [kind, id] as const].slice(-DEVICES_OF_CLIENT_MAX));
  }

  #counts(
    kind: DeviceKind,
    ids: readonly string[],
    { client, questions, now, marks: own }: Asking<Client>,
  ): ReadonlyMap<number, SharingCounts> {
    const counts = new Map<number, SharingCounts>();
    const { windowsMs, marks, verdictWindowsMs } = questions[kind];
    for (const id of ids) {
      const seen = this.#devices[kind].get(id);
      for (const windowMs of windowsMs) {
        const others = othersSince(seen, client, now - windowMs);
        const clients = Math.min(CLIENTS_ON_DEVICE_MAX, others.clients + 1);
        const verdicts = verdictWindowsMs.includes(windowMs)
          ? boundDeviceVerdicts(this.#verdictsSince(kind, id, windowMs, now), clients)
          : 0;
        const here = countClientWithMarks({ ...others, clients, verdicts }, own, marks);
        counts.set(windowMs, pickMoreShared(here, counts.get(windowMs)));
      }
    }
    return counts;
  }
}

interface Asking<Client> {
  readonly client: Client;
  readonly questions: SharingQuestions;
  readonly now: number;
  readonly marks: SightingMarks;
}

interface Sighting {
  /** Epoch ms. */
  readonly at: number;
  /** See `encodeMarks`. */
  readonly bits: number;
}

/** Most devices belong to one client and need no more than this. */
interface OnlyClient<Client> {
  readonly client: Client;
  at: number;
  bits: number;
}

class SeenClients<Client> {
  /** The one seen longest ago comes first. */
  readonly #last = new Map<Client, Sighting>();
  /** The times of all, and of those with each mark, in order, so that counting needs no walk over a thousand clients. */
  readonly #times: Record<Counted, number[]> = {
    clients: [],
    paying: [],
    unpaid: [],
    blocked: [],
    orders1: [],
    orders2: [],
    orders4: [],
    orders8: [],
    orders16: [],
  };

  note(client: Client, { at: now, bits }: Sighting): void {
    const at = Math.max(now, this.#last.get(client)?.at ?? 0);
    this.#forget(client);
    this.#last.set(client, { at, bits });
    for (const name of timesWith(bits)) insert(this.#times[name], at);
    for (const [oldest, seen] of this.#last) {
      const kept = this.#last.size <= CLIENTS_ON_DEVICE_MAX && seen.at > now - SHARING_WINDOW_MS_MAX;
      if (kept) return;
      this.#forget(oldest);
    }
  }

  notePayment(client: Client, since: number, isUnpaid: boolean): void {
    const seen = this.#last.get(client);
    if (seen === undefined || seen.at <= since) return;
    const bits = addPaymentMark(seen.bits, isUnpaid);
    for (const name of timesWith(seen.bits)) remove(this.#times[name], seen.at);
    for (const name of timesWith(bits)) insert(this.#times[name], seen.at);
    // In its place in the order.
    this.#last.set(client, { at: seen.at, bits });
  }

  /** How many clients but this one were seen after `since`. */
  othersSince(client: Client, since: number): SharingCounts {
    const own = this.#last.get(client);
    const ownNames = own !== undefined && own.at > since ? timesWith(own.bits) : [];
    const count = (name: Counted) => {
      const times = this.#times[name];
      return times.length - firstAfter(times, since) - (ownNames.includes(name) ? 1 : 0);
    };
    return {
      clients: count('clients'),
      verdicts: 0,
      paying: count('paying'),
      unpaid: count('unpaid'),
      blocked: count('blocked'),
      unpaidOrders: ORDER_DIGITS.reduce((sum, { name, weight }) => sum + weight * count(name), 0),
    };
  }

  #forget(client: Client): void {
    const seen = this.#last.get(client);
    if (seen === undefined) return;
    this.#last.delete(client);
    for (const name of timesWith(seen.bits)) remove(this.#times[name], seen.at);
  }
}

/** The unpaid orders of a client as the digits of a binary number, each with the bit that tells it. */
const ORDER_DIGITS = [
  { name: 'orders1', weight: 1 },
  { name: 'orders2', weight: 2 },
  { name: 'orders4', weight: 4 },
  { name: 'orders8', weight: 8 },
  { name: 'orders16', weight: 16 },
] as const;

/** What is counted of clients: all of them, and those with a mark. */
type Counted = 'clients' | 'paying' | 'unpaid' | 'blocked' | (typeof ORDER_DIGITS)[number]['name'];

/** For each number of bits: where a client with these marks counts. */
const TIMES_WITH: readonly (readonly Counted[])[] = Array.from({ length: 256 }, (_, bits) => [
  'clients',
  ...(['paying', 'unpaid', 'blocked'] as const).filter((mark) => (bits & BITS_OF_MARK[mark]) !== 0),
  ...ORDER_DIGITS.flatMap(({ name, weight }) => (((bits >> 3) & weight) !== 0 ? [name] : [])),
]);

function timesWith(bits: number): readonly Counted[] {
  return TIMES_WITH[bits] ?? [];
}

function othersSince<Client>(
  seen: OnlyClient<Client> | SeenClients<Client> | undefined,
  client: Client,
  since: number,
): SharingCounts {
  if (seen === undefined) return NOBODY_SEEN;
  if (seen instanceof SeenClients) return seen.othersSince(client, since);
  if (seen.client === client || seen.at <= since) return NOBODY_SEEN;
  const { bits } = seen;
  return {
    clients: 1,
    verdicts: 0,
    paying: bits & 1,
    unpaid: (bits >> 1) & 1,
    blocked: (bits >> 2) & 1,
    unpaidOrders: bits >> 3,
  };
}

function insert(times: number[], at: number): void {
  times.splice(firstAfter(times, at), 0, at);
}

function remove(times: number[], at: number): void {
  times.splice(firstAfter(times, at) - 1, 1);
}

/** The place of the first of some ordered times that is after `since`; their number when none is. */
function firstAfter(times: readonly number[], since: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) > since) high = middle;
    else low = middle + 1;
  }
  return low;
}
