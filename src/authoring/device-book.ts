import type { KnownHints } from '../client/hints.ts';
import { CLIENTS_ON_DEVICE_MAX, SHARING_WINDOW_MS_MAX, type Sightings } from '../facts/fact.ts';
import type { RuleSet } from '../rules/rule-set.ts';

/** The devices that a payer showed. */
export type Devices = Pick<KnownHints, 'fingerprints' | 'ips'>;

type Kind = keyof Sightings;

/** Which clients of a platform were seen on which devices, as the stores count it, in memory. */
export class DeviceBook<Client = string> {
  readonly #lastSeen: Readonly<Record<Kind, Map<string, OnlyClient<Client> | SeenClients<Client>>>> = {
    fingerprint: new Map(),
    ip: new Map(),
  };

  /** Notes that a client asked for a verdict with these devices. */
  record(client: Client, { fingerprints, ips }: Devices, now: number): void {
    for (const id of fingerprints) this.#see('fingerprint', id, client, now);
    for (const id of ips) this.#see('ip', id, client, now);
  }

  /** How many clients were seen on the devices, for each of the windows; of several devices the most shared one counts. */
  sightings(
    client: Client,
    { fingerprints, ips }: Devices,
    windowsMs: RuleSet['sharingWindowsMs'],
    now: number,
  ): Sightings {
    return {
      fingerprint: this.#counts('fingerprint', fingerprints, client, windowsMs.fingerprint, now),
      ip: this.#counts('ip', ips, client, windowsMs.ip, now),
    };
  }

  #see(kind: Kind, id: string, client: Client, now: number): void {
    const devices = this.#lastSeen[kind];
    const seen = devices.get(id);
    if (seen === undefined) devices.set(id, { client, at: now });
    else if (seen instanceof SeenClients) seen.note(client, now);
    else if (seen.client === client) seen.at = Math.max(now, seen.at);
    else {
      const clients = new SeenClients<Client>();
      clients.note(seen.client, seen.at);
      clients.note(client, now);
      devices.set(id, clients);
    }
  }

  #counts(
    kind: Kind,
    ids: readonly string[],
    client: Client,
    windowsMs: readonly number[],
    now: number,
  ): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const id of ids) {
      const seen = this.#lastSeen[kind].get(id);
      for (const windowMs of windowsMs) {
        const clients = Math.min(CLIENTS_ON_DEVICE_MAX, 1 + othersSince(seen, client, now - windowMs));
        counts.set(windowMs, Math.max(clients, counts.get(windowMs) ?? 0));
      }
    }
    return counts;
  }
}

/** Most devices belong to one client and need no more than this. */
interface OnlyClient<Client> {
  readonly client: Client;
  at: number;
}

/** The clients of a device and when each was last seen there. */
class SeenClients<Client> {
  /** The one seen longest ago comes first. */
  readonly #lastAt = new Map<Client, number>();
  /** The same times in order, so that counting needs no walk over a thousand clients. */
  readonly #times: number[] = [];

  note(client: Client, now: number): void {
    const before = this.#lastAt.get(client);
    const at = Math.max(now, before ?? 0);
    this.#forget(client);
    this.#lastAt.set(client, at);
    this.#times.splice(firstAfter(this.#times, at), 0, at);
    for (const [oldest, seenAt] of this.#lastAt) {
      const kept = this.#lastAt.size <= CLIENTS_ON_DEVICE_MAX && seenAt > now - SHARING_WINDOW_MS_MAX;
      if (kept) return;
      this.#forget(oldest);
    }
  }

  /** How many clients but this one were seen after `since`. */
  othersSince(client: Client, since: number): number {
    const all = this.#times.length - firstAfter(this.#times, since);
    return (this.#lastAt.get(client) ?? since) > since ? all - 1 : all;
  }

  #forget(client: Client): void {
    const at = this.#lastAt.get(client);
    if (at === undefined) return;
    this.#lastAt.delete(client);
    this.#times.splice(firstAfter(this.#times, at) - 1, 1);
  }
}

function othersSince<Client>(
  seen: OnlyClient<Client> | SeenClients<Client> | undefined,
  client: Client,
  since: number,
): number {
  if (seen === undefined) return 0;
  if (seen instanceof SeenClients) return seen.othersSince(client, since);
  return seen.at > since && seen.client !== client ? 1 : 0;
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

/** A Map keeps the order of insertion, so the oldest entries are its first. */
export function forgetOldest(entries: Map<string, unknown>, keep: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= keep) return;
    entries.delete(key);
  }
}
