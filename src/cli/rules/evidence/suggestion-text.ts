import type { SuggestedChange, SuggestedEffect, Suggestion } from '../../../evidence/suggest/suggest.ts';
import type { Effect, TradeOff } from '../../../evidence/sweep/trade-off.ts';
import { table } from '../../table.ts';
import { timeText } from '../../time.ts';
import {
  countText,
  emptyListsText,
  heldOutText,
  NO_DECISION,
  ordersText,
  section,
  shareText,
  spanText,
} from './evidence-text.ts';

/** A suggestion for people; every figure is of the later part. */
export function suggestionText(suggestion: Suggestion): string {
  const { version, budget, span, splitAt, parts, changes, rejected, effects, nothing } = suggestion;
  const head = `${version}, at most ${Number((100 * budget).toFixed(4))} % of the paid orders refused besides those that it refuses (upper 95 % bound on the earlier part)`;
  if (span.decisions === 0) return `${head}\n${NO_DECISION}`;
  return [
    [
      head,
      ...spanText(span),
      `Looked for on the orders before ${timeText(splitAt)}: ${ordersText(parts.earlier.orders)}.`,
      `Shown on the orders since then: ${ordersText(parts.later.orders)}.`,
      ...heldOutText(version, suggestion.heldOut),
      ...emptyListsText(suggestion.emptyLists),
    ].join('\n'),
    ...(nothing === null ? [] : [nothing]),
    ...(changes.length === 0
      ? []
      : [
          section('Changes, with what each adds to those before it in the later part', changesTable(changes)),
        ]),
    ...casesToChange(changes),
    ...(changes.length === 0
      ? []
      : [section('The later part, with 95 % intervals by client', effectsTable(version, effects))]),
    ...(rejected.length === 0
      ? []
      : [
          section(
            'Found and left out',
            rejected.map(({ change, reason }) => `${change}: ${reason}`).join('\n'),
          ),
        ]),
  ].join('\n\n');
}

function changesTable(changes: readonly SuggestedChange[]): string {
  const rows = changes.map((change) => [
    change.kind === 'rule' ? change.name : change.path,
    countText(change.later.unpaid),
    shareText(change.later.unpaidShare),
    countText(change.later.paid),
    shareText(change.later.paidShare),
    change.kind === 'rule' ? `blocks where ${change.conditions}` : `${change.to} instead of ${change.from}`,
  ]);
  const headings = ['CHANGE', 'UNPAID BLOCKED', '95 %', 'PAID REFUSED', '95 %', ''];
  return table(headings, rows, { right: [1, 2, 3, 4] });
}

/** A changed constant leaves the cases that pin it as they are: what they say is for a person to change. */
function casesToChange(changes: readonly SuggestedChange[]): readonly string[] {
  const names = changes.flatMap(({ contradicts }) => contradicts);
  if (names.length === 0) return [];
  const title = 'Cases of the version that say otherwise, to be changed or dropped before a release';
  return [section(title, names.join('\n'))];
}

function effectsTable(version: string, effects: readonly SuggestedEffect[]): string {
  const rows = effects.flatMap(({ outcomes, present, suggested }) => [
    [outcomes, version, ...cells(present)],
    ['', 'suggested', ...cells(suggested)],
  ]);
  const headings = [
    'OUTCOMES',
    'RULES',
    'UNPAID BLOCKED',
    '95 %',
    'UNPAID STOPPED',
    '95 %',
    'PAID REFUSED',
    '95 %',
    'PAID HELD BACK',
    '95 %',
  ];
  return table(headings, rows, { right: [2, 3, 4, 5, 6, 7, 8, 9] });
}

function cells({ unpaidBlocked, unpaidStopped, paidRefused, paidHeldBack }: TradeOff): readonly string[] {
  const cell = ({ orders, share }: Effect) => [countText(orders), shareText(share)];
  return [unpaidBlocked, unpaidStopped, paidRefused, paidHeldBack].flatMap(cell);
}
