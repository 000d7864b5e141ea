import { moveAttributeValuesBack } from './attribute-values.ts';
import type { ClientState } from './client-state.ts';
import { moveDayTalliesBack } from './day-tallies.ts';
import type { Hints } from './hints.ts';
import { moveKnownDevicesBack } from './known-devices.ts';
import type { DatedReport } from './order.ts';
import type { OutcomeTally, RecentOrder } from './outcomes.ts';

/**
 * Clocks of several servers differ by less than this. After a smaller difference, a payer's new events get the latest
 * recorded time until the clock has caught up.
 */
const DIFFERENCE_MS_MAX = 2000;

/**
 * Moves a state back when the clock was ahead at the payer's last event and is right again. Times in the future move
 * back by the same distance, so that waits and windows last as long as they should. The sequence of the times does
 * not change. Times in the past do not change, nor do the dates that people gave to bindings and overrides. Returns
 * the same object if the clock was not ahead.
 */
export function moveStateBack(state: ClientState, clockMs: number): ClientState {
  const aheadMs = state.lastAt - clockMs;
  if (aheadMs <= DIFFERENCE_MS_MAX) return state;
  const noted: number[] = [];
  redateState(state, (at) => {
    noted.push(at);
    return at;
  });
  const { waitUntil } = state.ladder;
  return {
    ...redateState(state, createRedating(noted, clockMs, aheadMs)),
    lastAt: clockMs,
    dayTallies: moveDayTalliesBack(state.dayTallies, state.lastAt, clockMs),
    knownDevices: moveKnownDevicesBack(state.knownDevices, state.lastAt, clockMs),
    attributeValues: moveAttributeValuesBack(state.attributeValues, state.lastAt, clockMs),
    ladder: {
      ...state.ladder,
      waitUntil: redateOrNull(waitUntil, (at) => (at > clockMs ? at - aheadMs : at)),
    },
  };
}

/** Takes a time by the clock that was ahead, and returns the time by the corrected clock. */
type Redating = (at: number) => number;

/**
 * Moves times in the future back by `aheadMs`. Each of them stays later than the newest time in the past. The
 * sequence of the times does not change: a payment that was reported after a reversal stays after the reversal.
 */
function createRedating(noted: readonly number[], clockMs: number, aheadMs: number): Redating {
  const newestPast = noted.reduce((newest, at) => (at > clockMs ? newest : Math.max(newest, at)), 0);
  const future = [...new Set(noted)].filter((at) => at > clockMs).toSorted((a, b) => a - b);
  const moved = new Map(future.map((at, rank) => [at, Math.max(at - aheadMs, newestPast + 1 + rank)]));
  return (at) => moved.get(at) ?? at;
}

/** Changes the times of all events in a state. */
function redateState(state: ClientState, back: Redating): ClientState {
  return {
    ...state,
    firstSeenAt: redateOrNull(state.firstSeenAt, back),
    lastVerdictAt: redateOrNull(state.lastVerdictAt, back),
    events: state.events.map((event) => ({ ...event, at: back(event.at) })),
    outcomes: redateOutcomes(state.outcomes, back),
    hints: state.hints === null ? null : redateHints(state.hints, back),
    endedWaits: state.endedWaits.map((wait) => ({ ...wait, at: back(wait.at) })),
  };
}

function redateOrNull(at: number | null, back: Redating): number | null {
  return at === null ? null : back(at);
}

function redateOutcomes({ recent, older, ...counts }: OutcomeTally, back: Redating): OutcomeTally {
  return {
    ...counts,
    recent: recent.map((order) => redateOrder(order, back)),
    older: {
      ...older,
      lastPaidAt: redateOrNull(older.lastPaidAt, back),
      lastUnpaidAt: redateOrNull(older.lastUnpaidAt, back),
    },
  };
}

function redateOrder({ reports, ...order }: RecentOrder, back: Redating): RecentOrder {
  const dated = (report: DatedReport) => ({ ...report, occurredAt: back(report.occurredAt) });
  return {
    ...order,
    occurredAt: back(order.occurredAt),
    ...(reports === undefined ? {} : { reports: reports.map(dated) }),
  };
}

function redateHints({ scoredAt, shown, asked }: Hints, back: Redating): Hints {
  return {
    scoredAt: back(scoredAt),
    shown: shown.map((view) => ({ ...view, lastAt: back(view.lastAt) })),
    asked: asked.map((score) => ({ ...score, at: back(score.at) })),
  };
}
