import type { ClientState, Hints, VerdictEvent } from './client-state.ts';
import type { Ladder } from './ladder.ts';
import type { OutcomeTally } from './outcomes.ts';

/**
 * The stored form of a client's state: positional JSON, because there is one for every payer and
 * names would be most of it. `FORMAT` comes first; a reader refuses what it does not know.
 */
const FORMAT = 1;

/** A token, NONE, or SAME as in the event before: payers seldom change more than the order. */
type Cell = string | 0 | 1;

const NONE = 0;
const SAME = 1;

type EventRow = [
  age: number,
  flags: number,
  method: Cell,
  amount: Cell,
  order: Cell,
  sellPoint: Cell,
  fingerprint: Cell,
  ip: Cell,
];
type LadderRow = [level: number, attemptOpen: 0 | 1, waitUntil: number | null];
type OutcomesRow = [
  paid: number,
  unpaid: number,
  lastPaidAt: number | null,
  lastUnpaidAt: number | null,
  recent: [order: string, paid: 0 | 1, at: number][],
];
type HintsRow = [
  scoredAt: number,
  fingerprint: string | 0,
  ip: string | 0,
  jsOk: 0 | 1 | null,
  honeypotAt: number | null,
  userAgent: 0 | 1 | 2,
];
type Document = [
  format: number,
  seq: number,
  firstSeenAt: number | null,
  lastAt: number,
  lastVerdictAt: number | null,
  ladder: LadderRow,
  events: EventRow[],
  outcomes: OutcomesRow,
  hints: HintsRow | null,
  binding: ClientState['binding'],
  override: ClientState['override'],
];

const EARLY = 1;
const GRANTED = 2;

/** The text to store; `decodeClientState` gives the same state back. */
export function encodeClientState(state: ClientState): string {
  const { ladder, outcomes } = state;
  const document: Document = [
    FORMAT,
    state.seq,
    state.firstSeenAt,
    state.lastAt,
    state.lastVerdictAt,
    [ladder.level, ladder.attemptOpen ? 1 : 0, ladder.waitUntil],
    state.events.map((event, index) => encodeEvent(event, state.events[index - 1], state.lastAt)),
    [
      outcomes.paidCount,
      outcomes.unpaidCount,
      outcomes.lastPaidAt,
      outcomes.lastUnpaidAt,
      outcomes.recent.map(({ order, paid, at }) => [order, paid ? 1 : 0, at]),
    ],
    state.hints === null ? null : encodeHints(state.hints),
    state.binding,
    state.override,
  ];
  return JSON.stringify(document);
}

/** Throws when the text is of another format: an unreadable client must never look like a new one. */
export function decodeClientState(text: string): ClientState {
  const document: Document = JSON.parse(text);
  const [
    format,
    seq,
    firstSeenAt,
    lastAt,
    lastVerdictAt,
    ladder,
    events,
    outcomes,
    hints,
    binding,
    override,
  ] = document;
  if (format !== FORMAT) throw new Error(`client state has format ${format}; this version reads ${FORMAT}`);
  return {
    seq,
    firstSeenAt,
    lastAt,
    lastVerdictAt,
    ladder: decodeLadder(ladder),
    events: decodeEvents(events, lastAt),
    outcomes: decodeOutcomes(outcomes),
    hints: hints === null ? null : decodeHints(hints),
    binding,
    override,
  };
}

/** Event times are stored as their age at `lastAt`: shorter, and exact. */
function encodeEvent(event: VerdictEvent, before: VerdictEvent | undefined, lastAt: number): EventRow {
  const flags = (event.early ? EARLY : 0) | (event.granted ? GRANTED : 0);
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

function decodeEvents(rows: readonly EventRow[], lastAt: number): readonly VerdictEvent[] {
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
    method: decodeToken(method, before?.method) ?? '',
    amount: decodeToken(amount, before?.amount) ?? '',
    order: decodeToken(order, before?.order) ?? '',
    sellPoint: decodeToken(sellPoint, before?.sellPoint) ?? '',
    fingerprint: decodeToken(fingerprint, before?.fingerprint),
    ip: decodeToken(ip, before?.ip),
  };
}

function encodeToken(token: string | null, before: string | null | undefined): Cell {
  if (token === null) return NONE;
  return token === before ? SAME : token;
}

function decodeToken(cell: Cell, before: string | null | undefined): string | null {
  if (cell === NONE) return null;
  return cell === SAME ? (before ?? null) : cell;
}

function decodeLadder([level, attemptOpen, waitUntil]: LadderRow): Ladder {
  return { level, attemptOpen: attemptOpen === 1, waitUntil };
}

function decodeOutcomes([
  paidCount,
  unpaidCount,
  lastPaidAt,
  lastUnpaidAt,
  recent,
]: OutcomesRow): OutcomeTally {
  return {
    paidCount,
    unpaidCount,
    lastPaidAt,
    lastUnpaidAt,
    recent: recent.map(([order, paid, at]) => ({ order, paid: paid === 1, at })),
  };
}

function encodeHints(hints: Hints): HintsRow {
  const jsOk = hints.jsOk === null ? null : hints.jsOk ? 1 : 0;
  const userAgent = hints.userAgentPresent ? (hints.userAgentIsAutomated ? 2 : 1) : 0;
  return [hints.scoredAt, hints.fingerprint ?? 0, hints.ip ?? 0, jsOk, hints.honeypotAt, userAgent];
}

function decodeHints([scoredAt, fingerprint, ip, jsOk, honeypotAt, userAgent]: HintsRow): Hints {
  return {
    scoredAt,
    fingerprint: fingerprint === 0 ? null : fingerprint,
    ip: ip === 0 ? null : ip,
    jsOk: jsOk === null ? null : jsOk === 1,
    honeypotAt,
    userAgentPresent: userAgent > 0,
    userAgentIsAutomated: userAgent === 2,
  };
}
