import type { History } from '../../../../test/history/evidence/backtest/backtest-history.ts';

/** The reports of one order, called `order`, and the status that every figure must then give it. */
export interface OutcomeHistory {
  /** The rest of a name that begins with "an order". */
  readonly name: string;
  readonly steps: (history: History) => Promise<void>;
  readonly status: 'PAID' | 'UNPAID' | 'TURNED_AWAY' | 'UNKNOWN' | 'TECHNICAL';
  readonly reversed: boolean;
}

const MINUTE_MS = 60_000;

async function ask(history: History): Promise<void> {
  history.now += MINUTE_MS;
  await history.verdict('payer', 'order');
}

async function tell(
  history: History,
  outcome: 'PAID' | 'UNPAID',
  cause: Parameters<History['outcome']>[3] = null,
): Promise<void> {
  history.now += MINUTE_MS;
  await history.outcome('payer', 'order', outcome, cause);
}

/** The ways in which reports of an order can arrive. */
export const OUTCOME_HISTORIES: readonly OutcomeHistory[] = [
  {
    name: 'that was granted, and of which nothing was told',
    steps: ask,
    status: 'UNKNOWN',
    reversed: false,
  },
  {
    name: 'that was granted and declined',
    steps: async (history) => {
      await ask(history);
      await tell(history, 'UNPAID', 'DECLINED');
    },
    status: 'UNPAID',
    reversed: false,
  },
  {
    name: 'that failed for a technical reason',
    steps: async (history) => {
      await ask(history);
      await tell(history, 'UNPAID', 'TECHNICAL');
    },
    status: 'TECHNICAL',
    reversed: false,
  },
  {
    name: 'that was declined, then paid',
    steps: async (history) => {
      await ask(history);
      await tell(history, 'UNPAID', 'DECLINED');
      await tell(history, 'PAID');
    },
    status: 'PAID',
    reversed: false,
  },
  {
    name: 'that was paid and taken back',
    steps: async (history) => {
      await ask(history);
      await tell(history, 'PAID');
      await tell(history, 'UNPAID', 'REVERSED');
    },
    status: 'UNPAID',
    reversed: true,
  },
  {
    name: 'that was turned away and reported unpaid',
    steps: async (history) => {
      await history.block('payer');
      await ask(history);
      await tell(history, 'UNPAID');
    },
    status: 'TURNED_AWAY',
    reversed: false,
  },
  {
    name: 'that was turned away and paid all the same',
    steps: async (history) => {
      await history.block('payer');
      await ask(history);
      await tell(history, 'PAID');
    },
    status: 'PAID',
    reversed: false,
  },
  {
    name: 'that was turned away, reported unpaid, and granted later',
    steps: async (history) => {
      await history.verdict('payer', 'another');
      history.now += 1000;
      await history.verdict('payer', 'order');
      await history.outcome('payer', 'order', 'UNPAID');
      await ask(history);
    },
    status: 'UNKNOWN',
    reversed: false,
  },
  {
    name: 'that was paid, and reported unpaid without a cause after that',
    steps: async (history) => {
      await ask(history);
      await tell(history, 'PAID');
      await tell(history, 'UNPAID');
    },
    status: 'PAID',
    reversed: false,
  },
  {
    name: 'whose reversal was told before its payment',
    steps: async (history) => {
      await ask(history);
      await tell(history, 'UNPAID', 'REVERSED');
      await tell(history, 'PAID');
    },
    status: 'UNPAID',
    reversed: true,
  },
];
