import { type Duck, type DuckRow, numberOf, quote, textOf } from '../../archive/duck.ts';
import { ORDER_KEY_SQL } from '../../archive/order-status.ts';
import { OTHERWISE } from '../../decision/decision.ts';
import { MONEY_ALONE, type Objective } from '../../rollout/objective.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { experiment } from '../experiment/experiment.ts';
import type { DecidingRules } from '../question.ts';
import { mainCurrencyOf, NO_CURRENCY } from '../source/currency.ts';
import { aboutDevices } from '../source/device-clusters.ts';
import { columnsOf, type Evidence } from '../source/evidence.ts';
import { lastingDaysOf, reversalsOf } from '../source/reversals.ts';
import { againstOf } from './against.ts';
import { armNet, onlyRuleApart } from './arm-net.ts';
import { factCells, Judge, type NamedRule, namedRules, valuesOf, vectorCodes } from './fact-cells.ts';
import { type HoldoutResult, holdoutFigures, type Net } from './holdout.ts';
import { OrderTally, orderPasses, type PassResult } from './order-passes.ts';
import type { Report, RuleReport, SliceName, SliceReport } from './rule-report.ts';
import { waitLevelsOf } from './wait-levels.ts';

interface ReportAsk {
  readonly rules: RuleSet;
  /** What changes from these is reported, too; null or absent: nothing. */
  readonly against?: RuleSet | null;
  /** The slices of the report for each rule, besides all decisions; null for none. */
  readonly by: SliceName | null;
  /** What a rule is worth by; absent: the lasting money alone, and in a trial what it was begun with. */
  readonly objective?: Objective;
  /** The rule sets that decided beside it, where they are at hand; absent: no rule is compared by a trial. */
  readonly recorded?: (decided: DecidingRules) => RuleSet | null;
  /** Decisions that were counted, of how many. */
  readonly onProgress?: (decisions: number, ofDecisions: number) => void;
}

/**
 * What each rule of a rule set was worth on what happened. Every decision's recorded facts are judged by
 * the one evaluator that live traffic is decided by, whichever version decided then.
 */
export async function report(
  evidence: Evidence,
  { rules, against = null, by, objective, recorded = () => null, onProgress }: ReportAsk,
): Promise<Report> {
  const { duck, span } = evidence;
  const cells = factCells(rules, new Set(await columnsOf(duck, 'decisions')));
  const codes = vectorCodes(cells);
  const places = await numberPlaces(duck, by);
  const named = namedRules(rules);
  const judge = new Judge(rules);
  const devices = aboutDevices(rules);
  const isByDevice = named.map(({ file, name }) => devices.has(`${file.replace('.yaml', '')}/${name}`));
  const sums = new ReportSums(named, places, isByDevice);
  const apart = await apartInOneRule(evidence, rules, recorded);
  // A trial's clients are counted by themselves, over the same decisions.
  const steps = (apart.length === 0 ? 1 : 2) * span.decisions;
  let counted = 0;
  onProgress?.(0, steps);
  const parts = {
    codes,
    rules: named.length,
    byDevice: isByDevice.includes(true),
    place: places,
    judge: (numbers: readonly bigint[]) => {
      const values = valuesOf(codes, numbers, rules.facts.length);
      return values === null ? null : judge.judge(values);
    },
  };
  for await (const pass of orderPasses(evidence, parts)) {
    counted += sums.add(pass);
    onProgress?.(counted, steps);
  }
  const [own] = (await evidence.decidingRules()).filter(({ digest }) => digest === rules.digest);
  return {
    kind: 'report',
    version: rules.version,
    digest: rules.digest,
    ...span,
    ownDecisions: own?.decisions ?? 0,
    undecidable: { count: sums.undecidable, facts: await missingFacts(evidence, cells, sums.undecidable) },
    orders: sums.all.orders,
    unpaidShare: sums.all.unpaidShare,
    amount: sums.all.money,
    technical: sums.technical,
    reversals: await reversalsOf(evidence),
    by,
    ...(by === null ? {} : { slices: sums.slices() }),
    rules: sums.rules(
      await holdoutsOf(evidence, rules, objective ?? MONEY_ALONE),
      await trialsOf(evidence, { rules, apart, objective: objective ?? null }, (done, of) =>
        onProgress?.(span.decisions + Math.round((span.decisions * done) / of), steps),
      ),
    ),
    waitLevels: await waitLevelsOf(duck),
    against: against === null ? null : await againstOf(evidence, rules, against),
  };
}

class ReportSums {
  readonly all = new OrderTally();
  undecidable = 0;
  technical = 0;
  readonly #named: readonly NamedRule[];
  readonly #places: Places;
  /** By the place of the rule. */
  readonly #isByDevice: readonly boolean[];
  readonly #tallies: readonly OrderTally[];
  readonly #slices: ReadonlyMap<string, readonly OrderTally[]>;
  readonly #allOfSlices: ReadonlyMap<string, OrderTally>;

  constructor(named: readonly NamedRule[], places: Places, isByDevice: readonly boolean[]) {
    this.#isByDevice = isByDevice;
    this.#named = named;
    this.#places = places;
    this.#tallies = named.map(() => new OrderTally());
    const bySlice = <Tally>(tally: () => Tally) => new Map(places.slices.map((slice) => [slice, tally()]));
    this.#slices = bySlice(() => named.map(() => new OrderTally()));
    this.#allOfSlices = bySlice(() => new OrderTally());
  }

  /** Returns how many decisions the pass had. */
  add({ decisions, orders, known, knownByDevice }: PassResult): number {
    for (const group of decisions) this.#addDecisions(group);
    for (const group of orders) this.#addOrders(group);
    for (const some of known) this.#addKnown(some);
    for (const some of knownByDevice) this.#addOfRules(some, true);
    return decisions.reduce((sum, group) => sum + group.decisions, 0);
  }

  slices(): readonly SliceReport[] {
    return [...this.#allOfSlices].map(([slice, { orders, money: amount }]) => ({ slice, orders, amount }));
  }

  rules(
    holdouts: ReadonlyMap<string, HoldoutResult>,
    trials: ReadonlyMap<string, Net>,
  ): readonly RuleReport[] {
    const shareOfAll = this.all.unpaidShare;
    const sharesOfSlices = new Map([...this.#allOfSlices].map(([slice, all]) => [slice, all.unpaidShare]));
    const rules = this.#named.map(({ file, name }, place) => {
      const isOtherwise = name === OTHERWISE;
      const by = this.#places.slices.map((slice) => ({
        slice,
        ...(this.#slices.get(slice)?.[place] ?? new OrderTally()).figures(
          sharesOfSlices.get(slice) ?? null,
          isOtherwise,
        ),
      }));
      const tally = this.#tallies[place] ?? new OrderTally();
      const figures = tally.figures(shareOfAll, isOtherwise);
      const path = `${file.replace('.yaml', '')}/${name}`;
      const held = holdouts.get(path);
      return {
        file,
        name,
        ...figures,
        holdout: held?.holdout ?? null,
        net: held?.net ?? trials.get(path) ?? null,
        ...(by.length === 0 ? {} : { by }),
      };
    });
    return rules.toSorted((a, b) => (b.decisive ?? -1) - (a.decisive ?? -1));
  }

  #addDecisions({ judgement, place, decisions }: PassResult['decisions'][number]): void {
    if (judgement === null) {
      this.undecidable += decisions;
      return;
    }
    for (const tallies of this.#talliesAt(place))
      for (const what of ['matched', 'decided', 'decisive'] as const)
        for (const rule of judgement[what]) tallies[rule]?.addDecisions(what, decisions);
  }

  #addOrders({ matched, place, ...some }: PassResult['orders'][number]): void {
    if (some.status === 'TECHNICAL') this.technical += some.orders;
    const { currency, slice } = this.#places.of(place);
    const group = { ...some, currency };
    this.all.addOrders(group);
    if (slice !== null) this.#allOfSlices.get(slice)?.addOrders(group);
    for (const tallies of this.#talliesAt(place)) for (const rule of matched) tallies[rule]?.addOrders(group);
  }

  #addKnown(some: PassResult['known'][number]): void {
    const { place, cluster, paid, unpaid } = some;
    const { slice } = this.#places.of(place);
    this.all.clusters.add(cluster, paid, unpaid);
    if (slice !== null) this.#allOfSlices.get(slice)?.clusters.add(cluster, paid, unpaid);
    this.#addOfRules(some, false);
  }

  #addOfRules(
    { matched, place, cluster, paid, unpaid }: PassResult['known'][number],
    byDevice: boolean,
  ): void {
    for (const tallies of this.#talliesAt(place))
      for (const rule of matched)
        if (this.#isByDevice[rule] === byDevice) tallies[rule]?.clusters.add(cluster, paid, unpaid);
  }

  #talliesAt(place: number): readonly (readonly OrderTally[])[] {
    const { slice } = this.#places.of(place);
    const sliced = slice === null ? undefined : this.#slices.get(slice);
    return sliced === undefined ? [this.#tallies] : [this.#tallies, sliced];
  }
}

/** The facts that the rules ask and some decisions do not have. */
async function missingFacts(
  { duck }: Evidence,
  cells: ReturnType<typeof factCells>,
  undecidable: number,
): Promise<readonly string[]> {
  if (undecidable === 0) return [];
  const lacks = cells.map(({ sql }, place) => `bool_or((${sql}) = 0) AS lack${place}`);
  const [row = {}] = await duck.rows(`SELECT ${lacks.join(', ')} FROM decisions`);
  return cells.filter((_, place) => row[`lack${place}`] === true).map(({ label }) => label);
}

/** A currency within a slice of the decisions. */
interface ReportPlace {
  readonly currency: string;
  /** Null when the report has no slices. */
  readonly slice: string | null;
}

/** Where each decision belongs: SQL for the number of its place, and what each number stands for. */
interface Places {
  readonly sql: string;
  readonly join: string;
  readonly of: (number: number) => ReportPlace;
  /** In the order in which they are shown. */
  readonly slices: readonly string[];
}

/** The most slices that are shown singly; nobody reads a table of a thousand points of sale, so the rest is one row. */
const SLICES_MAX = 60;

const OTHER_SLICES = '(others)';

const SLICE_SQL = {
  day: "strftime(decided_at, '%Y-%m-%d')",
  week: "strftime(date_trunc('week', decided_at), '%Y-%m-%d')",
  method: "coalesce(fact_method, '-')",
  currency: `coalesce(fact_currency, '${NO_CURRENCY}')`,
  sellPoint: 'sell_point_key',
  platform: 'platform',
  version: 'rule_version',
  arm: 'arm',
  group: 'client_group',
  level: 'ladder_after_level::VARCHAR',
  cause: "coalesce(statuses.cause, '-')",
} as const satisfies Record<SliceName, string>;

/** An order's report is not a column of its decisions. */
const SLICE_JOIN: Partial<Record<SliceName, string>> = {
  cause: `LEFT JOIN statuses ON statuses.order_key = ${ORDER_KEY_SQL}`,
};

/** Numbers the currencies, and the slices when there are any: the most frequent ones get a number of their own. */
async function numberPlaces(duck: Duck, by: SliceName | null): Promise<Places> {
  const currency = SLICE_SQL.currency;
  const slice = by === null ? "''" : SLICE_SQL[by];
  const told = by === null ? '' : (SLICE_JOIN[by] ?? '');
  await duck.run(`CREATE OR REPLACE TEMP TABLE places AS
    WITH pairs AS (SELECT ${currency} AS currency, ${slice} AS slice, count(*) AS n FROM decisions ${told} GROUP BY ALL),
    kept AS (SELECT slice FROM pairs GROUP BY slice ORDER BY ${isTime(by) ? 'slice' : 'sum(n)'} DESC, slice LIMIT ${SLICES_MAX})
    SELECT (row_number() OVER (ORDER BY currency, slice))::INT AS place, currency, slice,
      CASE WHEN slice IN (FROM kept) THEN slice ELSE ${quote(OTHER_SLICES)} END AS shown, n FROM pairs`);
  const rows = await duck.rows('SELECT place, currency, shown, n::DOUBLE AS n FROM places');
  const places = new Map(rows.map((row) => [numberOf(row['place']) ?? 0, placeOf(row, by)]));
  const join = `${told} JOIN places ON places.currency = ${currency} AND places.slice = ${slice}`;
  const [only = 0] = places.keys();
  return {
    ...(places.size <= 1 ? { sql: String(only), join: '' } : { sql: 'places.place', join }),
    of: (number) => places.get(number) ?? placeOf({}, by),
    slices: by === null ? [] : inOrder(rows, by),
  };
}

function placeOf(row: DuckRow, by: SliceName | null): ReportPlace {
  const currency = textOf(row['currency']) ?? NO_CURRENCY;
  return { currency, slice: by === null ? null : (textOf(row['shown']) ?? OTHER_SLICES) };
}

/** Times in their order, others by their size, and what is not shown one by one at the end. */
function inOrder(rows: readonly DuckRow[], by: SliceName): readonly string[] {
  const sizes = new Map<string, number>();
  for (const row of rows) {
    const name = textOf(row['shown']) ?? OTHER_SLICES;
    sizes.set(name, (sizes.get(name) ?? 0) + (numberOf(row['n']) ?? 0));
  }
  const own = [...sizes].filter(([name]) => name !== OTHER_SLICES);
  const sorted = own.toSorted(([a, m], [b, n]) => (isTime(by) ? 0 : n - m) || (a < b ? -1 : 1));
  return [...sorted.map(([name]) => name), ...(sizes.has(OTHER_SLICES) ? [OTHER_SLICES] : [])];
}

function isTime(by: SliceName | null): boolean {
  return by === 'day' || by === 'week';
}

async function holdoutsOf(
  evidence: Evidence,
  rules: RuleSet,
  objective: Objective,
): Promise<ReadonlyMap<string, HoldoutResult>> {
  const reversalDays = objective.reversalDays ?? (await lastingDaysOf(evidence, evidence.ask.asOf ?? null));
  const currency = objective.currency ?? (await mainCurrencyOf(evidence.duck, 'decisions')) ?? NO_CURRENCY;
  return holdoutFigures(evidence, { rules, objective, currency, reversalDays });
}

/** A version that decided, and the rule that it lacks: all in which it differs from the one reported on. */
interface WithoutRule {
  readonly version: string;
  readonly rule: string;
}

async function apartInOneRule(
  evidence: Evidence,
  rules: RuleSet,
  recorded: (decided: DecidingRules) => RuleSet | null,
): Promise<readonly WithoutRule[]> {
  const others = (await evidence.decidingRules()).flatMap((decided) => recorded(decided) ?? []);
  return others.flatMap((other) => {
    const one = onlyRuleApart(rules, other);
    return one?.isInFirst ? [{ version: other.version, rule: one.rule }] : [];
  });
}

interface TrialsAsk {
  readonly rules: RuleSet;
  readonly apart: readonly WithoutRule[];
  readonly objective: Objective | null;
}

/** What these rules did by the newest trial, where that compares the versions with and without one. */
async function trialsOf(
  evidence: Evidence,
  { rules, apart, objective }: TrialsAsk,
  onProgress: (done: number, of: number) => void,
): Promise<ReadonlyMap<string, Net>> {
  const nets = new Map<string, Net>();
  if (apart.length === 0) return nets;
  const found = await experiment(evidence, [], onProgress, objective);
  for (const { version, rule } of apart) {
    const isActive = found.version === rules.version;
    if (isActive || found.version === version)
      nets.set(rule, armNet(found, isActive ? version : rules.version, isActive));
  }
  return nets;
}
