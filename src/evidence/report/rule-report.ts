import type { ArchiveGap } from '../../archive/archive-log.ts';
import type { ShareInterval } from '../../statistics/share-interval.ts';
import type { HoldoutReport } from './holdout-figures.ts';
import type { NamedRule } from './judgement.ts';

/** Orders by what became of them; those whose last outcome is technical are left out. */
export interface OrderCounts {
  readonly paid: number;
  readonly unpaid: number;
  /** Nothing was reported about them: nobody knows, and no figure takes that for harmless. */
  readonly unknown: number;
}

/** What one rule was worth on what happened, over all decisions or over a slice of them. */
export interface RuleFigures {
  /** Decisions in which its condition held. */
  readonly matched: number;
  /** Decisions that it gave the group or the verdict of, or in whose bot flag it had a part. */
  readonly decided: number;
  /** Decisions whose verdict or bot flag would have been another without it; null for `otherwise`. */
  readonly sole: number | null;
  /** Orders with a decision that it matched, each once. */
  readonly orders: OrderCounts;
  /** Of its orders with a known outcome, with an interval for orders that hang together by client; null without one. */
  readonly unpaidShare: ShareInterval | null;
  /** Its unpaid share over that of all orders; null when either has none. */
  readonly lift: number | null;
  /** Sums of the amounts of its orders, by currency. */
  readonly amount: Readonly<Record<string, OrderCounts>>;
}

export interface RuleReport extends Pick<NamedRule, 'file' | 'name'>, RuleFigures {
  /**
   * Of a WAIT rule: orders that it held back, those of them whose client was granted a requisite later, for this
   * order or another, and those of these where the granted order was paid. Null for other rules.
   */
  readonly afterWait: { readonly orders: number; readonly granted: number; readonly paid: number } | null;
  /** What is known of clients for whom the rule is skipped; null when it holds nobody out. */
  readonly holdout: HoldoutReport | null;
  /** By the slices that were asked for, in their order; absent without. */
  readonly by?: readonly (RuleFigures & { readonly slice: string })[];
}

/** What `rules report --json` prints; the member names are stable. Times are epoch ms. */
export interface Report {
  readonly version: string;
  readonly digest: string;
  /** Of the first and the last decision; null when there is none. */
  readonly from: number | null;
  readonly to: number | null;
  readonly decisions: number;
  /** Decisions of these by the very rule set that is reported on; the others were made by other versions. */
  readonly ownDecisions: number;
  /** Decisions whose records lack a fact that the rules ask, and the labels of these facts; counted nowhere else. */
  readonly undecidable: { readonly count: number; readonly facts: readonly string[] };
  readonly orders: OrderCounts;
  readonly unpaidShare: ShareInterval | null;
  /** Orders that are left out because they ended in a technical failure. */
  readonly technical: number;
  readonly by: SliceName | null;
  readonly rules: readonly RuleReport[];
  /** Why outcomes are unknown: no requisite was ever granted, or none was reported. */
  readonly unknownReasons: { readonly neverGranted: number; readonly notReported: number };
  readonly gaps: readonly ArchiveGap[];
}

export const SLICE_NAMES = ['day', 'week', 'method', 'currency', 'sellPoint', 'platform'] as const;

export type SliceName = (typeof SLICE_NAMES)[number];
