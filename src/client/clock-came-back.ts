import type { ClientState } from './client-state.ts';
import type { Hints } from './hints.ts';
import type { Ladder } from './ladder.ts';
import type { DatedReport } from './order.ts';
import type { OutcomeTally, RecentOrder } from './outcomes.ts';

/** Clocks of several servers differ by less; a payer's time then stands still until the clock has caught up. */
const DIFFERENCE_MS_MAX = 2000;

/**
 * The state by a clock that came back: it was ahead when something last happened to the payer. What was noted in the future
 * moves back together, the newest of it to `clockMs`, so that what is left of waits and windows counts from now; what lies in
 * the past stays, like the dates that people gave to bindings and overrides. The same state where no clock came back.
 */
export function withClockBack(state: ClientState, clockMs: number): ClientState {
  const aheadMs = state.lastAt - clockMs;
  if (aheadMs <= DIFFERENCE_MS_MAX) return state;
  const back: Back = (at) => (at > clockMs ? at - aheadMs : at);
  return {
    ...state,
    lastAt: clockMs,
    firstSeenAt: orNull(state.firstSeenAt, back),
    lastVerdictAt: orNull(state.lastVerdictAt, back),
    ladder: ladderBack(state.ladder, back),
    events: state.events.map((event) => ({ ...event, at: back(event.at) })),
    outcomes: outcomesBack(state.outcomes, back),
    hints: state.hints === null ? null : hintsBack(state.hints, back),
    endedWaits: state.endedWaits.map((wait) => ({ ...wait, at: back(wait.at) })),
  };
}

/** A time by the clock that came back. */
type Back = (at: number) => number;

function orNull(at: number | null, back: Back): number | null {
  return at === null ? null : back(at);
}

function ladderBack(ladder: Ladder, back: Back): Ladder {
  return { ...ladder, waitUntil: orNull(ladder.waitUntil, back) };
}

function outcomesBack({ recent, older, ...counts }: OutcomeTally, back: Back): OutcomeTally {
  return {
    ...counts,
    recent: recent.map((order) => orderBack(order, back)),
    older: {
      ...older,
      lastPaidAt: orNull(older.lastPaidAt, back),
      lastUnpaidAt: orNull(older.lastUnpaidAt, back),
    },
  };
}

function orderBack({ reports, ...order }: RecentOrder, back: Back): RecentOrder {
  const dated = (report: DatedReport) => ({ ...report, occurredAt: back(report.occurredAt) });
  return {
    ...order,
    occurredAt: back(order.occurredAt),
    ...(reports === undefined ? {} : { reports: reports.map(dated) }),
  };
}

function hintsBack({ scoredAt, shown, asked }: Hints, back: Back): Hints {
  return {
    scoredAt: back(scoredAt),
    shown: shown.map((view) => ({ ...view, lastAt: back(view.lastAt) })),
    asked: asked.map((score) => ({ ...score, at: back(score.at) })),
  };
}
