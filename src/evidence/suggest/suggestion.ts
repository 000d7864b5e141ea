import { timeText } from '../../client/instant.ts';
import { Type } from '../../json-schema.ts';
import { always, choice, list, named, nullable, oneOf, type Shape, shape, word } from '../../shapes.ts';
import { OUTCOME_ASSUMPTIONS } from '../backtest/lives.ts';
import {
  columns,
  type EvidenceTable,
  emptyListsNotes,
  heldOutCounts,
  heldOutNotes,
  interval,
  number,
  ordersText,
  percentText,
  type Shown,
  spanNotes,
} from '../shown.ts';
import { adviceNotes, reversalNotes, stoppedPayments } from '../source/reversals.ts';
import { effectColumns, PARTED, TradeOffSchema, tradeOffCells } from '../sweep/sweep-report.ts';

const CHANGE = {
  later: shape('Orders of the later part that it blocks and that were not blocked without it', {
    unpaid: number('How many unpaid ones'),
    unpaidShare: interval('Of all unpaid orders of the later part, by client'),
    paid: number('How many paid ones'),
    paidShare: interval('Of all paid ones'),
  }),
  contradicts: list(
    word('Its name'),
    'Cases of the version that say otherwise; somebody has to change or drop them',
  ),
} as const;

const ChangeSchema = oneOf(
  'kind',
  {
    rule: named(
      'SuggestedRule',
      shape('A new rule', {
        kind: always('rule'),
        name: word('Of the rule'),
        conditions: word('Like distinctFingerprints(1h) >= 3'),
        ...CHANGE,
      }),
    ),
    edit: named(
      'SuggestedEdit',
      shape('Another value of a constant', {
        kind: always('edit'),
        path: word('Like groups.blocked-by-unpaid-chain.unpaidChain'),
        from: word('As it is'),
        to: word('As it is suggested'),
        ...CHANGE,
      }),
    ),
  },
  'One change, with what it adds to the changes before it',
);

const RejectedSchema = shape('A change that was found and is not suggested', {
  change: word('unpaidCount >= 2, or groups.blocked-by-unpaid-chain.unpaidChain: 4 -> 3'),
  reason: word('Why'),
});

const EffectSchema = shape('What the version and the suggestion do to the orders of the later part', {
  outcomes: choice(OUTCOME_ASSUMPTIONS, 'Which recorded outcomes happened'),
  present: TradeOffSchema,
  suggested: TradeOffSchema,
});

/** What `rules suggest --json` prints, but for notes and tables. */
export const SuggestionSchema = shape('Rules and constants that would have stopped more unpaid orders', {
  kind: always('suggestion'),
  version: word('That changes are suggested for'),
  budget: number('Share of the mature paid orders that may be refused besides, 0 to 1'),
  ...PARTED,
  changes: list(ChangeSchema, 'In the order in which they were found'),
  rejected: list(RejectedSchema, 'Found and left out'),
  effects: list(EffectSchema, 'Under each assumption about outcomes'),
  nothing: nullable(word('Why nothing is suggested; null when something is')),
  heldOut: heldOutCounts,
  stopped: nullable(stoppedPayments),
  files: Type.Union([Type.Record(Type.String()), Type.Null()], {
    description: 'The texts that are new or changed, by path; null when nothing is suggested',
  }),
});

export type SuggestedChange = Shape<typeof ChangeSchema>;
export type RejectedChange = Shape<typeof RejectedSchema>;
export type SuggestedEffect = Shape<typeof EffectSchema>;
export type Suggestion = Shape<typeof SuggestionSchema>;

/** A suggestion for its reader; every figure is of the later part. */
export function shownSuggestion(suggestion: Suggestion): Shown {
  const { version, budget, span, splitAt, parts, changes, rejected, effects, nothing } = suggestion;
  const head = [
    `${version}, at most ${percentText(budget)} of the paid orders refused besides those that it refuses (upper 95 % bound on the earlier part)`,
    ...spanNotes(span),
  ];
  if (span.decisions === 0) return { notes: head, tables: [] };
  const contradicted = changes.flatMap(({ contradicts }) => contradicts);
  return {
    notes: [
      ...head,
      `Looked for on the orders before ${timeText(splitAt)}: ${ordersText(parts.earlier.orders)}.`,
      `Shown on the orders since then: ${ordersText(parts.later.orders)}.`,
      ...reversalNotes(suggestion.reversals),
      ...youngNotes(suggestion.reversals),
      ...adviceNotes('What is suggested', suggestion.stopped),
      ...heldOutNotes(version, suggestion.heldOut),
      ...emptyListsNotes(suggestion.emptyLists),
      ...(nothing === null ? [] : [`Nothing is suggested. ${nothing}`]),
      // A changed constant leaves the cases that pin it as they are: a person has to change them.
      ...(contradicted.length === 0
        ? []
        : [
            `Cases of the version that say otherwise, to be changed or dropped before a release: ${contradicted.join(', ')}.`,
          ]),
    ],
    tables: [
      ...(changes.length === 0 ? [] : [changesTable(changes), effectsTable(version, effects)]),
      ...(rejected.length === 0 ? [] : [rejectedTable(rejected)]),
    ],
  };
}

/** The budget counts good payments: one that may still be taken back does not count. */
function youngNotes({ seen }: Suggestion['reversals']): readonly string[] {
  return seen === 0
    ? []
    : [
        'Immature payments, reversed already or not, count neither as paid nor as unpaid here: neither in the budget nor in what a change does.',
      ];
}

function changesTable(changes: readonly SuggestedChange[]): EvidenceTable {
  return {
    name: 'changes',
    title: 'Changes, with what each adds to those before it in the later part',
    columns: [
      ...columns('text', 'change'),
      ...effectColumns('unpaid blocked', 'paid refused'),
      ...columns('text', 'what it says'),
    ],
    rows: changes.map((change) => [
      change.kind === 'rule' ? change.name : change.path,
      ...[change.later.unpaid, change.later.unpaidShare, change.later.paid, change.later.paidShare],
      change.kind === 'rule' ? `blocks where ${change.conditions}` : `${change.to} instead of ${change.from}`,
    ]),
  };
}

function effectsTable(version: string, effects: readonly SuggestedEffect[]): EvidenceTable {
  return {
    name: 'effects',
    title: 'The later part, with 95 % intervals by client',
    columns: [
      ...columns('text', 'outcomes', 'rules'),
      ...effectColumns('unpaid stopped', 'unpaid blocked', 'paid refused', 'paid held back'),
    ],
    rows: effects.flatMap(({ outcomes, present, suggested }) => [
      [outcomes, version, ...tradeOffCells(present)],
      [outcomes, 'suggested', ...tradeOffCells(suggested)],
    ]),
  };
}

function rejectedTable(rejected: readonly RejectedChange[]): EvidenceTable {
  return {
    name: 'rejected',
    title: 'Found and left out',
    columns: columns('text', 'change', 'why'),
    rows: rejected.map(({ change, reason }) => [change, reason]),
  };
}
