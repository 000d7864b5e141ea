import { OTHERWISE } from '../../decision/decision.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import type { Evidence } from '../source/evidence.ts';
import { columnsOf } from '../source/views.ts';
import { factCells } from './fact-cells.ts';
import { type HeldOrders, holdoutFigures } from './holdout-figures.ts';
import { Judge, type NamedRule, namedRules } from './judgement.ts';
import { orderPasses, type PassResult, type WaitGroup } from './order-passes.ts';
import { OrderTally } from './order-tally.ts';
import { numberPlaces, type Places } from './places.ts';
import type { Report, RuleReport, SliceName } from './rule-report.ts';
import { valuesOf, vectorCodes } from './vector-codes.ts';

export interface ReportAsk {
  readonly rules: RuleSet;
  /** Slices that each rule is reported on, besides all decisions; null for none. */
  readonly by: SliceName | null;
  /** Decisions that were counted, of how many. */
  readonly onProgress?: (decisions: number, ofDecisions: number) => void;
}

/**
 * What each rule of a rule set was worth on what happened. Every decision's recorded facts are judged by
 * the one evaluator that live traffic is decided by, whichever version decided then.
 */
export async function report(evidence: Evidence, { rules, by, onProgress }: ReportAsk): Promise<Report> {
  const { duck, span } = evidence;
  const cells = factCells(rules, new Set(await columnsOf(duck, 'decisions')));
  const codes = vectorCodes(cells);
  const places = await numberPlaces(duck, by);
  const named = namedRules(rules);
  const judge = new Judge(rules);
  const sums = new ReportSums(named, places);
  let counted = 0;
  onProgress?.(0, span.decisions);
  const parts = {
    codes,
    rules: named.length,
    place: places,
    judge: (numbers: readonly bigint[]) => {
      const values = valuesOf(codes, numbers, rules.facts.length);
      return values === null ? null : judge.judge(values);
    },
  };
  for await (const pass of orderPasses(evidence, parts)) {
    counted += sums.add(pass);
    onProgress?.(counted, span.decisions);
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
    technical: sums.technical,
    by,
    rules: sums.rules(await holdoutFigures(evidence, rules)),
    unknownReasons: { notReported: sums.all.orders.unknown },
  };
}

/** Adds up what the passes come to. */
class ReportSums {
  readonly all = new OrderTally();
  undecidable = 0;
  technical = 0;
  readonly #named: readonly NamedRule[];
  readonly #places: Places;
  readonly #tallies: readonly OrderTally[];
  readonly #slices = new Map<string, readonly OrderTally[]>();
  readonly #allOfSlices = new Map<string, OrderTally>();
  readonly #waits = new Map<string, Omit<WaitGroup, 'rule'>>();

  constructor(named: readonly NamedRule[], places: Places) {
    this.#named = named;
    this.#places = places;
    this.#tallies = named.map(() => new OrderTally());
    for (const slice of places.slices) {
      this.#slices.set(
        slice,
        named.map(() => new OrderTally()),
      );
      this.#allOfSlices.set(slice, new OrderTally());
    }
  }

  /** Gives how many decisions the pass had. */
  add({ decisions, orders, known, waits }: PassResult): number {
    for (const group of decisions) this.#addDecisions(group);
    for (const group of orders) this.#addOrders(group);
    for (const some of known) this.#addKnown(some);
    for (const wait of waits) this.#addWait(wait);
    return decisions.reduce((sum, group) => sum + group.decisions, 0);
  }

  rules(holdouts: ReadonlyMap<string, HeldOrders>): readonly RuleReport[] {
    const shareOfAll = this.all.unpaidShare;
    const sharesOfSlices = new Map([...this.#allOfSlices].map(([slice, all]) => [slice, all.unpaidShare]));
    return this.#named.map(({ file, name, verdict }, place) => {
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
      const held = holdouts.get(`${file.replace('.yaml', '')}/${name}`);
      return {
        file,
        name,
        ...figures,
        afterWait: verdict === 'WAIT' ? (this.#waits.get(name) ?? NO_WAITS) : null,
        holdout: held === undefined ? null : held.besideOthers(tally),
        ...(by.length === 0 ? {} : { by }),
      };
    });
  }

  #addDecisions({ judgement, place, decisions }: PassResult['decisions'][number]): void {
    if (judgement === null) {
      this.undecidable += decisions;
      return;
    }
    for (const tallies of this.#talliesAt(place))
      for (const what of ['matched', 'decided', 'sole'] as const)
        for (const rule of judgement[what]) tallies[rule]?.addDecisions(what, decisions);
  }

  #addOrders({ matched, place, fate, orders, amount }: PassResult['orders'][number]): void {
    if (fate === 'TECHNICAL') {
      this.technical += orders;
      return;
    }
    const { currency, slice } = this.#places.of(place);
    this.all.addOrders(fate, currency, orders, amount);
    if (slice !== null) this.#allOfSlices.get(slice)?.addOrders(fate, currency, orders, amount);
    for (const tallies of this.#talliesAt(place))
      for (const rule of matched) tallies[rule]?.addOrders(fate, currency, orders, amount);
  }

  #addKnown({ matched, place, cluster, paid, unpaid }: PassResult['known'][number]): void {
    const { slice } = this.#places.of(place);
    this.all.clusters.add(cluster, paid, unpaid);
    if (slice !== null) this.#allOfSlices.get(slice)?.clusters.add(cluster, paid, unpaid);
    for (const tallies of this.#talliesAt(place))
      for (const rule of matched) tallies[rule]?.clusters.add(cluster, paid, unpaid);
  }

  #addWait({ rule, orders, granted, paid }: WaitGroup): void {
    const before = this.#waits.get(rule) ?? NO_WAITS;
    this.#waits.set(rule, {
      orders: before.orders + orders,
      granted: before.granted + granted,
      paid: before.paid + paid,
    });
  }

  #talliesAt(place: number): readonly (readonly OrderTally[])[] {
    const { slice } = this.#places.of(place);
    const sliced = slice === null ? undefined : this.#slices.get(slice);
    return sliced === undefined ? [this.#tallies] : [this.#tallies, sliced];
  }
}

const NO_WAITS = { orders: 0, granted: 0, paid: 0 };

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
