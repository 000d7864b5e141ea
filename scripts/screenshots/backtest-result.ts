import type { BacktestReport } from '../../src/evidence/backtest/backtest.ts';
import { isRuleVersion } from '../../src/rules/rule-set.ts';

/** What `rules backtest --json` prints, with figures of every kind in it. */
export function backtestResult(): BacktestReport {
  const version = 'p2.v11';
  if (!isRuleVersion(version)) throw new Error('not a version');
  const none = { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 };
  return {
    ruleVersion: version,
    digest: 'ab'.repeat(32),
    against: null,
    mode: 'recorded',
    journal: {
      records: 21_840,
      decisions: 9_400,
      from: Date.UTC(2026, 0, 1),
      to: Date.UTC(2026, 0, 8),
      ruleVersions: ['p2.v10'],
      torn: false,
    },
    compared: 9_400,
    changed: 1_282,
    transitions: {
      GET_NEW: { ...none, GET_NEW: 4_210, WAIT: 1_234 },
      GET_SAME_STICKY: { ...none, GET_SAME_STICKY: 388 },
      WAIT: { ...none, GET_NEW: 48, WAIT: 2_510 },
      BLOCK: { ...none, BLOCK: 1_010 },
    },
    changes: [
      {
        from: 'GET_NEW',
        to: 'WAIT',
        fromRule: 'otherwise',
        toRule: 'attempt-unpaid',
        count: 1_234,
        samples: ['order-9', 'order-12'],
      },
      {
        from: 'WAIT',
        to: 'GET_NEW',
        fromRule: 'asked-too-early',
        toRule: 'otherwise',
        count: 48,
        samples: ['order-31'],
      },
    ],
    bots: { base: 801, candidate: 805, gained: 5, lost: 1 },
    groups: [],
    waits: null,
    outcomes: {
      paidOrders: 4_100,
      unpaidOrders: 1_200,
      base: { paidHeldBack: 301, paidBlocked: 12, unpaidStopped: 402 },
      candidate: { paidHeldBack: 344, paidBlocked: 12, unpaidStopped: 431 },
    },
    ladder: {
      base: [{ level: 1, waits: 1_800, clients: 1_400, cameBack: 610, paid: 220 }],
      candidate: [{ level: 1, waits: 2_710, clients: 1_930, cameBack: 840, paid: 290 }],
    },
    undecidable: { count: 0, facts: [] },
    reproduced: null,
  };
}
