import { type Duck, type DuckRow, numberOf, quote, textOf } from '../../archive/duck.ts';
import { askedFateSql, REPORT_NUMBER_SQL } from '../../archive/order-fate.ts';
import { GRANTED_SQL, ORDER_KEY_SQL, WAIT_WORTH_MS } from '../../archive/read/order-views.ts';
import { addMoments, type Moments, NO_MOMENTS } from '../../statistics/confidence-sequence.ts';
import { NO_CURRENCY } from '../report/report.ts';
import { type Evidence, knownRows, withDayAfter } from '../source/evidence.ts';
import { clientPasses } from '../source/time-spans.ts';
import { type Experiment, type ExperimentLevel, experimentOf } from './experiment-report.ts';
import { type ArmTotals, COUNTED, type Metric } from './recommendation.ts';

/** A trial while its shares stay the same. */
interface Stage {
  /** Epoch ms. */
  readonly since: number;
  /** Null where all clients are drawn into candidates. */
  readonly active: string | null;
  readonly shares: ReadonlyMap<string, number>;
}

/** How many decisions one pass takes, so that their orders fit into the engine's memory. */
const PASS_DECISIONS_MAX = 2_500_000;

/**
 * The results of the versions in the newest trial, and whether they differ: of all versions in it, or of some beside
 * the active one. By intention to treat: a client counts for the version that it was drawn into, whichever decided.
 * Orders are those asked while the shares of the trial were these.
 */
export async function experiment(
  evidence: Evidence,
  versions: readonly string[],
  onProgress: (done: number, of: number) => void = () => {},
): Promise<Experiment> {
  const { duck, span, ask } = evidence;
  const stage = await newestStage(duck, versions);
  if (stage === null) return experimentOf(span, null, [], []);
  const wanted = (version: string) => versions.length === 0 || versions.includes(version);
  const names = [...stage.shares.keys()].filter((one) => one === stage.active || wanted(one));
  const sums = new ArmSums();
  // Decisions that are not counted still show whether somebody who waited came back.
  const rows = knownRows(ask.place, 'decisions', withDayAfter(ask));
  const knownUntil = ask.asOf ?? (await newestOf(duck, rows));
  const passes = clientPasses(span.decisions, PASS_DECISIONS_MAX);
  for (const [pass, clients] of passes.entries()) {
    onProgress(pass, passes.length);
    await addPass(evidence, { stage, clients, sums, rows, knownUntil });
  }
  const arms = names.map((name) => sums.arm(name, (stage.shares.get(name) ?? 0) / 100));
  return experimentOf(span, stage, arms, sums.levels(names));
}

/** The newest in which all of these versions were drawn; null without one. */
async function newestStage(duck: Duck, versions: readonly string[]): Promise<Stage | null> {
  const drawn = versions.map((version) => `bool_or(draw_version = ${quote(version)})`).join(' AND ');
  const [row = {}] = await duck.rows(`
    SELECT draw_since FROM decisions WHERE draw_since IS NOT NULL GROUP BY draw_since
    HAVING ${drawn === '' ? 'true' : drawn} ORDER BY draw_since DESC LIMIT 1`);
  const since = numberOf(row['draw_since']);
  if (since === null) return null;
  const rows = await duck.rows(`
    SELECT draw_version AS version, max(draw_percent) AS percent, bool_or(arm = 'active' AND rule_version = draw_version) AS active
    FROM decisions WHERE ${isOf(since)} GROUP BY draw_version ORDER BY active DESC, version`);
  const active = rows.find((one) => one['active'] === true);
  return {
    since,
    active: active === undefined ? null : textOf(active['version']),
    shares: new Map(rows.map((one) => [textOf(one['version']) ?? '', numberOf(one['percent']) ?? 0])),
  };
}

function isOf(since: number): string {
  return `draw_since = make_timestamp_ms(${since})`;
}

/** When the newest decision or report came, epoch ms. */
async function newestOf(duck: Duck, rows: string): Promise<number> {
  const [row = {}] = await duck.rows(
    `SELECT greatest((SELECT max(decided_at) FROM ${rows}), (SELECT max(reported_at) FROM outcomes)) AS newest`,
  );
  return numberOf(row['newest']) ?? 0;
}

interface Pass {
  readonly stage: Stage;
  /** SQL: which clients. */
  readonly clients: string;
  readonly sums: ArmSums;
  /** SQL: decisions, also those soon after the span. */
  readonly rows: string;
  /** Epoch ms. */
  readonly knownUntil: number;
}

async function addPass({ duck }: Evidence, pass: Pass): Promise<void> {
  const { stage, clients, sums, rows, knownUntil } = pass;
  const day = `INTERVAL ${WAIT_WORTH_MS} MILLISECONDS`;
  await duck.run(`CREATE OR REPLACE TEMP TABLE drawn AS
    SELECT ${ORDER_KEY_SQL} AS order_key, client_hash, seq, decided_at, draw_version AS arm, ladder_before_level AS level,
      fact_amount AS amount, coalesce(fact_currency, '${NO_CURRENCY}') AS currency,
      ${GRANTED_SQL} AS granted, verdict = 'WAIT' AS waited
    FROM decisions WHERE ${isOf(stage.since)} AND ${clients}`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE lost AS
    SELECT DISTINCT waits.order_key FROM (
      SELECT order_key, any_value(client_hash) AS client_hash, min(seq) AS seq, min(decided_at) AS waited_at
      FROM drawn WHERE waited GROUP BY order_key
    ) waits
    ASOF LEFT JOIN (
      SELECT client_hash, seq, decided_at FROM ${rows} WHERE ${isOf(stage.since)} AND ${GRANTED_SQL} AND ${clients}
    ) grants
      ON waits.client_hash = grants.client_hash AND waits.seq < grants.seq
    WHERE coalesce(grants.decided_at > waited_at + ${day}, true) AND waited_at + ${day} <= make_timestamp_ms(${knownUntil})`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE compared AS
    SELECT client_hash, arm, level, currency, amount, requisites, waits, fate = 'PAID' AS paid, coalesce(report % 4 = 3, false) AS reversed,
      fate = 'UNPAID' AS unpaid, fate = 'TURNED_AWAY' AS "turnedAway", fate = 'UNKNOWN' AS unknown,
      fate != 'PAID' AND order_key IN (FROM lost) AS "lostAfterWait"
    FROM (
      SELECT order_key, any_value(client_hash) AS client_hash, any_value(arm) AS arm, arg_min(level, seq) AS level,
        arg_max(currency, seq) AS currency, arg_max(amount, seq) AS amount, bool_or(granted) AS granted,
        count(*) FILTER (granted) AS requisites, count(*) FILTER (waited) AS waits
      FROM drawn GROUP BY order_key
    ) LEFT JOIN (
      SELECT ${ORDER_KEY_SQL} AS order_key, max(${REPORT_NUMBER_SQL}) AS report FROM outcomes WHERE ${clients} GROUP BY order_key
    ) USING (order_key), LATERAL (SELECT ${askedFateSql('report', 'granted')} AS fate)`);
  for (const row of await duck.rows(TOTALS_SQL)) sums.addCounted(row);
  for (const row of await duck.rows(MONEY_SQL)) sums.addMoney(row);
  for (const row of await duck.rows(LEVELS_SQL)) sums.addLevel(row);
}

/** A flag counts as one. */
const counted = (metric: string) => `sum("${metric}"::INT)::DOUBLE`;

const momentsSql = (metric: string) =>
  `sum("${metric}") AS "${metric}", sum("${metric}" ** 2) AS "${metric}_squares"`;

const TOTALS_SQL = `
  SELECT arm, count(*) AS clients, sum(unknown) AS unknown, ${COUNTED.map(momentsSql).join(', ')} FROM (
    SELECT any_value(arm) AS arm, ${counted('unknown')} AS unknown, ${COUNTED.map((one) => `${counted(one)} AS "${one}"`).join(', ')}
    FROM compared GROUP BY client_hash) GROUP BY arm`;

const MONEY_SQL = `
  SELECT arm, currency, ${['paid', 'reversed'].map(momentsSql).join(', ')} FROM (
    SELECT any_value(arm) AS arm, currency, coalesce(sum(amount) FILTER (paid), 0) AS paid,
      coalesce(sum(amount) FILTER (reversed), 0) AS reversed
    FROM compared GROUP BY client_hash, currency) GROUP BY ALL`;

const LEVELS_SQL = `
  SELECT arm, level, sum(unknown::INT) AS unknown, ${COUNTED.map((one) => `${counted(one)} AS "${one}"`).join(', ')}
  FROM compared GROUP BY ALL`;

const NO_FIGURES = {
  orders: { paid: 0, unpaid: 0, turnedAway: 0, unknown: 0 },
  ...{ requisites: 0, waits: 0, lostAfterWait: 0 },
};

/** What is known of an arm so far. */
interface ArmSum {
  clients: number;
  unknown: number;
  readonly totals: Map<Metric, Moments>;
}

const NO_ARM: Readonly<Omit<ArmSum, 'totals'>> & { readonly totals: ReadonlyMap<Metric, Moments> } = {
  clients: 0,
  unknown: 0,
  totals: new Map(),
};

/** Sums up the passes over the clients. */
class ArmSums {
  readonly #arms = new Map<string, ArmSum>();
  readonly #levels = new Map<string, ExperimentLevel>();

  addCounted(row: DuckRow): void {
    const arm = this.#arm(row);
    arm.clients += numberOf(row['clients']) ?? 0;
    arm.unknown += numberOf(row['unknown']) ?? 0;
    for (const metric of COUNTED) this.#add(row, metric, metric);
  }

  addMoney(row: DuckRow): void {
    const currency = textOf(row['currency']) ?? NO_CURRENCY;
    for (const what of ['paid', 'reversed'] as const) this.#add(row, what, `money.${currency}.${what}`);
  }

  addLevel(row: DuckRow): void {
    const [version, level] = [textOf(row['arm']) ?? '', numberOf(row['level']) ?? 0];
    const name = `${version}/${level}`;
    const known = this.#levels.get(name) ?? { version, level, ...NO_FIGURES };
    const plus = (sum: number, column: string) => sum + (numberOf(row[column]) ?? 0);
    const { orders, requisites, waits, lostAfterWait } = known;
    this.#levels.set(name, {
      version,
      level,
      orders: {
        paid: plus(orders.paid, 'paid'),
        unpaid: plus(orders.unpaid, 'unpaid'),
        turnedAway: plus(orders.turnedAway, 'turnedAway'),
        unknown: plus(orders.unknown, 'unknown'),
      },
      requisites: plus(requisites, 'requisites'),
      waits: plus(waits, 'waits'),
      lostAfterWait: plus(lostAfterWait, 'lostAfterWait'),
    });
  }

  arm(version: string, share: number): ArmTotals {
    const { clients, unknown, totals } = this.#arms.get(version) ?? NO_ARM;
    // A client without an order in a currency counts as 0.
    const ofAll = [...totals].map(([metric, sums]) => [metric, { ...sums, clients }] as const);
    return { version, share, clients, unknown, totals: new Map(ofAll) };
  }

  levels(versions: readonly string[]): readonly ExperimentLevel[] {
    return [...this.#levels.values()]
      .filter(({ version }) => versions.includes(version))
      .toSorted((a, b) => versions.indexOf(a.version) - versions.indexOf(b.version) || a.level - b.level);
  }

  #add(row: DuckRow, column: string, metric: Metric): void {
    const { totals } = this.#arm(row);
    const more = { sum: numberOf(row[column]) ?? 0, squares: numberOf(row[`${column}_squares`]) ?? 0 };
    totals.set(metric, addMoments(totals.get(metric) ?? NO_MOMENTS, { ...NO_MOMENTS, ...more }));
  }

  #arm(row: DuckRow) {
    const version = textOf(row['arm']) ?? '';
    const known: ArmSum = this.#arms.get(version) ?? { ...NO_ARM, totals: new Map() };
    this.#arms.set(version, known);
    return known;
  }
}
