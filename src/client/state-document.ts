import type { ClientState, StageMark } from './client-state.ts';
import { decodeEvents, type EventRow, encodeEvent } from './document/event-rows.ts';
import { decodeHints, encodeHints, type HintsRow } from './document/hint-rows.ts';
import { ageOf, decodeOutcomes, encodeOutcomes, type OutcomesRow } from './document/outcome-rows.ts';
import { type Ladder, NO_ATTEMPTS } from './ladder.ts';

/**
 * The stored form of a client's state: positional JSON, because there is one for every payer and
 * names would be most of it. `FORMAT` comes first, and a reader refuses what it does not know.
 */
const FORMAT = 1;

/** `lastWaitMs` is left out where it is 0; 0 is a ladder on which nothing is. */
type LadderRow = 0 | [level: number, attemptOpen: 0 | 1, waitUntil: number | null, lastWaitMs?: number];

/** The sum of 1 (blocked), 2 (waited) and 4 (bot), and since when. */
type StageRow = [answered: number, since: number];

/** Moments are their ages at `lastAt`: shorter, and exact. What is null at the end is left out. */
type Document = [
  format: typeof FORMAT,
  seq: number,
  lastAt: number,
  firstSeenAge: number | null,
  lastVerdictAge: number | null,
  /** Null when nothing but scores ever happened. */
  changedAge: number | null,
  ladder: LadderRow,
  events: EventRow[],
  outcomes: OutcomesRow,
  hints?: HintsRow | null,
  binding?: ClientState['binding'],
  override?: ClientState['override'],
  stage?: StageRow | null,
];

/** The text to store; `decodeClientState` gives the same state back. */
export function encodeClientState(state: ClientState): string {
  const document: Document = [
    FORMAT,
    state.seq,
    state.lastAt,
    ageOf(state.firstSeenAt, state.lastAt),
    ageOf(state.lastVerdictAt, state.lastAt),
    ageOf(state.changedAt, state.lastAt),
    encodeLadder(state),
    state.events.map((event, index) => encodeEvent(event, state.events[index - 1], state.lastAt)),
    encodeOutcomes(state.outcomes, state.lastAt),
    state.hints === null ? null : encodeHints(state.hints, state.lastAt),
    state.binding,
    state.override,
    state.stage === null ? null : encodeStage(state.stage),
  ];
  while (document.at(-1) === null) document.pop();
  return JSON.stringify(document);
}

/** The state as it comes back from a store: what lives in memory for a while keeps to the stored form, too. */
export function asStored(state: ClientState): ClientState {
  return decodeClientState(encodeClientState(state));
}

/** Throws when the text is of another format: an unreadable client must never look like a new one. */
export function decodeClientState(text: string): ClientState {
  const document: Document = JSON.parse(text);
  const [
    format,
    seq,
    lastAt,
    firstSeenAge,
    lastVerdictAge,
    changedAge,
    ladder,
    events,
    outcomes,
    hints = null,
    binding = null,
    override = null,
    stage = null,
  ] = document;
  if (format !== FORMAT) {
    throw new Error(`client state has format ${format}; this version reads format ${FORMAT}`);
  }
  return {
    seq,
    firstSeenAt: ageOf(firstSeenAge, lastAt),
    lastAt,
    lastVerdictAt: ageOf(lastVerdictAge, lastAt),
    changedAt: ageOf(changedAge, lastAt),
    ladder: decodeLadder(ladder),
    lastWaitMs: ladder === 0 ? 0 : (ladder[3] ?? 0),
    events: decodeEvents(events, lastAt),
    outcomes: decodeOutcomes(outcomes, lastAt),
    hints: hints === null ? null : decodeHints(hints, lastAt),
    binding,
    override,
    stage: stage === null ? null : decodeStage(stage),
  };
}

function encodeStage({ since, blocked, waited, bot }: StageMark): StageRow {
  return [(blocked ? 1 : 0) + (waited ? 2 : 0) + (bot ? 4 : 0), since];
}

function decodeStage([answered, since]: StageRow): StageMark {
  return { since, blocked: (answered & 1) > 0, waited: (answered & 2) > 0, bot: (answered & 4) > 0 };
}

function encodeLadder({ ladder, lastWaitMs }: ClientState): LadderRow {
  if (ladder.level === 0 && !ladder.attemptOpen && ladder.waitUntil === null) return 0;
  const row: Exclude<LadderRow, 0> = [ladder.level, ladder.attemptOpen ? 1 : 0, ladder.waitUntil];
  // A client off the ladder starts again.
  if (ladder.level > 0 && lastWaitMs > 0) row.push(lastWaitMs);
  return row;
}

function decodeLadder(row: LadderRow): Ladder {
  if (row === 0) return NO_ATTEMPTS;
  const [level, attemptOpen, waitUntil] = row;
  return { level, attemptOpen: attemptOpen === 1, waitUntil };
}
