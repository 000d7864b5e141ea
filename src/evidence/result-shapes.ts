import { asOfShape } from '../archive/read/as-of.ts';
import { Type } from '../json-schema.ts';
import type { Verdict } from '../rules/rule-set.ts';
import { count, epochMs, list, named, nullable, type Shape, shape, word, yesNo } from '../shapes.ts';

/** The shapes that several kinds of evidence have in their results; member names are stable. */

export const number = (description: string) => Type.Number({ description });

const INTERVAL = named(
  'Interval',
  shape('A figure with its 95 % interval', {
    value: number('What was seen'),
    low: number('Its lower end'),
    high: number('Its upper end'),
  }),
);

/** Null where there is nothing to tell it from. */
export const interval = (description: string) => Type.Union([INTERVAL, Type.Null()], { description });
export const certainInterval = INTERVAL;

export const aucOfGranted = shape(
  'The same of orders that were granted, by whether their clients had a final outcome when they asked: over all, the score is credited with telling new clients from known ones, and with what it refused itself',
  {
    withHistory: interval('Of clients with a final outcome'),
    withoutHistory: interval(
      'Of clients without one, whose score the interface fixes: 0.5 is all that there can be',
    ),
  },
);

const ORDER_COUNTS = named(
  'OrderCounts',
  shape('Orders by what became of them; those whose last outcome is technical are left out', {
    paid: count('The last outcome is PAID'),
    unpaid: count('Granted, and the last outcome is UNPAID'),
    turnedAway: count(
      'Asked for and never granted, and not paid: what was reported of them proves nothing, since nobody could pay',
    ),
    unknown: count(
      'Granted, and nothing was reported about them: nobody knows, and no figure takes that for harmless',
    ),
  }),
);

export type OrderCounts = Shape<typeof ORDER_COUNTS>;

export const NO_ORDERS: OrderCounts = { paid: 0, unpaid: 0, turnedAway: 0, unknown: 0 };

/** Where orders of this fate, as the view `orders` has it, are counted. */
export function fateMember(fate: unknown): keyof OrderCounts {
  if (fate === 'PAID') return 'paid';
  if (fate === 'UNPAID') return 'unpaid';
  return fate === 'TURNED_AWAY' ? 'turnedAway' : 'unknown';
}

export const orderCounts = ORDER_COUNTS;

const ORDER_AMOUNTS = named(
  'OrderAmounts',
  shape('Sums of the amounts of orders by what became of them', {
    paid: number('Of paid orders'),
    unpaid: number('Of unpaid ones'),
    reversed: number('Of the unpaid ones, those that were paid and taken back'),
    turnedAway: number('Of those turned away'),
    unknown: number('Of those of which nothing was reported'),
  }),
);

export const amounts = Type.Record(ORDER_AMOUNTS, { description: 'By currency, in its units' });

export type OrderAmounts = Shape<typeof ORDER_AMOUNTS>;
/** By currency. */
export type Money = Shape<typeof amounts>;

export const gaps = list(
  shape('Entries of the journal that were lost', {
    from: epochMs('About when it begins'),
    to: epochMs('About when it ends'),
    entries: count('About how many'),
  }),
  'What was lost within the time',
);

/** The time that figures are about. */
export const SPAN = {
  from: nullable(epochMs('Of the first decision; null when there is none')),
  to: nullable(epochMs('Of the last decision')),
  decisions: count('Decisions within the time'),
  gaps,
  torn: yesNo("The last line of the journal's file is incomplete and was left out"),
  asOf: Type.Optional(asOfShape),
} as const;

/** From the archive's records to the shape of a result. */
export const heldOutCounts = list(
  shape('How often a rule matched and was skipped, because its client is held out of it', {
    rule: word('Its file and name, like groups/blocked-by-unpaid-chain'),
    share: number('Of the clients, 0 to 1'),
    decisions: count('In which it was skipped'),
    clients: count('The different clients of these decisions'),
  }),
  'Whom rules held out, as in live traffic',
);

export const emptyLists = list(
  word('A shared list'),
  'Shared lists that the rules ask about and that nobody was on, because inputs do not tell',
);

const verdictShare = interval('Null without a decision');

export const verdictMixShape = shape('Share of the decisions that each verdict has, by client', {
  GET_NEW: verdictShare,
  GET_SAME_STICKY: verdictShare,
  WAIT: verdictShare,
  BLOCK: verdictShare,
} satisfies Record<Verdict, unknown>);

export type VerdictMix = Shape<typeof verdictMixShape>;
