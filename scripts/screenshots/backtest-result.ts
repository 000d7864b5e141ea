import type { BacktestReport, OrderSums, ScoreQuality } from '../../src/evidence/backtest/backtest-report.ts';
import { readable } from '../../src/evidence/result.ts';
import { NO_ORDERS, type OrderCounts, type Shown } from '../../src/evidence/shown.ts';
import type { Estimate } from '../../src/statistics/intervals.ts';

/** What `rules backtest --json` prints, with figures of every kind in it. */
export function backtestResult(): BacktestReport & Shown {
  const none = { GET_NEW: NONE, GET_SAME_STICKY: NONE, WAIT: NONE, BLOCK: NONE };
  return readable({
    kind: 'backtest',
    ruleVersion: 'p2.v11',
    digest: 'ab'.repeat(32),
    against: null,
    mode: 'recorded',
    assumption: null,
    unseen: [],
    reversals: { causes: [], seen: 0, maturityDays: null, immature: [], expected: null },
    stopped: { base: NONE_STOPPED, candidate: NONE_STOPPED },
    journal: {
      decisions: 9_400,
      from: Date.UTC(2026, 0, 1),
      to: Date.UTC(2026, 0, 8),
      ruleVersions: ['p2.v10'],
      gaps: [],
      torn: false,
    },
    compared: 9_400,
    changed: 1_282,
    changedShare: about(1_282 / 9_400),
    mix: {
      base: { GET_NEW: about(0.58), GET_SAME_STICKY: about(0.04), WAIT: about(0.27), BLOCK: about(0.11) },
      candidate: { GET_NEW: about(0.45), GET_SAME_STICKY: about(0.04), WAIT: about(0.4), BLOCK: about(0.11) },
    },
    transitions: {
      GET_NEW: { ...none, GET_NEW: decisions(4_210), WAIT: decisions(1_234) },
      GET_SAME_STICKY: { ...none, GET_SAME_STICKY: decisions(388) },
      WAIT: { ...none, GET_NEW: decisions(48), WAIT: decisions(2_510) },
      BLOCK: { ...none, BLOCK: decisions(1_010) },
    },
    changes: [
      {
        from: 'GET_NEW',
        to: 'WAIT',
        fromRule: 'otherwise',
        toRule: 'attempt-unpaid',
        count: 1_234,
        ...orders(1_234),
        samples: ['order-9', 'order-12'],
      },
      {
        from: 'WAIT',
        to: 'GET_NEW',
        fromRule: 'asked-too-early',
        toRule: 'otherwise',
        count: 48,
        ...orders(48),
        samples: ['order-31'],
      },
    ],
    bots: { base: 801, candidate: 805, gained: 5, lost: 1 },
    groups: [],
    waits: null,
    outcomes: {
      all: tally(5_300),
      base: { blocked: tally(120), heldBack: tally(301), stopped: tally(402) },
      candidate: { blocked: tally(120), heldBack: tally(344), stopped: tally(431) },
    },
    otherwise: null,
    scores: {
      base: quality({ auc: 0.78, brier: 0.19, calibrationError: 0.12 }),
      candidate: quality({ auc: 0.78, brier: 0.18, calibrationError: 0.08 }),
    },
    ladder: {
      base: [{ level: 1, waits: 1_800, clients: 1_400, cameBack: 610, paid: 220 }],
      candidate: [{ level: 1, waits: 2_710, clients: 1_930, cameBack: 840, paid: 290 }],
    },
    heldOut: { base: [], candidate: [] },
    undecidable: { count: 0, facts: [] },
    reproduced: null,
    emptyLists: [],
  });
}

/** With an interval of about the width for that many decisions. */
function about(value: number): Estimate {
  return { value, low: value - 0.01, high: value + 0.01 };
}

function quality(figures: Pick<ScoreQuality, 'auc' | 'brier' | 'calibrationError'>): ScoreQuality {
  const { auc, brier, calibrationError } = figures;
  const interval = (value: number | null) => (value === null ? null : about(value));
  const intervals = {
    auc: interval(auc),
    brier: interval(brier),
    calibrationError: interval(calibrationError),
  };
  const aucOfGranted = { withHistory: interval(auc), withoutHistory: about(0.5) };
  return { orders: 5_300, ...figures, aucOfGranted, intervals };
}

const NONE = { decisions: 0, ...NO_ORDERS };

function decisions(count: number) {
  return { decisions: count, ...orders(count) };
}

const NONE_STOPPED = { reversed: 0, held: 0, immature: 0, reversedShare: null, advice: null } as const;

/** Six of ten are paid, two are not. */
function orders(count: number): OrderCounts {
  const [paid, unpaid] = [Math.floor(0.6 * count), Math.floor(0.2 * count)];
  const turnedAway = Math.floor(0.1 * count);
  return { paid, unpaid, turnedAway, unknown: count - paid - unpaid - turnedAway };
}

function tally(count: number): OrderSums {
  return { orders: orders(count), amount: { EUR: { ...orders(25 * count), reversed: 0 } } };
}
