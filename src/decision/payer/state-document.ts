import { NO_ATTRIBUTE_VALUES } from './attribute-values.ts';
import type { ClientState, TrialStageAnswers, VerdictEvent } from './client-state.ts';
import { NO_DAY_TALLIES } from './day-tallies.ts';
import { decodeHints, encodeHints, type HintsRow } from './hints-document.ts';
import { convertBetweenTimeAndAge } from './instant.ts';
import { EMPTY_LADDER, type Ladder } from './ladder.ts';
import { decodeOutcomeTally, encodeOutcomeTally, type OutcomesRow } from './outcomes-text.ts';

/**
 * The format of a stored client state. The stored form is a JSON array without names of members. It is stored for
 * every payer, and most of the text would be names. `FORMAT` comes first. A reader refuses other formats.
 */
const FORMAT = 1;

/**
 * The row of a ladder. 0 is an empty ladder. `waitMs` is left out if it is 0, and `name` if the wait's ladder has no
 * name.
 */
type LadderRow = 0 | [level: number, open: 0 | 1, waitUntil: number | null, waitMs?: number, name?: string];

/** The row of a stage: a sum of 1 (blocked), 2 (waited) and 4 (bot), and when the stage began. */
type StageRow = [answered: number, since: number];

type EndedRow = readonly [seq: number, age: number];

/**
 * How many members every document has. Each further member is stored as 0 if it is empty. Zeros at the end are left
 * out.
 */
const MEMBERS_MIN = 9;

/** Most times are stored as ages at `lastAt`, which are shorter and exact. */
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
  hints?: HintsRow | 0,
  knownFingerprints?: string | 0,
  knownIps?: string | 0,
  dayTallies?: string | 0,
  binding?: ClientState['binding'] | 0,
  override?: ClientState['override'] | 0,
  stage?: StageRow | 0,
  endedWaits?: readonly EndedRow[] | 0,
  lastVerdictBlocked?: 0 | 1,
  attributeValues?: string | 0,
];

/** Encodes a state as the text to store. `decodeClientState` gives the same state back. */
export function encodeClientState(state: ClientState): string {
  const document: Document = [
    FORMAT,
    state.seq,
    state.lastAt,
    convertBetweenTimeAndAge(state.firstSeenAt, state.lastAt),
    convertBetweenTimeAndAge(state.lastVerdictAt, state.lastAt),
    state.changes,
    encodeLadder(state),
    state.events.map((event, index) => encodeEvent(event, state.events[index - 1], state.lastAt)),
    encodeOutcomeTally(state.outcomes, state.lastAt),
    state.hints === null ? 0 : encodeHints(state.hints, state),
    // Two texts instead of one, because JSON.stringify is slower for a text that was concatenated.
    state.knownDevices.fingerprints || 0,
    state.knownDevices.ips || 0,
    state.dayTallies || 0,
    state.binding ?? 0,
    state.override ?? 0,
    state.stage === null ? 0 : encodeStage(state.stage),
    state.endedWaits.length === 0
      ? 0
      : state.endedWaits.map(({ seq, at }): EndedRow => [seq, state.lastAt - at]),
    state.lastVerdictBlocked ? 1 : 0,
    state.attributeValues || 0,
  ];
  while (document.length > MEMBERS_MIN && document.at(-1) === 0) document.pop();
  return JSON.stringify(document);
}

/** Returns a state as a store would give it back. States that are kept in memory go through this function. */
export function roundTripState(state: ClientState): ClientState {
  return decodeClientState(encodeClientState(state));
}

/** Decodes a stored state. Throws for another format, because an unreadable client must never look like a new one. */
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
    hints = 0,
    knownFingerprints = 0,
    knownIps = 0,
    dayTallies = 0,
    binding = 0,
    override = 0,
    stage = 0,
    endedWaits = 0,
    lastVerdictBlocked = 0,
    attributeValues = 0,
  ] = document;
  if (format !== FORMAT) {
    throw new Error(`client state has format ${format}; this version reads format ${FORMAT}`);
  }
  return {
    seq,
    firstSeenAt: convertBetweenTimeAndAge(firstSeenAge, lastAt),
    lastAt,
    lastVerdictAt: convertBetweenTimeAndAge(lastVerdictAge, lastAt),
    lastVerdictBlocked: lastVerdictBlocked === 1,
    changes,
    ladder: decodeLadder(ladder),
    lastWaitMs: ladder === 0 ? 0 : (ladder[3] ?? 0),
    lastWaitLadder: ladder === 0 ? null : (ladder[4] ?? null),
    events: decodeEvents(events, lastAt),
    outcomes: decodeOutcomeTally(outcomes, lastAt),
    hints: hints === 0 ? null : decodeHints(hints, { lastAt, changes }),
    knownDevices: { fingerprints: knownFingerprints || '', ips: knownIps || '' },
    dayTallies: dayTallies || NO_DAY_TALLIES,
    attributeValues: attributeValues || NO_ATTRIBUTE_VALUES,
    binding: binding || null,
    override: override || null,
    stage: stage === 0 ? null : decodeStage(stage),
    endedWaits: (endedWaits || []).map(([seq, age]) => ({ seq, at: lastAt - age })),
  };
}

function encodeStage({ since, blocked, waited, bot }: TrialStageAnswers): StageRow {
  return [(blocked ? 1 : 0) + (waited ? 2 : 0) + (bot ? 4 : 0), since];
}

function decodeStage([answered, since]: StageRow): TrialStageAnswers {
  return { since, blocked: (answered & 1) > 0, waited: (answered & 2) > 0, bot: (answered & 4) > 0 };
}

function encodeLadder({ ladder, lastWaitMs, lastWaitLadder }: ClientState): LadderRow {
  if (ladder.level === 0 && !ladder.attemptOpen && ladder.waitUntil === null) return 0;
  const row: Exclude<LadderRow, 0> = [ladder.level, ladder.attemptOpen ? 1 : 0, ladder.waitUntil];
  // A client at level 0 starts again without a last wait.
  if (ladder.level > 0 && lastWaitMs > 0) row.push(lastWaitMs);
  if (ladder.level > 0 && lastWaitMs > 0 && lastWaitLadder !== null) row.push(lastWaitLadder);
  return row;
}

function decodeLadder(row: LadderRow): Ladder {
  if (row === 0) return EMPTY_LADDER;
  const [level, attemptOpen, waitUntil] = row;
  return { level, attemptOpen: attemptOpen === 1, waitUntil };
}

/**
 * A token, NONE, or SAME if the token equals that of the event before. Most requests of a payer differ only in the
 * order.
 */
type TokenCell = string | 0 | 1;

const NONE = 0;
const SAME = 1;

function encodeToken(token: string | null, before: string | null | undefined): TokenCell {
  if (token === null) return NONE;
  return token === before ? SAME : token;
}

function decodeToken(cell: TokenCell, before: string | null | undefined): string | null {
  if (cell === NONE) return null;
  return cell === SAME ? (before ?? null) : cell;
}

type EventRow = [
  age: number,
  flags: number,
  method: TokenCell,
  amount: TokenCell,
  order: TokenCell,
  sellPoint: TokenCell,
  fingerprint: TokenCell,
  ip: TokenCell,
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
