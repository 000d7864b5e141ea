import type { ClientState, VerdictEvent } from './client-state.ts';
import type { Hint, HintKind, Hints } from './hints.ts';
import type { Ladder } from './ladder.ts';
import { type CountedOutcome, inTime, NO_OUTCOMES, type OutcomeTally, olderOutcomes } from './outcomes.ts';

/**
 * The stored form of a client's state: positional JSON, because there is one for every payer and
 * names would be most of it. `FORMAT` comes first. A reader brings older formats up to date and refuses
 * what it does not know. What is added at the end leaves the format as it is: while a fleet is updated node by
 * node, older nodes read such a document without it.
 */
const FORMAT = 2;

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
/** `lastWaitMs` is left out where it is 0. */
type LadderRow = [level: number, attemptOpen: 0 | 1, waitUntil: number | null, lastWaitMs?: number];
/** Newest first, each as twice its distance in ms to the one after it, plus one when it was paid. */
type RecentRow = number[];
type OlderRow = [lastPaidAt: number | null, lastUnpaidAt: number | null, unpaidChain: number];
/** 0 when there are none; `older` only when some are not remembered singly. */
type OutcomesRow = 0 | [paid: number, unpaid: number, technical: number, recent: RecentRow, older?: OlderRow];
/**
 * The id is left out of a sign; the networks around an IP, joined by blanks, and the former id where there are none
 * (0 for networks before a former id).
 */
type HintRow = [
  kind: number,
  since: number,
  age: number,
  id?: string,
  networks?: string | 0,
  formerId?: string,
];
type HintsRow = [
  scoredAge: number,
  shown: HintRow[],
  asked: [request: string, number: number, age: number][],
];
type Head<Format> = [
  format: Format,
  seq: number,
  firstSeenAt: number | null,
  lastAt: number,
  lastVerdictAt: number | null,
  ladder: LadderRow,
  events: EventRow[],
];
type Tail<Hints> = [hints: Hints | null, binding: ClientState['binding'], override: ClientState['override']];
/** What was paid, newest first: a cell for each paid one among the recent outcomes. */
type PaidAmountsRow = Cell[];
type Document = [
  ...head: Head<typeof FORMAT>,
  outcomes: OutcomesRow,
  ...tail: Tail<HintsRow>,
  /** Absent when no amount is known. */
  paidAmounts?: PaidAmountsRow,
];

/** Format 1, which named the newest 20 outcomes by their orders. */
type OutcomesRow1 = [
  paid: number,
  unpaid: number,
  lastPaidAt: number | null,
  lastUnpaidAt: number | null,
  recent: [order: string, paid: 0 | 1, at: number][],
];
/** The hints of the last score alone. */
type HintsRow1 = [
  scoredAt: number,
  fingerprint: string | 0,
  ip: string | 0,
  jsOk: 0 | 1 | null,
  honeypotAt: number | null,
  userAgent: 0 | 1 | 2,
];
type Document1 = [...head: Head<1>, outcomes: OutcomesRow1, ...tail: Tail<HintsRow1>];

const EARLY = 1;
const GRANTED = 2;
const SETTLED = 4;

/** The text to store; `decodeClientState` gives the same state back. */
export function encodeClientState(state: ClientState): string {
  const { outcomes } = state;
  const document: Document = [
    FORMAT,
    state.seq,
    state.firstSeenAt,
    state.lastAt,
    state.lastVerdictAt,
    encodeLadder(state),
    state.events.map((event, index) => encodeEvent(event, state.events[index - 1], state.lastAt)),
    encodeOutcomes(outcomes, state.lastAt),
    state.hints === null ? null : encodeHints(state.hints, state.lastAt),
    state.binding,
    state.override,
  ];
  if (outcomes.recent.some(({ amount }) => amount !== null))
    document.push(encodePaidAmounts(outcomes.recent));
  return JSON.stringify(document);
}

/** Throws when the text is of another format: an unreadable client must never look like a new one. */
export function decodeClientState(text: string): ClientState {
  const document: Document = upToDate(JSON.parse(text));
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
    paidAmounts = [],
  ] = document;
  if (format !== FORMAT) {
    throw new Error(`client state has format ${format}; this version reads formats 1 to ${FORMAT}`);
  }
  return {
    seq,
    firstSeenAt,
    lastAt,
    lastVerdictAt,
    ladder: decodeLadder(ladder),
    lastWaitMs: ladder[3] ?? 0,
    events: decodeEvents(events, lastAt),
    outcomes: withPaidAmounts(decodeOutcomes(outcomes, lastAt), paidAmounts),
    hints: hints === null ? null : decodeHints(hints, lastAt),
    binding,
    override,
  };
}

/** The document as this version would have written it; what is no document of format 1 is left as it is. */
function upToDate(stored: Document | Document1): Document {
  if (stored[0] !== 1) return stored;
  const [, seq, firstSeenAt, lastAt, lastVerdictAt, ladder, events, outcomes, hints, binding, override] =
    stored;
  const tally = encodeOutcomes(tallyOf(outcomes), lastAt);
  const shown = hints === null ? null : encodeHints(hintsOf(hints), lastAt);
  return [FORMAT, seq, firstSeenAt, lastAt, lastVerdictAt, ladder, events, tally, shown, binding, override];
}

/** Format 1 did not say when what it no longer remembered happened: not after the oldest that it did remember. */
function tallyOf([paidCount, unpaidCount, lastPaidAt, lastUnpaidAt, rows]: OutcomesRow1): OutcomeTally {
  const recent = rows
    .map(([, paid, at]): CountedOutcome => ({ paid: paid === 1, at, amount: null }))
    .sort(inTime);
  const [oldest] = recent;
  const before = (known: number | null, kind: boolean) =>
    recent.some(({ paid }) => paid === kind) ? (oldest?.at ?? null) : known;
  const older = {
    lastPaidAt: before(lastPaidAt, true),
    lastUnpaidAt: before(lastUnpaidAt, false),
    unpaidChain: 0,
  };
  const tally = { paidCount, unpaidCount, technicalCount: 0, recent, older };
  return { ...tally, older: olderOutcomes(tally) };
}

function hintsOf([scoredAt, fingerprint, ip, jsOk, honeypotAt, userAgent]: HintsRow1): Hints {
  const shown: Hint[] = [];
  const show = (kind: HintKind, at: number, id = '') => shown.push({ kind, id, since: 1, lastAt: at });
  if (honeypotAt !== null) show('trap', honeypotAt);
  if (fingerprint !== 0) show('fingerprint', scoredAt, fingerprint);
  if (ip !== 0) show('ip', scoredAt, ip);
  if (jsOk === 0) show('noScript', scoredAt);
  if (userAgent > 0) show('userAgent', scoredAt);
  if (userAgent === 2) show('automated', scoredAt);
  return { scoredAt, shown, asked: [] };
}

/** Event times are stored as their age at `lastAt`: shorter, and exact. */
function encodeEvent(event: VerdictEvent, before: VerdictEvent | undefined, lastAt: number): EventRow {
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
    settled: (flags & SETTLED) !== 0,
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

function encodeLadder({ ladder, lastWaitMs }: ClientState): LadderRow {
  const row: LadderRow = [ladder.level, ladder.attemptOpen ? 1 : 0, ladder.waitUntil];
  // Whoever is off the ladder begins anew.
  if (ladder.level > 0 && lastWaitMs > 0) row.push(lastWaitMs);
  return row;
}

function decodeLadder([level, attemptOpen, waitUntil]: LadderRow): Ladder {
  return { level, attemptOpen: attemptOpen === 1, waitUntil };
}

function encodeOutcomes(tally: OutcomeTally, lastAt: number): OutcomesRow {
  const { paidCount, unpaidCount, technicalCount, recent, older } = tally;
  if (paidCount + unpaidCount + technicalCount === 0) return 0;
  const row: OutcomesRow = [paidCount, unpaidCount, technicalCount, encodeRecent(recent, lastAt)];
  if (recent.length < paidCount + unpaidCount) {
    row.push([older.lastPaidAt, older.lastUnpaidAt, older.unpaidChain]);
  }
  return row;
}

function encodeRecent(recent: readonly CountedOutcome[], lastAt: number): RecentRow {
  const row: RecentRow = [];
  let after = lastAt;
  for (const { paid, at } of recent.toReversed()) {
    row.push(2 * (after - at) + (paid ? 1 : 0));
    after = at;
  }
  return row;
}

function decodeOutcomes(row: OutcomesRow, lastAt: number): OutcomeTally {
  if (row === 0) return NO_OUTCOMES;
  const [paidCount, unpaidCount, technicalCount, newestFirst, older] = row;
  return {
    paidCount,
    unpaidCount,
    technicalCount,
    recent: decodeRecent(newestFirst, lastAt),
    older:
      older === undefined
        ? NO_OUTCOMES.older
        : { lastPaidAt: older[0], lastUnpaidAt: older[1], unpaidChain: older[2] },
  };
}

function decodeRecent(row: RecentRow, lastAt: number): readonly CountedOutcome[] {
  const recent: CountedOutcome[] = [];
  let at = lastAt;
  for (const cell of row) {
    at -= Math.floor(cell / 2);
    recent.push({ paid: cell % 2 === 1, at, amount: null });
  }
  return recent.reverse();
}

function encodePaidAmounts(recent: readonly CountedOutcome[]): PaidAmountsRow {
  const newestFirst = recent.filter(({ paid }) => paid).toReversed();
  return newestFirst.map(({ amount }, index) => encodeToken(amount, newestFirst[index - 1]?.amount));
}

function withPaidAmounts(tally: OutcomeTally, newestFirst: PaidAmountsRow): OutcomeTally {
  if (newestFirst.length === 0) return tally;
  const cells = newestFirst.values();
  let after: string | null = null;
  const recent = tally.recent.toReversed().map((outcome) => {
    if (!outcome.paid) return outcome;
    after = decodeToken(cells.next().value ?? NONE, after);
    return { ...outcome, amount: after };
  });
  return { ...tally, recent: recent.reverse() };
}

/** The place of a kind in this list is stored. */
const HINT_KINDS = [
  'fingerprint',
  'ip',
  'noScript',
  'trap',
  'userAgent',
  'automated',
] as const satisfies readonly HintKind[];

function encodeHints({ scoredAt, shown, asked }: Hints, lastAt: number): HintsRow {
  return [
    lastAt - scoredAt,
    shown.map((hint) => encodeHint(hint, lastAt)),
    asked.map(({ request, number, at }) => [request, number, lastAt - at]),
  ];
}

function encodeHint(hint: Hint, lastAt: number): HintRow {
  const row: HintRow = [HINT_KINDS.indexOf(hint.kind), hint.since, lastAt - hint.lastAt];
  if (hint.kind === 'fingerprint' || hint.kind === 'ip') row.push(hint.id);
  if (hint.networks !== undefined) row.push(hint.networks.join(' '));
  else if (hint.formerId !== undefined) row.push(0);
  if (hint.formerId !== undefined) row.push(hint.formerId);
  return row;
}

function decodeHints([scoredAge, shown, asked]: HintsRow, lastAt: number): Hints {
  return {
    scoredAt: lastAt - scoredAge,
    shown: shown.map((row) => decodeHint(row, lastAt)),
    asked: asked.map(([request, number, age]) => ({ request, number, at: lastAt - age })),
  };
}

function decodeHint([code, since, age, id = '', networks = 0, formerId]: HintRow, lastAt: number): Hint {
  const kind = HINT_KINDS[code];
  if (kind === undefined) throw new Error(`client state has a hint of the unknown kind ${code}`);
  const around = networks === 0 ? {} : { networks: networks.split(' ') };
  const former = formerId === undefined ? {} : { formerId };
  return { kind, id, ...around, ...former, since, lastAt: lastAt - age };
}
