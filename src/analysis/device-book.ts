import type { KnownHints } from '../client/hints.ts';
import { CLIENTS_ON_DEVICE_MAX, SHARING_WINDOW_MS_MAX, type Sightings } from '../facts/fact.ts';
import type { RuleSet } from '../rules/rule-set.ts';

/** The devices that a payer showed. */
export type Devices = Pick<KnownHints, 'fingerprints' | 'ips'>;

type Kind = keyof Sightings;

/** Which clients of a platform were seen on which devices, as the stores count it, in memory. */
export class DeviceBook {
  readonly #lastSeen: Readonly<Record<Kind, Map<string, LastSeen>>> = {
    fingerprint: new Map(),
    ip: new Map(),
  };

  /** Notes that a client asked for a verdict with these devices. */
  record(clientIdKey: string, { fingerprints, ips }: Devices, now: number): void {
    for (const id of fingerprints) this.#see('fingerprint', id, clientIdKey, now);
    for (const id of ips) this.#see('ip', id, clientIdKey, now);
  }

  /** How many clients were seen on the devices, for each of the windows; of several devices the most shared one counts. */
  sightings(
    clientIdKey: string,
    { fingerprints, ips }: Devices,
    windowsMs: RuleSet['sharingWindowsMs'],
    now: number,
  ): Sightings {
    return {
      fingerprint: this.#counts('fingerprint', fingerprints, clientIdKey, windowsMs.fingerprint, now),
      ip: this.#counts('ip', ips, clientIdKey, windowsMs.ip, now),
    };
  }

  #see(kind: Kind, id: string, clientIdKey: string, now: number): void {
    const devices = this.#lastSeen[kind];
    const seen = devices.get(id);
    if (seen === undefined) devices.set(id, { clientIdKey, at: now });
    else if (seen instanceof Map) note(seen, clientIdKey, now);
    else if (seen.clientIdKey === clientIdKey) seen.at = Math.max(now, seen.at);
    else {
      const clients = new Map([[seen.clientIdKey, seen.at]]);
      note(clients, clientIdKey, now);
      devices.set(id, clients);
    }
  }

  #counts(
    kind: Kind,
    ids: readonly string[],
    clientIdKey: string,
    windowsMs: readonly number[],
    now: number,
  ): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const id of ids) {
      const seen = this.#lastSeen[kind].get(id);
      for (const windowMs of windowsMs) {
        const clients = Math.min(CLIENTS_ON_DEVICE_MAX, 1 + othersSince(seen, clientIdKey, now - windowMs));
        counts.set(windowMs, Math.max(clients, counts.get(windowMs) ?? 0));
      }
    }
    return counts;
  }
}

/**
 * The clients of a device and when each was last seen there, the longest ago first. Most devices are one client's, who
 * needs no map.
 */
type LastSeen = Map<string, number> | { readonly clientIdKey: string; at: number };

function note(clients: Map<string, number>, clientIdKey: string, now: number): void {
  const at = Math.max(now, clients.get(clientIdKey) ?? 0);
  clients.delete(clientIdKey);
  clients.set(clientIdKey, at);
  forgetOldest(clients, CLIENTS_ON_DEVICE_MAX);
  forgetBefore(clients, now - SHARING_WINDOW_MS_MAX);
}

function othersSince(seen: LastSeen | undefined, clientIdKey: string, since: number): number {
  if (seen === undefined) return 0;
  if (!(seen instanceof Map)) return seen.at > since && seen.clientIdKey !== clientIdKey ? 1 : 0;
  let others = 0;
  for (const [client, at] of seen) if (at > since && client !== clientIdKey) others++;
  return others;
}

/** A Map keeps the order of insertion, so the oldest entries are its first. */
export function forgetOldest(entries: Map<string, unknown>, keep: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= keep) return;
    entries.delete(key);
  }
}

function forgetBefore(clients: Map<string, number>, oldest: number): void {
  for (const [client, at] of clients) {
    if (at > oldest) return;
    clients.delete(client);
  }
}
