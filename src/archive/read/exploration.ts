import type { PlatformName } from '../../client/client-key.ts';
import type { Decision } from '../../decision/decision.ts';
import { type DecisionFilter, fitsFilter } from '../../decision/decision-filter.ts';
import type { Verdict } from '../../rules/rule-set.ts';
import {
  type Contribution,
  type CountedValue,
  contributions,
  type TwoTimes,
} from '../../statistics/distributions.ts';
import type { ArchiveGap } from '../archive-log.ts';
import { type DuckRow, numbersOf, quote, textOf } from '../duck.ts';
import type { ArchiveReader } from './archive-reader.ts';
import type { AsOf } from './as-of.ts';
import { filterCondition } from './segment-rows.ts';

/** What decisions may be split by: as SQL over the archive's table, and of a decision that is not archived yet. */
const SPLITS = {
  verdict: { sql: 'verdict', of: ({ verdict }) => [verdict] },
  rule: { sql: 'rule', of: ({ rule }) => [rule] },
  signal: { sql: 'unnest(signals)', of: ({ signals }) => signals },
  group: { sql: 'client_group', of: ({ clientGroup }) => [clientGroup] },
  platform: { sql: 'platform', of: ({ platform }) => [platform] },
  pointOfSale: { sql: 'sell_point_key', of: ({ sellPointKey }) => [sellPointKey] },
  method: {
    sql: 'fact_method',
    of: ({ facts: { method } }) => (method === undefined ? [] : [String(method)]),
  },
  version: { sql: 'rule_version', of: ({ ruleVersion }) => [ruleVersion] },
  arm: { sql: 'arm', of: ({ arm }) => [arm] },
} as const satisfies Record<
  string,
  { readonly sql: string; readonly of: (decision: Decision) => readonly string[] }
>;

export type SplitName = keyof typeof SPLITS;

export const SPLIT_NAMES = Object.freeze(
  Object.keys(SPLITS).filter((name): name is SplitName => name in SPLITS),
);

/** Of two that explain as much, the version goes before its arm. */
const SPLIT_ORDER: readonly string[] = SPLIT_NAMES;

/** An operator gives each version its share of the traffic. */
const DIVIDED: ReadonlySet<string> = new Set<SplitName>(['version', 'arm']);

type VerdictEntry = Parameters<Parameters<ArchiveReader['askAsOne']>[2]>[0];

/** From a time on and before another, epoch ms. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

export interface ExplorationAsk extends TimeSpan {
  /** Null for all platforms. */
  readonly platform: PlatformName | null;
  readonly by: SplitName;
  /** What is counted; null for all verdicts. */
  readonly verdict: Verdict | null;
  readonly filter: Omit<DecisionFilter, 'from' | 'to' | 'after' | 'verdict'>;
  /** The time that it is compared with; null for none. */
  readonly against: TimeSpan | null;
  /** What came later was not known then, epoch ms; null: all that is known. */
  readonly asOf: number | null;
}

interface ExploredValue {
  /** Null for all values beside the most frequent ones together. */
  readonly value: string | null;
  /** Slot by slot. */
  readonly decisions: readonly number[];
  /** The amounts asked for, by slot and currency; an order counts once, when it was first asked for. */
  readonly money: Readonly<Record<string, readonly number[]>>;
}

export interface Exploration {
  readonly stepMs: number;
  /** Beginnings of the slots, epoch ms, oldest first. */
  readonly slots: readonly number[];
  /** Decisions that fit, whatever their verdict, slot by slot. */
  readonly all: readonly number[];
  /** The most frequent first. */
  readonly values: readonly ExploredValue[];
  /** What changed since the time that it is compared with; null without one. */
  readonly change: (TwoTimes & { readonly contributions: readonly Contribution[] }) | null;
  readonly gaps: readonly ArchiveGap[];
  /** Before this all is counted, epoch ms; null: all is. */
  readonly upTo: number | null;
  /** Absent unless figures of the past were asked for. */
  readonly asOf?: AsOf;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const STEPS_MS = [1, 2, 5, 10, 30, 60, 180, 360, 720, 1440, 10_080].map((minutes) => minutes * MINUTE_MS);
const SLOTS_MAX = 100;
const VALUES_MAX = 11;
const CONTRIBUTING_VALUES_MAX = 500;

/** How far back a question may reach. */
export const EXPLORED_MS_MAX = 400 * 24 * HOUR_MS;

/** Facts by which decisions are counted, for an archive whose rule sets never recorded them. */
const COUNTED_FACTS =
  'NULL::DOUBLE AS fact_amount, NULL::VARCHAR AS fact_currency, NULL::VARCHAR AS fact_method';

const NO_CURRENCY = '–';

/** Counts the decisions of a time by what they have in common, those of the archive and of the journal as one. */
export async function explore(archive: ArchiveReader, asked: ExplorationAsk): Promise<Exploration> {
  const ask = asKnown(asked);
  const slotted = await slotCounts(archive, ask);
  const change = ask.against === null ? null : await changeSince(archive, ask, ask.against);
  const { asOf, platform } = ask;
  return { ...slotted, change, ...(asOf === null ? {} : { asOf: await archive.asOf(asOf, platform) }) };
}

/** Of a moment of the past what had been decided by then. */
function asKnown(ask: ExplorationAsk): ExplorationAsk {
  const { asOf, against } = ask;
  if (asOf === null) return ask;
  const known = (span: TimeSpan) => ({ from: span.from, to: Math.min(span.to, asOf + 1) });
  return { ...ask, ...known(ask), against: against && known(against) };
}

async function slotCounts(
  archive: ArchiveReader,
  ask: ExplorationAsk,
): Promise<Omit<Exploration, 'change' | 'asOf'>> {
  const { from, to, by, verdict, filter } = ask;
  const stepMs = STEPS_MS.find((step) => (to - from) / step <= SLOTS_MAX) ?? 7 * 24 * HOUR_MS;
  const first = Math.floor(from / stepMs) * stepMs;
  const slots = Array.from(
    { length: Math.ceil((to - first) / stepMs) },
    (_, place) => first + place * stepMs,
  );
  const table = new SlotTable(slots.length);
  const placeOf = (at: number) => Math.floor((at - first) / stepMs);
  const unshipped: Decision[] = [];
  const read = await archive.askAsOne(
    { table: 'decisions', ...within(ask), ...(ask.platform === null ? {} : { platform: ask.platform }) },
    (source, later) => slotSql(source, ask, { first, stepMs, later }),
    ({ decision }) => unshipped.push(decision),
  );
  for (const row of read.rows) table.addRow(row);
  for (const decision of unshipped.filter((one) => fitsFilter(one, { ...filter, from, to }))) {
    const place = placeOf(decision.at);
    addAt(table.all, place, 1);
    if (verdict !== null && decision.verdict !== verdict) continue;
    const { amount, currency = NO_CURRENCY } = decision.facts;
    const asked = typeof amount === 'number' ? amount : 0;
    for (const value of SPLITS[by].of(decision)) {
      const isFirst = table.asks(decision.platform, decision.orderRef, value);
      table.add({ place, value, currency: String(currency), decisions: 1, amount: isFirst ? asked : 0 });
    }
  }
  return {
    stepMs,
    slots,
    all: table.all,
    values: table.values(),
    gaps: gapsIn(read.gaps, ask),
    upTo: read.upTo,
  };
}

function within({ from, to }: TimeSpan): TimeSpan {
  return { from, to };
}

function gapsIn(gaps: readonly ArchiveGap[], { from, to }: TimeSpan): readonly ArchiveGap[] {
  return gaps.filter((gap) => gap.to >= from && gap.from < to);
}

/** Decisions of one span, with all columns that are counted by. */
function lookedAt(source: string, { filter }: ExplorationAsk, span: TimeSpan): string {
  return `(SELECT * FROM (SELECT * FROM ${source} UNION ALL BY NAME SELECT ${COUNTED_FACTS} WHERE false)
    WHERE ${filterCondition({ ...filter, ...within(span) })})`;
}

function slotSql(
  source: string,
  ask: ExplorationAsk,
  { first, stepMs, later }: { first: number; stepMs: number; later: readonly VerdictEntry[] },
): string {
  const { by, verdict } = ask;
  const slot = `((epoch_ms(decided_at) - ${first}) // ${stepMs})::INT AS slot`;
  const again = [...new Set(later.map(({ decision }) => quote(decision.orderRef)))];
  const askedAgain = `UNION ALL SELECT DISTINCT NULL, value, platform, 0, NULL, order_ref FROM valued
    WHERE order_ref IN (${again.join(', ')})`;
  return `WITH looked AS (FROM ${lookedAt(source, ask, ask)}),
    valued AS (SELECT * FROM (
      SELECT ${slot}, ${SPLITS[by].sql} AS value, coalesce(fact_currency, '${NO_CURRENCY}') AS currency,
        fact_amount::DOUBLE AS amount, platform, order_ref, decided_at
      FROM looked ${verdict === null ? '' : `WHERE verdict = '${verdict}'`}
    ) WHERE value IS NOT NULL),
    ranked AS (SELECT *, row_number() OVER (PARTITION BY hash(platform, order_ref, value) ORDER BY decided_at) AS time FROM valued)
    SELECT ${slot}, NULL AS value, NULL AS currency, count(*) AS decisions, NULL AS amount, NULL AS asked FROM looked GROUP BY slot
    UNION ALL SELECT slot, value, currency, count(*), sum(amount) FILTER (time = 1), NULL FROM ranked GROUP BY ALL
    ${again.length === 0 ? '' : askedAgain}`;
}

/** Decisions of a slot that have a value and a currency in common. */
interface Cell {
  readonly place: number;
  readonly value: string;
  readonly currency: string;
  readonly decisions: number;
  readonly amount: number;
}

/** Counts by value and slot. */
class SlotTable {
  readonly all: number[];
  readonly #cells: Cell[] = [];
  readonly #asked = new Set<string>();

  constructor(slots: number) {
    this.all = Array(slots).fill(0);
  }

  /** Whether an order with this value was not asked for before. */
  asks(platform: string, orderRef: string, value: string): boolean {
    const known = this.#asked.size;
    return this.#asked.add(JSON.stringify([platform, orderRef, value])).size > known;
  }

  addRow(row: DuckRow): void {
    const { slot: place, decisions, amount } = numbersOf(row, { slot: 0, decisions: 0, amount: 0 });
    const value = textOf(row['value']);
    const currency = textOf(row['currency']) ?? NO_CURRENCY;
    const asked = textOf(row['asked']);
    if (asked !== null) this.asks(currency, asked, value ?? '');
    else if (value === null) addAt(this.all, place, decisions);
    else this.add({ place, value, currency, decisions, amount });
  }

  add(cell: Cell): void {
    this.#cells.push(cell);
  }

  values(): readonly ExploredValue[] {
    const shown = this.#mostFrequent();
    const values = new Map<string | null, { decisions: number[]; money: Record<string, number[]> }>(
      shown.map((value) => [value, this.#empty()]),
    );
    for (const { place, value, currency, decisions, amount } of this.#cells) {
      const name = shown.includes(value) ? value : null;
      const sums = values.get(name) ?? this.#empty();
      values.set(name, sums);
      addAt(sums.decisions, place, decisions);
      sums.money[currency] ??= this.all.map(() => 0);
      addAt(sums.money[currency], place, amount);
    }
    return [...values].map(([value, sums]) => ({ value, ...sums }));
  }

  #mostFrequent(): readonly string[] {
    const sums = new Map<string, number>();
    for (const { value, decisions } of this.#cells) sums.set(value, (sums.get(value) ?? 0) + decisions);
    const ranked = [...sums].toSorted(([a, one], [b, two]) => two - one || (a < b ? -1 : 1));
    return ranked.slice(0, VALUES_MAX).map(([value]) => value);
  }

  #empty(): { decisions: number[]; money: Record<string, number[]> } {
    return { decisions: this.all.map(() => 0), money: {} };
  }
}

function addAt(sums: number[], place: number, more: number): void {
  sums[place] = (sums[place] ?? 0) + more;
}

/** How much the counts of a verdict changed since an earlier time, and why. */
async function changeSince(
  archive: ArchiveReader,
  ask: ExplorationAsk,
  against: TimeSpan,
): Promise<Exploration['change']> {
  const counts = new ChangeCounts();
  for (const [time, span] of [
    ['before', against],
    ['after', within(ask)],
  ] as const) {
    const { rows } = await archive.askAsOne(
      { table: 'decisions', ...span, ...(ask.platform === null ? {} : { platform: ask.platform }) },
      (source) => changeSql(source, ask, span),
      ({ decision }) => {
        if (!fitsFilter(decision, { ...ask.filter, ...span })) return;
        const part = ask.verdict === null || decision.verdict === ask.verdict ? 1 : 0;
        counts.add(time, null, '', part, 1);
        for (const dimension of SPLIT_NAMES)
          for (const value of SPLITS[dimension].of(decision)) counts.add(time, dimension, value, part, 1);
      },
    );
    for (const row of rows) {
      const { part, whole } = numbersOf(row, { part: 0, whole: 0 });
      counts.add(time, textOf(row['dimension']), textOf(row['value']) ?? '', part, whole);
    }
  }
  const { all } = counts;
  // Of one verdict alone its name explains nothing.
  const counted = counts
    .values()
    .toSorted((a, b) => SPLIT_ORDER.indexOf(a.dimension) - SPLIT_ORDER.indexOf(b.dimension))
    .filter(({ dimension }) => ask.verdict === null || dimension !== 'verdict');
  return { ...all, contributions: contributions(counted, { all, divided: DIVIDED }) };
}

function changeSql(source: string, ask: ExplorationAsk, span: TimeSpan): string {
  const isPart = ask.verdict === null ? 'true' : `verdict = '${ask.verdict}'`;
  const counts = 'count(*) FILTER (is_part) AS part, count(*) AS whole';
  const of = (dimension: SplitName) => `SELECT * FROM (
    SELECT '${dimension}' AS dimension, value, ${counts} FROM (SELECT ${SPLITS[dimension].sql} AS value, ${isPart} AS is_part FROM looked)
    WHERE value IS NOT NULL GROUP BY value ORDER BY part DESC, value LIMIT ${CONTRIBUTING_VALUES_MAX})`;
  return `WITH looked AS (FROM ${lookedAt(source, ask, span)})
    SELECT NULL AS dimension, NULL AS value, ${counts} FROM (SELECT ${isPart} AS is_part FROM looked)
    UNION ALL ${SPLIT_NAMES.map(of).join(' UNION ALL ')}`;
}

/** Counts of two times by dimension and value. */
class ChangeCounts {
  readonly all = noCounts();
  readonly #values = new Map<string, { dimension: string; value: string } & ReturnType<typeof noCounts>>();

  add(time: keyof TwoTimes, dimension: string | null, value: string, part: number, whole: number): void {
    const counts = dimension === null ? this.all : this.#of(dimension, value);
    counts[time].part += part;
    counts[time].whole += whole;
  }

  values(): readonly CountedValue[] {
    return [...this.#values.values()];
  }

  #of(dimension: string, value: string) {
    const name = `${dimension} ${value}`;
    const known = this.#values.get(name) ?? { dimension, value, ...noCounts() };
    this.#values.set(name, known);
    return known;
  }
}

function noCounts() {
  return { before: { part: 0, whole: 0 }, after: { part: 0, whole: 0 } };
}
