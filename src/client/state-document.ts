import { moneyOf } from './amount.ts';
import { DIGITS, digitValue } from './client-key.ts';
import type { ClientState, StageMark, VerdictEvent } from './client-state.ts';
import type { Hint, HintKind, Hints } from './hints.ts';
import { type Ladder, NO_ATTEMPTS } from './ladder.ts';
import type { KnownOrder } from './order.ts';
import { decodeReports, decodeResult, encodeReports, encodeResult, RESULT_CODES } from './order-text.ts';
import { NO_OUTCOMES, type OutcomeTally, type RecentOrder } from './outcomes.ts';

/**
 * The stored form of a client's state: positional JSON, because there is one for every payer and member names would
 * be most of it. `FORMAT` comes first; a reader refuses other formats.
 */
const FORMAT = 1;

/** `lastWaitMs` is left out where it is 0, and the name of its ladder where it has none; 0 stands for an empty ladder. */
type LadderRow = 0 | [level: number, open: 0 | 1, waitUntil: number | null, waitMs?: number, name?: string];

/** The sum of 1 (blocked), 2 (waited) and 4 (bot), and since when. */
type StageRow = [answered: number, since: number];

type EndedRow = readonly [seq: number, age: number];

/** Times are stored as ages at `lastAt`: shorter, and exact. Nulls at the end are left out. */
type Document = [
  format: typeof FORMAT,
  seq: number,
  lastAt: number,
  firstSeenAge: number | null,
  lastVerdictAge: number | null,
  changes: number,
  ladder: LadderRow,
  events: EventRow[],
  outcomes: OutcomesRow,
  hints?: HintsRow | null,
  binding?: ClientState['binding'],
  override?: ClientState['override'],
  stage?: StageRow | null,
  endedWaits?: readonly EndedRow[] | null,
  lastVerdictBlocked?: 1 | null,
];

/** The text to store; `decodeClientState` gives the same state back. */
export function encodeClientState(state: ClientState): string {
  const document: Document = [
    FORMAT,
    state.seq,
    state.lastAt,
    ageOf(state.firstSeenAt, state.lastAt),
    ageOf(state.lastVerdictAt, state.lastAt),
    state.changes,
    encodeLadder(state),
    state.events.map((event, index) => encodeEvent(event, state.events[index - 1], state.lastAt)),
    encodeOutcomes(state.outcomes, state.lastAt),
    state.hints === null ? null : encodeHints(state.hints, state),
    state.binding,
    state.override,
    state.stage === null ? null : encodeStage(state.stage),
    state.endedWaits.length === 0
      ? null
      : state.endedWaits.map(({ seq, at }): EndedRow => [seq, state.lastAt - at]),
    state.lastVerdictBlocked ? 1 : null,
  ];
  while (document.at(-1) === null) document.pop();
  return JSON.stringify(document);
}

/** The state as a store would give it back, for states that are kept in memory. */
export function asStored(state: ClientState): ClientState {
  return decodeClientState(encodeClientState(state));
}

/** Throws for another format: an unreadable client must never look like a new one. */
export function decodeClientState(text: string): ClientState {
  const document: Document = JSON.parse(text);
  const [
    format,
    seq,
    lastAt,
    firstSeenAge,
    lastVerdictAge,
    changes,
    ladder,
    events,
    outcomes,
    hints = null,
    binding = null,
    override = null,
    stage = null,
    endedWaits = null,
    lastVerdictBlocked = null,
  ] = document;
  if (format !== FORMAT) {
    throw new Error(`client state has format ${format}; this version reads format ${FORMAT}`);
  }
  return {
    seq,
    firstSeenAt: ageOf(firstSeenAge, lastAt),
    lastAt,
    lastVerdictAt: ageOf(lastVerdictAge, lastAt),
    lastVerdictBlocked: lastVerdictBlocked === 1,
    changes,
    ladder: decodeLadder(ladder),
    lastWaitMs: ladder === 0 ? 0 : (ladder[3] ?? 0),
    lastWaitLadder: ladder === 0 ? null : (ladder[4] ?? null),
    events: decodeEvents(events, lastAt),
    outcomes: decodeOutcomes(outcomes, lastAt),
    hints: hints === null ? null : decodeHints(hints, { lastAt, changes }),
    binding,
    override,
    stage: stage === null ? null : decodeStage(stage),
    endedWaits: (endedWaits ?? []).map(([seq, age]) => ({ seq, at: lastAt - age })),
  };
}

function encodeStage({ since, blocked, waited, bot }: StageMark): StageRow {
  return [(blocked ? 1 : 0) + (waited ? 2 : 0) + (bot ? 4 : 0), since];
}

function decodeStage([answered, since]: StageRow): StageMark {
  return { since, blocked: (answered & 1) > 0, waited: (answered & 2) > 0, bot: (answered & 4) > 0 };
}

function encodeLadder({ ladder, lastWaitMs, lastWaitLadder }: ClientState): LadderRow {
  if (ladder.level === 0 && !ladder.attemptOpen && ladder.waitUntil === null) return 0;
  const row: Exclude<LadderRow, 0> = [ladder.level, ladder.attemptOpen ? 1 : 0, ladder.waitUntil];
  // A client off the ladder starts again without a last wait.
  if (ladder.level > 0 && lastWaitMs > 0) row.push(lastWaitMs);
  if (ladder.level > 0 && lastWaitMs > 0 && lastWaitLadder !== null) row.push(lastWaitLadder);
  return row;
}

function decodeLadder(row: LadderRow): Ladder {
  if (row === 0) return NO_ATTEMPTS;
  const [level, attemptOpen, waitUntil] = row;
  return { level, attemptOpen: attemptOpen === 1, waitUntil };
}

/** A token, NONE, or SAME as in the event before: most requests of a payer differ in the order alone. */
type Cell = string | 0 | 1;

const NONE = 0;
const SAME = 1;

function encodeToken(token: string | null, before: string | null | undefined): Cell {
  if (token === null) return NONE;
  return token === before ? SAME : token;
}

function decodeToken(cell: Cell, before: string | null | undefined): string | null {
  if (cell === NONE) return null;
  return cell === SAME ? (before ?? null) : cell;
}

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

const EARLY = 1;
const GRANTED = 2;
const SETTLED = 4;
const WAITED = 8;
const BLOCKED = 16;

function encodeEvent(event: VerdictEvent, before: VerdictEvent | undefined, lastAt: number): EventRow {
  const flags =
    (event.early ? EARLY : 0) |
    (event.granted ? GRANTED : 0) |
    (event.settled ? SETTLED : 0) |
    (event.waited ? WAITED : 0) |
    (event.blocked ? BLOCKED : 0);
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
    waited: (flags & WAITED) !== 0,
    blocked: (flags & BLOCKED) !== 0,
    method: decodeToken(method, before?.method) ?? '',
    amount: decodeToken(amount, before?.amount) ?? '',
    order: decodeToken(order, before?.order) ?? '',
    sellPoint: decodeToken(sellPoint, before?.sellPoint) ?? '',
    fingerprint: decodeToken(fingerprint, before?.fingerprint),
    ip: decodeToken(ip, before?.ip),
  };
}

/**
 * A sign has no id; `networks` are those around an IP, joined by blanks, or 0 where only `formerId` follows. The age
 * is null for a hint that has expired, which only remembered scores still use.
 */
type HintRow = [kind: number, age: number | null, id?: string, networks?: string | 0, formerId?: string];

/** `knew`: the indexes of the hints that the score knew. */
type AskedRow = [request: string, age: number, changesSince: number, ...knew: number[]];

type HintsRow = [scoredAge: number, hints: HintRow[], asked: AskedRow[]];

/** The index in this list is stored. */
const HINT_KINDS = [
  'fingerprint',
  'ip',
  'noScript',
  'trap',
  'userAgent',
  'automated',
  'script',
  'app',
] as const satisfies readonly HintKind[];

type Now = Pick<ClientState, 'lastAt' | 'changes'>;

function encodeHints({ scoredAt, shown, asked }: Hints, now: Now): HintsRow {
  const { lastAt } = now;
  const rows = shown.map(({ hint, lastAt: at }) => encodeHint(hint, lastAt - at));
  const places = new Map(shown.map(({ hint }, place) => [hint, place]));
  const placeOf = (hint: Hint) => {
    const known = places.get(hint) ?? rows.push(encodeHint(hint, null)) - 1;
    places.set(hint, known);
    return known;
  };
  return [
    lastAt - scoredAt,
    rows,
    asked.map(({ request, at, changes, knew }): AskedRow => {
      return [request, lastAt - at, now.changes - changes, ...knew.map(placeOf)];
    }),
  ];
}

function encodeHint({ kind, id, networks, formerId }: Hint, age: number | null): HintRow {
  const row: HintRow = [HINT_KINDS.indexOf(kind), age];
  if (kind === 'fingerprint' || kind === 'ip') row.push(id);
  if (networks !== undefined) row.push(networks.join(' '));
  else if (formerId !== undefined) row.push(0);
  if (formerId !== undefined) row.push(formerId);
  return row;
}

function decodeHints([scoredAge, rows, asked]: HintsRow, { lastAt, changes }: Now): Hints {
  const hints = rows.map(decodeHint);
  const at = (place: number) => {
    const hint = hints[place];
    if (hint === undefined) throw new Error(`client state has no hint ${place}`);
    return hint;
  };
  return {
    scoredAt: lastAt - scoredAge,
    shown: rows.flatMap(([, age], place) =>
      age === null ? [] : [{ hint: at(place), lastAt: lastAt - age }],
    ),
    asked: asked.map(([request, age, changesSince, ...knew]) => {
      return { request, at: lastAt - age, changes: changes - changesSince, knew: knew.map(at) };
    }),
  };
}

function decodeHint([code, , id = '', networks = 0, formerId]: HintRow): Hint {
  const kind = HINT_KINDS[code];
  if (kind === undefined) throw new Error(`client state has a hint of the unknown kind ${code}`);
  const around = networks === 0 ? {} : { networks: networks.split(' ') };
  const former = formerId === undefined ? {} : { formerId };
  return { kind, id, ...around, ...former };
}

type OlderRow = [lastPaidAge: number | null, lastUnpaidAge: number | null, unpaidChain: number];
/** The order at this place has several reports, or one with an amount. */
type ReportsRow = [place: number, ...reports: (number | string)[]];

/** 0 when there are none; zeros at the end are left out. */
type OutcomesRow =
  | 0
  | [
      paid: number,
      unpaid: number,
      technical: number,
      newestAge?: number,
      orders?: string | 0,
      amounts?: string | 0,
      reports?: ReportsRow[] | 0,
      older?: OlderRow | 0,
    ];

const TOKEN_CHARACTERS = 6;

/** Added to the number of a result: the amount is the same as that of the order before it in the text. */
const SAME_AMOUNT = RESULT_CODES;
/** Added likewise: the order was turned away. */
const TURNED_AWAY = 2 * RESULT_CODES;

function encodeOutcomes(tally: OutcomeTally, lastAt: number): OutcomesRow {
  const { paidCount, unpaidCount, neitherCount, recent, older } = tally;
  if (paidCount + unpaidCount + neitherCount === 0) return 0;
  const orders = recent.toReversed();
  const row: Exclude<OutcomesRow, 0> = [
    paidCount,
    unpaidCount,
    neitherCount,
    lastAt - (orders[0]?.occurredAt ?? lastAt),
    packOrders(orders) || 0,
    packAmounts(orders) || 0,
    reportsRows(orders),
    older === NO_OUTCOMES.older
      ? 0
      : [ageOf(older.lastPaidAt, lastAt), ageOf(older.lastUnpaidAt, lastAt), older.unpaidChain],
  ];
  while (row.length > 3 && row.at(-1) === 0) row.pop();
  return row;
}

function decodeOutcomes(row: OutcomesRow, lastAt: number): OutcomeTally {
  if (row === 0) return NO_OUTCOMES;
  const [paidCount, unpaidCount, neitherCount, newestAge = 0, orders, amounts, reports, older] = row;
  const recent = unpackOrders(orders || '', lastAt - newestAge, (amounts || '').split(','));
  for (const [place, ...told] of reports || []) {
    const order = recent[place];
    if (order !== undefined) recent[place] = { ...order, reports: decodeReports(told, order.occurredAt) };
  }
  return {
    paidCount,
    unpaidCount,
    neitherCount,
    recent: recent.reverse(),
    older: older
      ? { lastPaidAt: ageOf(older[0], lastAt), lastUnpaidAt: ageOf(older[1], lastAt), unpaidChain: older[2] }
      : NO_OUTCOMES.older,
  };
}

/**
 * Newest first: the number of digits of a distance, then for each order its token, its result with the flags above,
 * and its distance in ms to the order before. Compact, as there may be 64 of them.
 */
function packOrders(orders: readonly RecentOrder[]): string {
  const distances = orders.map(
    ({ occurredAt }, place) => (orders[place - 1]?.occurredAt ?? occurredAt) - occurredAt,
  );
  const width = digitsOf(Math.max(0, ...distances), 0).length;
  const packed = orders.map((order, place) => {
    const same = order.amount === orders[place - 1]?.amount ? SAME_AMOUNT : 0;
    const turnedAway = order.turnedAway ? TURNED_AWAY : 0;
    return (
      order.token +
      DIGITS.charAt(encodeResult(order) + same + turnedAway) +
      digitsOf(distances[place] ?? 0, width)
    );
  });
  return packed.length === 0 ? '' : width + packed.join('');
}

/** Newest first, without amounts and currencies that are the same as before. */
function packAmounts(orders: readonly RecentOrder[]): string {
  let currency = '';
  const cells: string[] = [];
  for (const [place, { amount }] of orders.entries()) {
    if (amount === orders[place - 1]?.amount) continue;
    const money = moneyOf(amount ?? '');
    cells.push(money !== null && money.currency === currency ? money.amount : (amount ?? ''));
    currency = money?.currency ?? currency;
  }
  return cells.join(',');
}

function unpackOrders(packed: string, newestAt: number, cells: readonly string[]): RecentOrder[] {
  const orders: RecentOrder[] = [];
  const amounts = amountsOf(cells).values();
  const width = Number(packed.charAt(0));
  const length = TOKEN_CHARACTERS + 1 + width;
  let occurredAt = newestAt;
  let amount: string | null = null;
  for (let start = 1; start < packed.length; start += length) {
    const token = packed.slice(start, start + TOKEN_CHARACTERS);
    const code = numberOf(packed.charAt(start + TOKEN_CHARACTERS));
    if ((code & SAME_AMOUNT) === 0) amount = amounts.next().value ?? null;
    occurredAt -= numberOf(packed.slice(start + TOKEN_CHARACTERS + 1, start + length));
    const exposed = (code & TURNED_AWAY) === 0 ? {} : { turnedAway: true as const };
    const known: KnownOrder = { ...decodeResult(code % RESULT_CODES), occurredAt, ...exposed };
    orders.push(amount === null ? { ...known, token } : { ...known, amount, token });
  }
  return orders;
}

function amountsOf(cells: readonly string[]): readonly (string | null)[] {
  let currency = '';
  return cells.map((cell) => {
    if (cell === '') return null;
    const amount = cell.includes(' ') ? cell : `${cell} ${currency}`;
    currency = moneyOf(amount)?.currency ?? currency;
    return amount;
  });
}

function reportsRows(orders: readonly RecentOrder[]): ReportsRow[] | 0 {
  const rows: ReportsRow[] = [];
  for (const [place, { reports, occurredAt }] of orders.entries())
    if (reports !== undefined) rows.push([place, ...encodeReports(reports, occurredAt)]);
  return rows.length === 0 ? 0 : rows;
}

/** Turns a time into its age at `lastAt`, and an age into its time. */
function ageOf(momentOrAge: number | null, lastAt: number): number | null {
  return momentOrAge === null ? null : lastAt - momentOrAge;
}

/** A number in base 64, with `width` digits or more; 0 in none. */
function digitsOf(value: number, width: number): string {
  let digits = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 64)) digits = DIGITS.charAt(rest % 64) + digits;
  return digits.padStart(width, DIGITS.charAt(0));
}

function numberOf(digits: string): number {
  let number = 0;
  for (const digit of digits) number = number * 64 + digitValue(digit);
  return number;
}
