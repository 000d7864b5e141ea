import { type DuckRow, numberOf, numbersOf, textOf } from '../../archive/duck.ts';
import { type Moments, NO_MOMENTS } from '../../statistics/confidence-sequence.ts';
import { plus } from '../../statistics/sums.ts';
import { NO_ORDERS } from '../presentation.ts';
import { NO_CURRENCY } from '../source/currency.ts';
import type { ExperimentLevel } from './experiment-report.ts';
import { type ArmTotals, COUNTED, type Metric } from './recommendation.ts';

const NO_OTHERS = { requisites: 0, waits: 0, lostAfterWait: 0 };
const NO_FIGURES = { orders: NO_ORDERS, ...NO_OTHERS };
const NO_UNREPORTED = { clients: 0, u: 0, g: 0, uu: 0, ug: 0, gg: 0, seen: 0 };

/** By what the sums of an arm grew from one look to the next. */
interface ArmGrowth {
  clients: number;
  unknown: number;
  /** What was above the cap. */
  capped: number;
  readonly totals: Map<Metric, Moments>;
}

/** Sums up the passes over the clients. */
export class ArmSums {
  readonly #growth = new Map<string, ArmGrowth>();
  readonly #asked = new Map<string, number>();
  readonly #unreported = new Map<string, typeof NO_UNREPORTED>();
  readonly #endedWaits = new Map<string, number>();
  readonly #levels = new Map<string, ExperimentLevel>();

  addAsked(row: DuckRow): void {
    const name = placeOf(row);
    this.#asked.set(name, (this.#asked.get(name) ?? 0) + (numberOf(row['clients']) ?? 0));
  }

  addCounted(row: DuckRow): void {
    const arm = this.#arm(row);
    const { clients, unknown, uncapped, amount } = numbersOf(row, {
      clients: 0,
      unknown: 0,
      uncapped: 0,
      amount: 0,
    });
    arm.clients += clients;
    arm.unknown += unknown;
    arm.capped += uncapped - amount;
    for (const metric of COUNTED) this.#add(row, metric, metric);
  }

  addMoney(row: DuckRow): void {
    const currency = textOf(row['currency']) ?? NO_CURRENCY;
    for (const what of ['paid', 'reversed'] as const) this.#add(row, what, `money.${currency}.${what}`);
  }

  addUnreported(row: DuckRow): void {
    const name = textOf(row['arm']) ?? '';
    this.#unreported.set(
      name,
      plus(this.#unreported.get(name) ?? NO_UNREPORTED, numbersOf(row, NO_UNREPORTED)),
    );
  }

  addEndedWaits(row: DuckRow): void {
    const arm = textOf(row['arm']) ?? '';
    this.#endedWaits.set(arm, (this.#endedWaits.get(arm) ?? 0) + (numberOf(row['ended']) ?? 0));
  }

  /** By arm; absent: none. */
  get endedWaits(): ReadonlyMap<string, number> {
    return this.#endedWaits;
  }

  addLevel(row: DuckRow): void {
    const [version, level] = [textOf(row['arm']) ?? '', numberOf(row['level']) ?? 0];
    const name = `${version}/${level}`;
    const known = this.#levels.get(name) ?? { version, level, ...NO_FIGURES };
    const { orders, requisites, waits, lostAfterWait } = known;
    const sums = plus({ requisites, waits, lostAfterWait }, numbersOf(row, NO_OTHERS));
    this.#levels.set(name, { version, level, orders: plus(orders, numbersOf(row, NO_ORDERS)), ...sums });
  }

  /** Clients who had asked by a look, the first being 1, also those that do not count yet. */
  askedBy(version: string, look: number): number {
    return Array.from(
      { length: look },
      (_, before) => this.#asked.get(`${version}/${before + 1}`) ?? 0,
    ).reduce((sum, clients) => sum + clients, 0);
  }

  asked(versions: readonly string[], looks: number): ReadonlyMap<string, number> {
    return new Map(versions.map((version) => [version, this.askedBy(version, looks)]));
  }

  /** As it was known at a look, the first being 1. */
  arm(version: string, share: number, look: number, looks: number): ArmTotals & { readonly capped: number } {
    const grown = Array.from({ length: look }, (_, before) => this.#growth.get(`${version}/${before + 1}`));
    const all = sumOf(grown.filter((one) => one !== undefined));
    // A client without an order in a currency counts as 0.
    const totals = [...all.totals].map(
      ([metric, sums]) => [metric, { ...sums, clients: all.clients }] as const,
    );
    const unreported = look === looks ? this.#unreportedOf(version) : null;
    return { ...all, version, share, unreported, totals: new Map(totals) };
  }

  levels(versions: readonly string[]): readonly ExperimentLevel[] {
    return [...this.#levels.values()]
      .filter(({ version }) => versions.includes(version))
      .toSorted((a, b) => versions.indexOf(a.version) - versions.indexOf(b.version) || a.level - b.level);
  }

  /** Orders without a report beyond the share that all arms have: its mean is above 0 where an arm has more of them. */
  #unreportedOf(version: string): Moments {
    const all = [...this.#unreported.values()].reduce(plus, NO_UNREPORTED);
    const { clients, u, g, uu, ug, gg, seen } = this.#unreported.get(version) ?? NO_UNREPORTED;
    const share = all.g === 0 ? 0 : all.u / all.g;
    const squares = uu - 2 * share * ug + share ** 2 * gg;
    // So that `seen` alone says whether there is enough.
    return { clients, seen, sum: u - share * g, size: Math.sqrt(squares * seen), squares };
  }

  #add(row: DuckRow, column: string, metric: Metric): void {
    const { totals } = this.#arm(row);
    const of = (what: string) => numberOf(row[`${column}${what}`]) ?? 0;
    addTo(totals, metric, {
      ...NO_MOMENTS,
      ...{ seen: of('_seen'), sum: of(''), size: of('_size'), squares: of('_squares') },
    });
  }

  #arm(row: DuckRow): ArmGrowth {
    return this.#growth.getOrInsertComputed(placeOf(row), () => sumOf([]));
  }
}

/** An arm at a look. */
function placeOf(row: DuckRow): string {
  return `${textOf(row['arm']) ?? ''}/${numberOf(row['look']) ?? 0}`;
}

function sumOf(grown: readonly ArmGrowth[]): ArmGrowth {
  const sum: ArmGrowth = { clients: 0, unknown: 0, capped: 0, totals: new Map() };
  for (const { clients, unknown, capped, totals } of grown) {
    sum.clients += clients;
    sum.unknown += unknown;
    sum.capped += capped;
    for (const [metric, more] of totals) addTo(sum.totals, metric, more);
  }
  return sum;
}

function addTo(totals: ArmGrowth['totals'], metric: Metric, more: Moments): void {
  totals.set(metric, plus(totals.get(metric) ?? NO_MOMENTS, more));
}
