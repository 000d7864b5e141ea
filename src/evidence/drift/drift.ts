import type { ArchiveGap } from '../../archive/archive-log.ts';
import { numberOf } from '../../archive/duck.ts';
import { factLabel } from '../../archive/rows.ts';
import { VERDICTS, type Verdict } from '../../rules/rule-set.ts';
import { type ShareInterval, shareInterval } from '../../statistics/share-interval.ts';
import { type ScoreFigures, scoreFigures } from '../calibrate/score-figures.ts';
import { scoredOrders } from '../calibrate/scored-orders.ts';
import type { Evidence } from '../source/evidence.ts';
import { columnsOf } from '../source/views.ts';
import { type FactDrift, factDrift } from './fact-drift.ts';

/** One of the two parts of the time. */
export interface DriftPart {
  readonly decisions: number;
  readonly clients: number;
  /** Share of the decisions; the decisions of one client hang together, so the intervals are too narrow. */
  readonly verdicts: Readonly<Record<Verdict, ShareInterval | null>>;
  /** Share of the orders with a known outcome that were paid. */
  readonly paidShare: ShareInterval | null;
  /** How well the recorded paymentScore told what became of orders. */
  readonly score: ScoreFigures;
}

/** What `rules drift --json` prints; the member names are stable. Times are epoch ms. */
export interface Drift {
  /** The version whose decisions alone are compared; null for those of all. */
  readonly version: string | null;
  readonly from: number | null;
  readonly to: number | null;
  /** Where the later part begins. */
  readonly splitAt: number;
  readonly earlier: DriftPart;
  readonly later: DriftPart;
  /** Orders of both parts of which nothing was reported. */
  readonly unknown: number;
  /** The facts that moved most first. */
  readonly facts: readonly FactDrift[];
  readonly gaps: readonly ArchiveGap[];
}

/**
 * Compares what payers did, what was answered, what was paid and how well the score told it, before and from a time
 * on; null splits in the middle. A hint where to look, no proof: whatever else changed between the parts is in it.
 */
export async function drift(
  evidence: Evidence,
  split: number | null,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<Drift> {
  const { duck, span } = evidence;
  const splitAt = split ?? Math.round(((span.from ?? 0) + (span.to ?? 0)) / 2);
  const columns = (await columnsOf(duck, 'decisions')).filter((name) => factLabel(name) !== null);
  const [earlier, later] = [await mixOf(evidence, splitAt, false), await mixOf(evidence, splitAt, true)];
  const facts: FactDrift[] = [];
  for (const column of columns) {
    onProgress(facts.length, columns.length + 1);
    facts.push(await factDrift(duck, column, splitAt, [earlier.clients, later.clients]));
  }
  const { groups, unknown } = await scoredOrders(evidence, splitAt);
  const part = (mix: typeof earlier, isLater: boolean): DriftPart => {
    const some = groups.filter((group) => group.later === isLater);
    const paid = some.reduce((sum, group) => sum + group.paid, 0);
    const score = scoreFigures(some, ({ recordedScore }) => recordedScore);
    return { ...mix, paidShare: shareInterval(paid, score.orders), score };
  };
  return {
    version: evidence.ask.decidedBy ?? null,
    from: span.from,
    to: span.to,
    splitAt,
    earlier: part(earlier, false),
    later: part(later, true),
    unknown,
    facts: facts.toSorted((a, b) => beyondChance(b) - beyondChance(a)),
    gaps: span.gaps,
  };
}

/** A fact with one value only has moved by nothing, and nothing is what chance allows. */
function beyondChance({ index, byChance }: FactDrift): number {
  return byChance === 0 ? 0 : index / byChance;
}

async function mixOf({ duck }: Evidence, splitAt: number, isLater: boolean) {
  const counts = VERDICTS.map((verdict) => `count(*) FILTER (verdict = '${verdict}') AS "${verdict}"`);
  const [row = {}] = await duck.rows(
    `SELECT count(*) AS decisions, count(DISTINCT client_hash) AS clients, ${counts.join(', ')}
     FROM decisions WHERE (decided_at >= make_timestamp_ms(${splitAt})) = ${isLater}`,
  );
  const decisions = numberOf(row['decisions']) ?? 0;
  const share = (verdict: Verdict) => shareInterval(numberOf(row[verdict]) ?? 0, decisions);
  const verdicts = {
    GET_NEW: share('GET_NEW'),
    GET_SAME_STICKY: share('GET_SAME_STICKY'),
    WAIT: share('WAIT'),
    BLOCK: share('BLOCK'),
  };
  return { decisions, clients: numberOf(row['clients']) ?? 0, verdicts };
}
