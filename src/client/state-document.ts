import type { ClientState } from './client-state.ts';
import { decodeEvents, type EventRow, encodeEvent } from './document/event-rows.ts';
import { type HintsRow1, hintsOf, type OutcomesRow1, tallyOf } from './document/format-1.ts';
import { decodeHints, encodeHints, type HintsRow } from './document/hint-rows.ts';
import {
  decodeOutcomes,
  encodeOutcomes,
  encodePaidAmounts,
  type OutcomesRow,
  type PaidAmountsRow,
  withPaidAmounts,
} from './document/outcome-rows.ts';
import type { Hints } from './hints.ts';
import type { Ladder } from './ladder.ts';

/**
 * The stored form of a client's state: positional JSON, because there is one for every payer and
 * names would be most of it. `FORMAT` comes first. A reader brings older formats up to date and refuses
 * what it does not know. What is added at the end leaves the format as it is: while a fleet is updated node by
 * node, older nodes read such a document without it.
 */
const FORMAT = 2;

/** `lastWaitMs` is left out where it is 0. */
type LadderRow = [level: number, attemptOpen: 0 | 1, waitUntil: number | null, lastWaitMs?: number];
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
type Document = [
  ...head: Head<typeof FORMAT>,
  outcomes: OutcomesRow,
  /** For some hours format 2 was written with the hints of format 1. */
  ...tail: Tail<HintsRow | HintsRow1>,
  /** Absent when no amount is known. */
  paidAmounts?: PaidAmountsRow,
];

type Document1 = [...head: Head<1>, outcomes: OutcomesRow1, ...tail: Tail<HintsRow1>];

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

/** The state as it comes back from a store: what lives in memory for a while keeps to the stored form, too. */
export function asStored(state: ClientState): ClientState {
  return decodeClientState(encodeClientState(state));
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
    hints: hints === null ? null : readHints(hints, lastAt),
    binding,
    override,
  };
}

/** The document as this version would have written it; what is not a document of format 1 is left as it is. */
function upToDate(stored: Document | Document1): Document {
  if (stored[0] !== 1) return stored;
  const [, seq, firstSeenAt, lastAt, lastVerdictAt, ladder, events, outcomes, hints, binding, override] =
    stored;
  const tally = encodeOutcomes(tallyOf(outcomes), lastAt);
  return [FORMAT, seq, firstSeenAt, lastAt, lastVerdictAt, ladder, events, tally, hints, binding, override];
}

function readHints(hints: HintsRow | HintsRow1, lastAt: number): Hints {
  return isRowOfToday(hints) ? decodeHints(hints, lastAt) : hintsOf(hints);
}

function isRowOfToday(hints: HintsRow | HintsRow1): hints is HintsRow {
  return Array.isArray(hints[1]);
}

function encodeLadder({ ladder, lastWaitMs }: ClientState): LadderRow {
  const row: LadderRow = [ladder.level, ladder.attemptOpen ? 1 : 0, ladder.waitUntil];
  // A client off the ladder starts again.
  if (ladder.level > 0 && lastWaitMs > 0) row.push(lastWaitMs);
  return row;
}

function decodeLadder([level, attemptOpen, waitUntil]: LadderRow): Ladder {
  return { level, attemptOpen: attemptOpen === 1, waitUntil };
}
