import type { Decision } from './records.ts';

/** Which decisions are looked for, and which page of them. */
export interface DecisionQuery {
  readonly orderRef?: string | undefined;
  readonly clientIdKey?: string | undefined;
  readonly verdict?: Decision['verdict'] | undefined;
  readonly rule?: string | undefined;
  readonly ruleVersion?: string | undefined;
  readonly clientGroup?: Decision['clientGroup'] | undefined;
  /** A bot signal that matched. */
  readonly signal?: string | undefined;
  /** What became of the order, as far as the archive knows; beside neither orderRef nor clientIdKey. */
  readonly outcome?: 'PAID' | 'UNPAID' | 'UNKNOWN' | undefined;
  /** Decimal texts like `25.00`, in any currency. */
  readonly amountMin?: string | undefined;
  readonly amountMax?: string | undefined;
  /** From this time on and before that one: epoch ms, or a text of RFC 3339. */
  readonly from?: number | string | undefined;
  readonly to?: number | string | undefined;
  /** The `lookedAt.next` of the page before. */
  readonly after?: string | undefined;
  /** Also what was reported about the orders that are listed. */
  readonly include?: 'outcomes' | undefined;
  /** From 1 to 500; 50 when absent. */
  readonly limit?: number | undefined;
}

export interface HistoryQuery {
  /** From 1 to 500; 100 when absent. */
  readonly limit?: number | undefined;
}

export interface LinksQuery {
  /** The most clients to show, from 1 to 200; 50 when absent. */
  readonly limit?: number | undefined;
  /** How many days are looked back over, from 1 to 400; 60 when absent. */
  readonly days?: number | undefined;
  /** 1: whom the client shares something with; 2, also when absent: also whom these share something with. */
  readonly depth?: 1 | 2 | undefined;
}

export interface ListEntryQuery {
  /** Only the entry for this value. */
  readonly value?: string | undefined;
  /** The `change` of the last entry of the page before. */
  readonly before?: number | undefined;
  /** From 1 to 500; 100 when absent. */
  readonly limit?: number | undefined;
}
