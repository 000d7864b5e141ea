import { OTHERWISE } from '#decision/decision.ts';
import { DEFAULT_OBJECTIVE, type Objective } from '#decision/objective.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { ORDER_KEY_SQL } from '#history/archive/order-status.ts';
import {
  type QueryEngine,
  quoteSql,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { compareVersionsOnTrial } from '#history/evidence/experiment/experiment.ts';
import type { DecidingRuleSetRef } from '#history/evidence/question.ts';
import { findMainCurrency, NO_CURRENCY } from '#history/evidence/source/currency.ts';
import { collectDeviceRuleNames } from '#history/evidence/source/device-clusters.ts';
import type { Evidence } from '#history/evidence/source/evidence.ts';
import { readLastingAgeDays, readReversals } from '#history/evidence/source/reversals.ts';
import { compareRuleSetsOnFacts } from './against.ts';
import { createJudge, listRulesWithPaths, type RuleEffectsOnDecision, readFactCells } from './fact-cells.ts';
import { reportFlags } from './flag-figures.ts';
import { computeHoldoutResults, type HoldoutResult } from './holdout.ts';
import {
  createJudgementsTable,
  createOrderTables,
  type RuleTally,
  sumOrderTablesByRule,
} from './order-batches.ts';
import { computeRuleEffectOfTrial, findOnlyMissingRulePath } from './trial-rule-effect.ts';
import { readWaitLevels } from './wait-levels.ts';
import {
  type RuleFigures,
  type RuleWorth,
  SLICE_SQL,
  type SliceName,
  type WorthReport,
} from './worth-report.ts';

interface ReportAsk {
  readonly rules: RuleSet;
  /** The rule set to compare the reported one with. Null or missing if there is no comparison. */
  readonly against?: RuleSet | null;
  /** The property by which the figures of each rule are divided, in addition to the total. Null for no division. */
  readonly by: SliceName | null;
  /**
   * How the value of an order is computed for the net effect of a rule. By default, the value is the money that is
   * paid and not taken back. If a trial measures the net effect, the default is the objective with which the trial
   * began.
   */
  readonly objective?: Objective;
  /** Finds the rule set of a version that decided. If missing, no net effect is measured by a trial. */
  readonly recorded?: (decided: DecidingRuleSetRef) => RuleSet | null;
  /** Reports how many decisions have been counted, and how many there are. */
  readonly onProgress?: (decisions: number, ofDecisions: number) => void;
}

/**
 * Reports what each rule of a rule set was worth on the recorded decisions. It evaluates the rules on the recorded
 * facts of every decision, with the evaluator of live traffic, whichever version made the decision.
 */
export async function reportRuleWorth(
  evidence: Evidence,
  { rules: of, against = null, by, objective, recorded = () => null, onProgress }: ReportAsk,
): Promise<WorthReport> {
  const { duck, span, attributeHmacs } = evidence;
  const rules = compileWithOtherHmacs(of, attributeHmacs);
  const places = await makePlaces(duck, by);
  const named = listRulesWithPaths(rules);
  const devices = collectDeviceRuleNames(rules);
  const isByDevice = named.map(({ path }) => devices.has(path));
  const apart = await findOtherVersions(evidence, rules, recorded);
  // The clients of a trial are counted in a second pass over the same decisions.
  const steps = (apart.size === 0 ? 1 : 2) * span.decisions;
  onProgress?.(0, steps);
  const { cell, missing } = await judgeCells(duck, rules);
  await createOrderTables(evidence, {
    cell,
    place: places,
    byDevice: isByDevice.includes(true),
    onProgress: (decisions) => onProgress?.(decisions, steps),
  });
  const tallies = await sumOrderTablesByRule(duck, isByDevice);
  const all = tallies(named.length, null);
  const { technical, undecidable } = await countLeftOut(duck);
  const [own] = (await evidence.readDecidingRules()).filter(({ digest }) => digest === rules.digest);
  const holdouts = await computeHoldouts(evidence, rules, objective ?? DEFAULT_OBJECTIVE);
  const trials = await computeTrialNets(evidence, rules.version, apart, objective ?? null, (done, of) =>
    onProgress?.(span.decisions + Math.round((span.decisions * done) / of), steps),
  );
  const figuresOf = (rule: number, slice: string | null): RuleFigures => {
    const tally = tallies(rule, slice);
    return {
      ...tally,
      decisive: named[rule]?.name === OTHERWISE ? null : tally.decisive,
      lift: computeLift(tally, tallies(named.length, slice)),
    };
  };
  const found = named.map(({ file, name, path }, rule) => ({
    file,
    name,
    ...figuresOf(rule, null),
    holdout: holdouts.get(path)?.holdout ?? null,
    ...chooseNet(holdouts.get(path), trials.get(path)),
    ...(by === null ? {} : { by: places.slices.map((slice) => ({ slice, ...figuresOf(rule, slice) })) }),
  }));
  const ofSlice = (slice: string) => {
    const { orders, amount } = tallies(named.length, slice);
    return { slice, orders, amount };
  };
  return {
    kind: 'report',
    version: rules.version,
    digest: rules.digest,
    ...span,
    ownDecisions: own?.decisions ?? 0,
    undecidable: { count: undecidable, facts: missing },
    orders: all.orders,
    unpaidShare: all.unpaidShare,
    amount: all.amount,
    technical,
    reversals: await readReversals(evidence),
    by,
    ...(by === null ? {} : { slices: places.slices.map(ofSlice) }),
    rules: found.toSorted((a, b) => (b.decisive ?? -1) - (a.decisive ?? -1)),
    ...(await reportFlags(evidence, rules)),
    waitLevels: await readWaitLevels(duck),
    against: against === null ? null : await compareRuleSetsOnFacts(evidence, rules, against),
  };
}

/**
 * Chooses the net effect of a rule, and the money without an exchange rate that the net effect leaves out. Both come
 * from the holdout, or from a trial if the holdout gives no net effect.
 */
function chooseNet(holdout: NetFound | undefined, trial: NetFound | undefined): NetFound {
  const found = [holdout, trial].find((one) => (one?.net ?? null) !== null) ?? holdout ?? trial;
  return { net: found?.net ?? null, unrated: found?.unrated ?? null };
}

type NetFound = Pick<RuleWorth, 'net' | 'unrated'>;

/**
 * Evaluates the rules once for each cell, which is a set of decisions with equal facts (see `FactCell`), and writes
 * the judgements to the table `judged`.
 */
async function judgeCells(duck: QueryEngine, rules: RuleSet) {
  const { sql, cells } = await readFactCells(duck, rules);
  const judge = createJudge(rules);
  const missing = new Set<string>();
  const judged = new Map<string, RuleEffectsOnDecision>();
  for (const one of cells) {
    const found = judge(one);
    if ('judgement' in found) judged.set(one.cell, found.judgement);
    else for (const label of found.lacking) missing.add(label);
  }
  await createJudgementsTable(duck, judged);
  return { cell: sql, missing: [...missing] };
}

/** Computes the unpaid share divided by the unpaid share of all orders. */
function computeLift({ unpaidShare: share }: RuleTally, { unpaidShare: base }: RuleTally): number | null {
  return share === null || base === null || base.value === 0 ? null : share.value / base.value;
}

/** Counts the orders that ended in a technical failure, and the decisions that cannot be judged. */
async function countLeftOut(duck: QueryEngine) {
  const [row = {}] =
    await duck.rows(`SELECT (SELECT sum(orders) FROM summed WHERE status = 'TECHNICAL') AS technical,
    (SELECT sum(decisions) FROM counted ANTI JOIN judged USING (cell)) AS undecidable`);
  return toNumbersByColumn(row, { technical: 0, undecidable: 0 });
}

/**
 * The most slices that have a row of their own. All others share one row, because nobody reads a table of a thousand
 * points of sale.
 */
const SLICES_MAX = 60;

const OTHER_SLICES = '(others)';

/** SQL joins for slices that are not columns of decisions. The cause comes from the report on the order. */
const SLICE_JOIN: Partial<Record<SliceName, string>> = {
  cause: `LEFT JOIN statuses ON statuses.order_key = ${ORDER_KEY_SQL}`,
};

/**
 * Creates the table `places`, which numbers each pair of currency and slice, and marks the most frequent slices to be
 * shown. Returns the SQL that gives a decision the number of its pair, the join that this SQL needs, and the slices
 * in the sequence in which they are shown: days and weeks by time, others by size, and the rest at the end.
 */
async function makePlaces(duck: QueryEngine, by: SliceName | null) {
  const currency = SLICE_SQL.currency;
  const slice = by === null ? "''" : SLICE_SQL[by];
  const told = by === null ? '' : (SLICE_JOIN[by] ?? '');
  const largest = isTime(by) ? '' : 'sum(n) DESC,';
  await duck.run(`CREATE OR REPLACE TEMP TABLE places AS
    WITH pairs AS (SELECT ${currency} AS currency, ${slice} AS slice, count(*) AS n FROM decisions ${told} GROUP BY ALL),
    kept AS (SELECT slice FROM pairs GROUP BY slice ORDER BY ${isTime(by) ? 'slice DESC,' : largest} slice LIMIT ${SLICES_MAX})
    SELECT (row_number() OVER (ORDER BY currency, slice))::INT AS place, currency, slice,
      CASE WHEN slice IN (FROM kept) THEN slice ELSE ${quoteSql(OTHER_SLICES)} END AS shown, n FROM pairs`);
  const shown = await duck.rows(
    `SELECT shown, count(*) AS places FROM places GROUP BY shown ORDER BY shown = ${quoteSql(OTHER_SLICES)}, ${largest} shown`,
  );
  const isOne = shown.length <= 1 && !(Number(shown[0]?.['places'] ?? 0) > 1);
  return {
    ...(isOne
      ? { sql: '1', join: '' }
      : {
          sql: 'places.place',
          join: `${told} JOIN places ON places.currency = ${currency} AND places.slice = ${slice}`,
        }),
    slices: by === null ? [] : shown.map((row) => toTextOrNull(row['shown']) ?? ''),
  };
}

function isTime(by: SliceName | null): boolean {
  return by === 'day' || by === 'week';
}

async function computeHoldouts(
  evidence: Evidence,
  rules: RuleSet,
  objective: Objective,
): Promise<ReadonlyMap<string, HoldoutResult>> {
  const reversalDays =
    objective.reversalDays ?? (await readLastingAgeDays(evidence, evidence.ask.asOf ?? null));
  const currency = objective.currency ?? (await findMainCurrency(evidence.duck, 'decisions')) ?? NO_CURRENCY;
  return computeHoldoutResults(evidence, { rules, objective, currency, reversalDays });
}

/**
 * Finds the versions that decided and lack exactly one rule of the reported rule set. Returns the lacking rule by
 * version.
 */
async function findOtherVersions(
  evidence: Evidence,
  rules: RuleSet,
  recorded: (decided: DecidingRuleSetRef) => RuleSet | null,
): Promise<ReadonlyMap<string, string>> {
  const others = (await evidence.readDecidingRules()).flatMap((decided) => recorded(decided) ?? []);
  return new Map(
    others.flatMap((other) => {
      const rule = findOnlyMissingRulePath(rules, other);
      return rule === null ? [] : [[other.version, rule]];
    }),
  );
}

/**
 * Computes the net effects of the rules in `apart` from the newest trial. A rule is left out if that trial does not
 * compare the versions with and without the rule.
 */
async function computeTrialNets(
  evidence: Evidence,
  reported: string,
  apart: ReadonlyMap<string, string>,
  objective: Objective | null,
  onProgress: (done: number, of: number) => void,
): Promise<ReadonlyMap<string, NetFound>> {
  if (apart.size === 0) return new Map();
  const found = await compareVersionsOnTrial(evidence, [], onProgress, objective);
  const isActive = found.version === reported;
  return new Map(
    [...apart].flatMap(([version, rule]) =>
      isActive || found.version === version
        ? [
            [
              rule,
              {
                net: computeRuleEffectOfTrial(found, isActive ? version : reported, isActive),
                unrated: found.unrated,
              },
            ],
          ]
        : [],
    ),
  );
}
