import { LRUCache } from 'lru-cache';
import type { PlatformName } from '../../client/client-key.ts';
import { CLIENT_GROUPS, type ClientGroup } from '../../client/client-state.ts';
import { VERDICTS, type Verdict } from '../../rules/rule-set.ts';
import type { ArchiveGap } from '../archive-log.ts';
import { type DuckRow, flagOf, numberOf } from '../duck.ts';
import type { ArchiveReader } from './archive-reader.ts';

export const HISTORY_SPANS = ['hour', 'day', 'week', 'month', 'quarter'] as const;

export type HistorySpan = (typeof HISTORY_SPANS)[number];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Into how many slots of what length a span is split. */
const SLOTS: Readonly<Record<HistorySpan, { readonly stepMs: number; readonly count: number }>> = {
  hour: { stepMs: MINUTE_MS, count: 60 },
  day: { stepMs: 30 * MINUTE_MS, count: 48 },
  week: { stepMs: 3 * HOUR_MS, count: 56 },
  month: { stepMs: 12 * HOUR_MS, count: 60 },
  quarter: { stepMs: 24 * HOUR_MS, count: 90 },
};

/** What a platform was answered by all nodes within a slot of time. */
interface VerdictSlot {
  /** Its beginning, epoch ms. */
  readonly at: number;
  readonly verdicts: Record<Verdict, number>;
  readonly groups: Record<ClientGroup, number>;
  bots: number;
  /** Waits imposed, by level of the ladder; levels without one are left out. */
  readonly waits: Record<string, number>;
}

export interface VerdictHistoryView {
  readonly stepMs: number;
  /** Oldest first; the last one runs still, or ends with the span that was asked for. */
  readonly slots: readonly VerdictSlot[];
  /** Of the newest decision among them, epoch ms; null without one. What is newer was not shipped yet. */
  readonly to: number | null;
  readonly gaps: readonly ArchiveGap[];
}

/** The archive grows every ten seconds; who looks at a quarter does not notice a minute. */
const KEPT_MS = { hour: 5_000, day: 30_000, week: 60_000, month: 60_000, quarter: 60_000 } as const;

const VIEWS_MAX = 200;

/** What the fleet answered over hours, days and weeks. The same view is worked out once for all who look at it. */
export class VerdictHistory {
  readonly #archive: ArchiveReader;
  readonly #clock: () => number;
  readonly #views = new LRUCache<string, Promise<VerdictHistoryView>>({ max: VIEWS_MAX });

  constructor(archive: ArchiveReader, clock: () => number) {
    this.#archive = archive;
    this.#clock = clock;
  }

  /** `before`, epoch ms, is where the span ends; the running slot is the last one without it. */
  view(platform: PlatformName, span: HistorySpan, before?: number): Promise<VerdictHistoryView> {
    const { stepMs } = SLOTS[span];
    const last = Math.floor((before === undefined ? this.#clock() : before - 1) / stepMs) * stepMs;
    const key = `${span} ${before === undefined ? '' : last} ${platform}`;
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    const view = this.#read(platform, span, last);
    this.#views.set(key, view, { ttl: KEPT_MS[span] });
    view.catch(() => this.#views.delete(key));
    return view;
  }

  async #read(platform: PlatformName, span: HistorySpan, last: number): Promise<VerdictHistoryView> {
    const { stepMs, count } = SLOTS[span];
    const from = last - (count - 1) * stepMs;
    const to = last + stepMs;
    const { rows, gaps } = await this.#archive.reading(async (past) => ({
      rows: await past.rows((source) => countsSql(source('decisions', { platform, from }), from, to, stepMs)),
      gaps: [...past.gaps, ...past.unreadable.map(({ from, to, rows }) => ({ from, to, entries: rows }))],
    }));
    const slots = Array.from({ length: count }, (_, index) => emptySlot(from + index * stepMs));
    for (const row of rows) {
      const slot = slots[((numberOf(row['slot']) ?? 0) - from) / stepMs];
      if (slot !== undefined) addCounts(slot, row);
    }
    const newest = rows.map((row) => numberOf(row['newest']) ?? 0);
    return {
      stepMs,
      slots,
      to: newest.length === 0 ? null : Math.max(...newest),
      gaps: gaps.filter((gap) => gap.to >= from && gap.from < to),
    };
  }
}

function countsSql(source: string, from: number, to: number, stepMs: number): string {
  return `SELECT epoch_ms(decided_at) // ${stepMs} * ${stepMs} AS slot, verdict, client_group, is_bot,
      CASE WHEN verdict = 'WAIT' THEN ladder_after_level END AS level,
      count(*) AS decisions, epoch_ms(max(decided_at)) AS newest
    FROM ${source} WHERE decided_at >= make_timestamp_ms(${from}) AND decided_at < make_timestamp_ms(${to}) GROUP BY ALL`;
}

function emptySlot(at: number): VerdictSlot {
  return {
    at,
    verdicts: { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 },
    groups: { NEW: 0, STICKY: 0, PAYING: 0, TRUSTED: 0, BLOCKED: 0 },
    bots: 0,
    waits: {},
  };
}

function addCounts(slot: VerdictSlot, row: DuckRow): void {
  const decisions = numberOf(row['decisions']) ?? 0;
  const verdict = VERDICTS.find((one) => one === row['verdict']);
  const group = CLIENT_GROUPS.find((one) => one === row['client_group']);
  if (verdict !== undefined) slot.verdicts[verdict] += decisions;
  if (group !== undefined) slot.groups[group] += decisions;
  if (flagOf(row['is_bot']) === true) slot.bots += decisions;
  const level = numberOf(row['level']);
  if (level !== null) slot.waits[level] = (slot.waits[level] ?? 0) + decisions;
}
