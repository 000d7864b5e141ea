import {
  type AskedAttribute,
  addClientMarks,
  CLIENTS_ON_DEVICE_MAX,
  computeDeviceVerdictCount,
  type DeviceKind,
  type DeviceSharingCounts,
  groupCountsByName,
  type NamedPseudonym,
  NOBODY_SEEN,
  pickMoreSharedCounts,
  SHARING_WINDOW_MS_MAX,
  type SharingQuestions,
  type Sightings,
} from './facts/fact.ts';
import type { KnownHints } from './payer/hints.ts';
import {
  addPaymentToMarkBits,
  encodeSightingMarks,
  MARK_BITS,
  NO_SIGHTING_MARKS,
  type SightingMarks,
} from './payer/sighting-marks.ts';
import {
  getStepNumber,
  getWindowFirstStep,
  VERDICT_STEPS,
  VERDICTS_OF_STEP_MAX,
} from './payer/verdict-steps.ts';

export type ShownDevices = Pick<KnownHints, 'fingerprints' | 'ips'>;

/**
 * The kinds of things on which clients are seen: devices, and values of attributes. The id of an attribute's value is
 * `name/value`.
 */
type SightingKind = DeviceKind | 'attribute';

/** The most devices of a client on which its payments are noted. The limit bounds the memory. */
const DEVICES_OF_CLIENT_MAX = 64;

/** Sightings of one platform in memory: which clients were seen on which devices, counted as the stores count them. */
export class DeviceSightingsInMemory<Client = string> {
  readonly #devices: Readonly<Record<SightingKind, Map<string, SingleClient<Client> | SeenClients<Client>>>> =
    {
      fingerprint: new Map(),
      ip: new Map(),
      attribute: new Map(),
    };
  /**
   * For each device, one counter of verdicts for each step length in VERDICT_STEPS. A counter maps the number of a
   * time step to the number of verdicts in that step.
   */
  readonly #verdicts: Readonly<Record<DeviceKind, Map<string, readonly Map<number, number>[]>>> = {
    fingerprint: new Map(),
    ip: new Map(),
  };
  /** The devices of each client, the newest last. */
  readonly #devicesOf = new Map<Client, readonly (readonly [DeviceKind, string])[]>();

  /**
   * Notes a client on its devices. If `questions` asks for the verdicts on a kind of device, one verdict is also
   * counted on each device of this kind.
   */
  recordDevices(
    client: Client,
    { fingerprints, ips }: ShownDevices,
    now: number,
    marks: SightingMarks = NO_SIGHTING_MARKS,
    questions: SharingQuestions | null = null,
  ): void {
    const bits = encodeSightingMarks(marks);
    if (questions?.fingerprint.notes.verdicts === true)
      for (const id of fingerprints) this.#countVerdict('fingerprint', id, now);
    if (questions?.ip.notes.verdicts === true) for (const id of ips) this.#countVerdict('ip', id, now);
    for (const id of fingerprints) this.#noteSighting('fingerprint', id, client, { at: now, bits });
    for (const id of ips) this.#noteSighting('ip', id, client, { at: now, bits });
  }

  /** Notes a payment on the devices on which the client was seen after `since` (epoch ms). */
  notePayment(client: Client, since: number, isUnpaid: boolean): void {
    for (const [kind, id] of this.#devicesOf.get(client) ?? []) {
      const seen = this.#devices[kind].get(id);
      if (seen instanceof SeenClients) seen.notePayment(client, since, isUnpaid);
      else if (seen !== undefined && seen.client === client && seen.at > since)
        seen.bits = addPaymentToMarkBits(seen.bits, isUnpaid);
    }
  }

  /**
   * Counts the clients that were seen on the devices. The client itself is counted with `marks`. For each window, the
   * result has the counts of the device that most clients share.
   */
  countClientsOnDevices(
    client: Client,
    { fingerprints, ips }: ShownDevices,
    questions: SharingQuestions,
    now: number,
    marks: SightingMarks = NO_SIGHTING_MARKS,
  ): Sightings {
    return {
      fingerprint: this.#countSharing('fingerprint', fingerprints, { client, questions, now, marks }),
      ip: this.#countSharing('ip', ips, { client, questions, now, marks }),
    };
  }

  /** Notes a client on its values of attributes. */
  recordValues(client: Client, values: readonly NamedPseudonym[], now: number): void {
    for (const { name, value } of values)
      this.#noteSighting('attribute', `${name}/${value}`, client, { at: now, bits: 0 });
  }

  /**
   * Notes the client on its values of attributes, and then counts the clients that have each value. Returns null if
   * `asked` is empty.
   */
  recordAndCountValues(
    client: Client,
    asked: readonly AskedAttribute[],
    now: number,
  ): ReadonlyMap<string, ReadonlyMap<number, number>> | null {
    if (asked.length === 0) return null;
    this.recordValues(client, asked, now);
    return this.countClientsWithValues(client, asked, now);
  }

  /**
   * Counts the clients that have each of the values, including this client. The counts are grouped by the name of the
   * attribute and the window in ms.
   */
  countClientsWithValues(
    client: Client,
    asked: readonly AskedAttribute[],
    now: number,
  ): ReadonlyMap<string, ReadonlyMap<number, number>> {
    return groupCountsByName(
      asked.map(({ name, value, windowsMs }) => {
        const seen = this.#devices.attribute.get(`${name}/${value}`);
        const count = (windowMs: number) => countOthersOnDevice(seen, client, now - windowMs).clients + 1;
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

  #countVerdictsSince(kind: DeviceKind, id: string, windowMs: number, now: number): number {
    const { ring, first } = getWindowFirstStep(windowMs, now);
    const counts = this.#verdicts[kind].get(id)?.[ring] ?? new Map<number, number>();
    return [...counts].reduce((sum, [step, verdicts]) => sum + (step >= first ? verdicts : 0), 0);
  }

  #noteSighting(kind: SightingKind, id: string, client: Client, { at, bits }: Sighting): void {
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
    if (kind !== 'attribute') this.#rememberDevice(client, kind, id);
  }

  #rememberDevice(client: Client, kind: DeviceKind, id: string): void {
    const known = this.#devicesOf.get(client) ?? [];
    if (known.some(([otherKind, other]) => otherKind === kind && other === id)) return;
    this.#devicesOf.set(client, [...known, [kind, id] as const].slice(-DEVICES_OF_CLIENT_MAX));
  }

  #countSharing(
    kind: DeviceKind,
    ids: readonly string[],
    { client, questions, now, marks: own }: SharingQuery<Client>,
  ): ReadonlyMap<number, DeviceSharingCounts> {
    const counts = new Map<number, DeviceSharingCounts>();
    const { windowsMs, marks, verdictWindowsMs } = questions[kind];
    for (const id of ids) {
      const seen = this.#devices[kind].get(id);
      for (const windowMs of windowsMs) {
        const others = countOthersOnDevice(seen, client, now - windowMs);
        const clients = Math.min(CLIENTS_ON_DEVICE_MAX, others.clients + 1);
        const verdicts = verdictWindowsMs.includes(windowMs)
          ? computeDeviceVerdictCount(this.#countVerdictsSince(kind, id, windowMs, now), clients)
          : 0;
        const here = addClientMarks({ ...others, clients, verdicts }, own, marks);
        counts.set(windowMs, pickMoreSharedCounts(here, counts.get(windowMs)));
      }
    }
    return counts;
  }
}

interface SharingQuery<Client> {
  readonly client: Client;
  readonly questions: SharingQuestions;
  readonly now: number;
  readonly marks: SightingMarks;
}

interface Sighting {
  /** Epoch ms. */
  readonly at: number;
  /** The encoded marks, see `encodeSightingMarks`. */
  readonly bits: number;
}

/** A device with a single client. Most devices belong to one client, and need no larger structure. */
interface SingleClient<Client> {
  readonly client: Client;
  at: number;
  bits: number;
}

class SeenClients<Client> {
  /** The newest sighting of each client. The client that was seen longest ago comes first. */
  readonly #last = new Map<Client, Sighting>();
  /**
   * For each counted group of clients, the sorted times at which its clients were last seen. With them, a count is a
   * binary search and does not visit a thousand clients.
   */
  readonly #times: Record<CountedGroup, number[]> = {
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
    for (const name of listCountedGroups(bits)) insertTime(this.#times[name], at);
    for (const [oldest, seen] of this.#last) {
      const kept = this.#last.size <= CLIENTS_ON_DEVICE_MAX && seen.at > now - SHARING_WINDOW_MS_MAX;
      if (kept) return;
      this.#forget(oldest);
    }
  }

  notePayment(client: Client, since: number, isUnpaid: boolean): void {
    const seen = this.#last.get(client);
    if (seen === undefined || seen.at <= since) return;
    const bits = addPaymentToMarkBits(seen.bits, isUnpaid);
    for (const name of listCountedGroups(seen.bits)) removeTime(this.#times[name], seen.at);
    for (const name of listCountedGroups(bits)) insertTime(this.#times[name], seen.at);
    // The client keeps its position in the map.
    this.#last.set(client, { at: seen.at, bits });
  }

  /** Counts the clients that were seen after `since`, without `client`. */
  countOthersSince(client: Client, since: number): DeviceSharingCounts {
    const own = this.#last.get(client);
    const ownNames = own !== undefined && own.at > since ? listCountedGroups(own.bits) : [];
    const count = (name: CountedGroup) => {
      const times = this.#times[name];
      return times.length - findFirstAfter(times, since) - (ownNames.includes(name) ? 1 : 0);
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
    for (const name of listCountedGroups(seen.bits)) removeTime(this.#times[name], seen.at);
  }
}

/** The binary digits of the number of unpaid orders of a client, with the weight of each. */
const ORDER_DIGITS = [
  { name: 'orders1', weight: 1 },
  { name: 'orders2', weight: 2 },
  { name: 'orders4', weight: 4 },
  { name: 'orders8', weight: 8 },
  { name: 'orders16', weight: 16 },
] as const;

/**
 * The groups of clients that are counted: all clients, the clients with a mark, and the clients with a digit of
 * ORDER_DIGITS.
 */
type CountedGroup = 'clients' | 'paying' | 'unpaid' | 'blocked' | (typeof ORDER_DIGITS)[number]['name'];

/** The groups in which a client is counted. The index is the client's encoded marks. */
const COUNTED_GROUPS: readonly (readonly CountedGroup[])[] = Array.from({ length: 256 }, (_, bits) => [
  'clients',
  ...(['paying', 'unpaid', 'blocked'] as const).filter((mark) => (bits & MARK_BITS[mark]) !== 0),
  ...ORDER_DIGITS.flatMap(({ name, weight }) => (((bits >> 3) & weight) !== 0 ? [name] : [])),
]);

function listCountedGroups(bits: number): readonly CountedGroup[] {
  return COUNTED_GROUPS[bits] ?? [];
}

function countOthersOnDevice<Client>(
  seen: SingleClient<Client> | SeenClients<Client> | undefined,
  client: Client,
  since: number,
): DeviceSharingCounts {
  if (seen === undefined) return NOBODY_SEEN;
  if (seen instanceof SeenClients) return seen.countOthersSince(client, since);
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

function insertTime(times: number[], at: number): void {
  times.splice(findFirstAfter(times, at), 0, at);
}

function removeTime(times: number[], at: number): void {
  times.splice(findFirstAfter(times, at) - 1, 1);
}

/**
 * Finds the index of the first of the sorted times that is after `since`. Returns the length of the list if no time
 * is after `since`.
 */
function findFirstAfter(times: readonly number[], since: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) > since) high = middle;
    else low = middle + 1;
  }
  return low;
}
