import type { VerdictEvent } from '../client-state.ts';
import { type Cell, decodeToken, encodeToken } from './cell.ts';

export type EventRow = [
  age: number,
  flags: number,
  method: Cell,
  amount: Cell,
  order: Cell,
  sellPoint: Cell,
  fingerprint: Cell,
  ip: Cell,
];

const EARLY = 1;
const GRANTED = 2;
const SETTLED = 4;

/** Event times are stored as their age at `lastAt`: shorter, and exact. */
export function encodeEvent(event: VerdictEvent, before: VerdictEvent | undefined, lastAt: number): EventRow {
  const flags = (event.early ? EARLY : 0) | (event.granted ? GRANTED : 0) | (event.settled ? SETTLED : 0);
  return [
    lastAt - event.at,
    flags,
    encodeToken(event.method, before?.method),
    encodeToken(event.amount, before?.amount),
    encodeToken(event.order, before?.order),
    encodeToken(event.sellPoint, before?.sellPoint),
    encodeToken(event.fingerprint, before?.fingerprint),
    encodeToken(event.ip, before?.ip),
  ];
}

export function decodeEvents(rows: readonly EventRow[], lastAt: number): readonly VerdictEvent[] {
  const events: VerdictEvent[] = [];
  for (const row of rows) events.push(decodeEvent(row, events.at(-1), lastAt));
  return events;
}

function decodeEvent(row: EventRow, before: VerdictEvent | undefined, lastAt: number): VerdictEvent {
  const [age, flags, method, amount, order, sellPoint, fingerprint, ip] = row;
  return {
    at: lastAt - age,
    early: (flags & EARLY) !== 0,
    granted: (flags & GRANTED) !== 0,
    settled: (flags & SETTLED) !== 0,
    method: decodeToken(method, before?.method) ?? '',
    amount: decodeToken(amount, before?.amount) ?? '',
    order: decodeToken(order, before?.order) ?? '',
    sellPoint: decodeToken(sellPoint, before?.sellPoint) ?? '',
    fingerprint: decodeToken(fingerprint, before?.fingerprint),
    ip: decodeToken(ip, before?.ip),
  };
}
