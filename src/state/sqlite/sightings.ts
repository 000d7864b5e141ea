import { CLIENTS_ON_DEVICE_MAX, type Sightings } from '../../facts/fact.ts';
import { RETENTION } from '../retention.ts';
import type { SightingsAsk } from '../store.ts';
import type { Statements } from './statements.ts';

/** Whether noting this client writes anything. */
export function isNoted({ record, fingerprint, ip }: SightingsAsk): boolean {
  return record && (fingerprint !== null || ip !== null);
}

/** Notes the client on both of its devices, inside the transaction that is open. */
export function noteSightings(sql: Statements, ask: SightingsAsk, nowMs: number): void {
  noteOn(sql, ask, 'fingerprint', nowMs);
  noteOn(sql, ask, 'ip', nowMs);
}

export function countSightings(sql: Statements, ask: SightingsAsk): Sightings {
  return { fingerprint: countOn(sql, ask, 'fingerprint'), ip: countOn(sql, ask, 'ip') };
}

function noteOn(sql: Statements, ask: SightingsAsk, kind: keyof Sightings, nowMs: number): void {
  const device = deviceOf(ask, kind);
  if (device === null) return;
  sql.putSighting.run(device, ask.client.hash, ask.at, nowMs + RETENTION.sightingMs);
  sql.trimSightings.run(device, device, CLIENTS_ON_DEVICE_MAX);
}

function countOn(sql: Statements, ask: SightingsAsk, kind: keyof Sightings): ReadonlyMap<number, number> {
  const device = deviceOf(ask, kind);
  if (device === null) return new Map();
  return new Map(
    ask.windowsMs[kind].map((windowMs) => {
      const others = sql.countOthers.get(device, ask.client.hash, ask.at - windowMs)?.['others'];
      return [windowMs, Math.min(CLIENTS_ON_DEVICE_MAX, Number(others) + 1)];
    }),
  );
}

/** A device belongs to one platform: the same phone on two platforms is two devices. */
function deviceOf({ client, ...ask }: SightingsAsk, kind: keyof Sightings): string | null {
  const id = ask[kind];
  return id === null ? null : `${client.platform}/${kind}/${id}`;
}
