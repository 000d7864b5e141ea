import type { HeldOutCount } from '../../../evidence/backtest/held-out.ts';
import type { OrderCounts } from '../../../evidence/report/rule-report.ts';
import type { EvidenceSpan } from '../../../evidence/source/evidence.ts';
import { sharedListsText } from '../../../rules/condition-text.ts';
import type { Estimate } from '../../../statistics/bootstrap.ts';
import type { ShareInterval } from '../../../statistics/share-interval.ts';
import { timeText } from '../../time.ts';

/** What every table of evidence says above it: from when to when, and what is missing. */
export function spanText({ from, to, decisions, gaps, torn }: EvidenceSpan): readonly string[] {
  const span = from === null || to === null ? '' : `, ${timeText(from)} to ${timeText(to)}`;
  return [
    `${countText(decisions)} decisions${span}.`,
    ...gaps.map(
      (gap) =>
        `Gap: about ${countText(gap.entries)} entries between ${timeText(gap.from)} and ${timeText(gap.to)} are lost.`,
    ),
    ...(torn
      ? ['The last line of the journal is incomplete and was left out; export again to complete it.']
      : []),
  ];
}

/** What a figure says that is of no decision at all: nothing can be told, not even where the time is parted. */
export const NO_DECISION = 'There is no decision within this time.';

export function ordersText({ paid, unpaid, unknown }: OrderCounts): string {
  return `${countText(paid)} paid, ${countText(unpaid)} unpaid, ${countText(unknown)} unknown`;
}

/** `56.4 % (55.0 to 57.9)`; "-" without a case. */
export function shareText(share: ShareInterval | null): string {
  if (share === null) return '-';
  const percent = (value: number) => (100 * value).toFixed(1);
  return `${percent(share.value)} % (${percent(share.low)} to ${percent(share.high)})`;
}

/** A figure without a unit, with its interval; "-" without one. */
export function estimateText(estimate: Estimate | null): string {
  if (estimate === null) return '-';
  const [value, low, high] = [estimate.value, estimate.low, estimate.high].map((one) => one.toFixed(4));
  return `${value} (${low} to ${high})`;
}

export function countText(value: number): string {
  return value.toLocaleString('en');
}

/** With two decimals; a sum below 1 keeps up to nine, for currencies whose single unit is worth much. */
export function amountText(sum: number): string {
  return sum.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: sum < 1 ? 9 : 2 });
}

/** A titled part of an output, its lines moved in. */
export function section(title: string, body: string): string {
  const lines = body.split('\n').map((line) => `  ${line}`);
  return [title, ...lines].join('\n');
}

/** Whom a side held out of its rules, so that its figures are those of live traffic; nothing when no rule holds out. */
export function heldOutText(side: string, heldOut: readonly HeldOutCount[]): readonly string[] {
  return heldOut.map(
    ({ rule, share, decisions, clients }) =>
      `As in live traffic, ${side} holds ${Number((100 * share).toFixed(4))} % of the clients out of ${rule}: it matched and was skipped in ${countText(decisions)} decisions about ${countText(clients)} clients.`,
  );
}

/** What replays from an empty state leave out of account; nothing when no rule asks shared lists. */
export function emptyListsText(lists: readonly string[]): readonly string[] {
  if (lists.length === 0) return [];
  return [
    `In what is lived through again nobody is on ${sharedListsText(lists)}: the inputs do not tell who was.`,
  ];
}
