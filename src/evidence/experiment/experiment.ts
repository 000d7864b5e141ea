import { type Duck, type DuckRow, numberOf, numbersOf, quote, textOf } from '../../archive/duck.ts';
import {
  askedFateSql,
  GRANTED_SQL,
  ORDER_KEY_SQL,
  REPORT_NUMBER_SQL,
  WAIT_WORTH_MS,
} from '../../archive/order-fate.ts';
import { type Moments, NO_MOMENTS } from '../../statistics/confidence-sequence.ts';
import { plus } from '../../statistics/sums.ts';
import { NO_CURRENCY } from '../report/report.ts';
import { NO_ORDERS } from '../shown.ts';
import { type Evidence, knownRows, withDayAfter } from '../source/evidence.ts';
import { clientPasses } from '../source/shared-devices.ts';
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

const LOOKS_MAX = 30;

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
  const looks = looksAt(stage.since, ask.asOf ?? (await newestOf(duck, rows)));
  const passes = clientPasses(span.decisions, PASS_DECISIONS_MAX);
  for (const [pass, clients] of passes.entries()) {
    onProgress(pass, passes.length);
    await addPass(evidence, { stage, clients, sums, rows, looks });
  }
  const armsAt = (look: number) =>
    names.map((name) => sums.arm(name, (stage.shares.get(name) ?? 0) / 100, look));
  const seen = looks.at.map((at, place) => ({ at, arms: armsAt(place + 1) }));
  return experimentOf(span, stage, seen, sums.levels(names));
}

/** Moments at which a trial is looked at, epoch ms; at the last all is known. */
interface Looks {
  readonly at: readonly number[];
  /** SQL: the number of the first look at which something is known that came at a time. */
  readonly firstSql: (time: string) => string;
}

function looksAt(since: number, knownUntil: number): Looks {
  const stepMs = Math.max(1, Math.ceil((knownUntil - since) / LOOKS_MAX));
  const looks = Math.max(1, Math.ceil((knownUntil - since) / stepMs));
  return {
    at: Array.from({ length: looks }, (_, look) => Math.min(since + (look + 1) * stepMs, knownUntil)),
    firstSql: (time) =>
      `greatest(1, least(${looks}, (epoch_ms(${time}) - ${since} + ${stepMs - 1}) // ${stepMs}))`,
  };
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
  readonly looks: Looks;
}

async function addPass({ duck }: Evidence, pass: Pass): Promise<void> {
  const { stage, clients, sums, rows, looks } = pass;
  const day = `INTERVAL ${WAIT_WORTH_MS} MILLISECONDS`;
  await duck.run(`CREATE OR REPLACE TEMP TABLE drawn AS
    SELECT ${ORDER_KEY_SQL} AS order_key, client_hash, seq, decided_at, draw_version AS arm, ladder_before_level AS level,
      fact_amount AS amount, coalesce(fact_currency, '${NO_CURRENCY}') AS currency,
      ${GRANTED_SQL} AS granted, verdict = 'WAIT' AS waited
    FROM decisions WHERE ${isOf(stage.since)} AND ${clients}`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE lost AS
    SELECT waits.order_key, waits.client_hash, waited_at + ${day} AS lost_at FROM (
      SELECT order_key, any_value(client_hash) AS client_hash, min(seq) AS seq, min(decided_at) AS waited_at
      FROM drawn WHERE waited GROUP BY order_key
    ) waits
    ASOF LEFT JOIN (
      SELECT client_hash, seq, decided_at FROM ${rows} WHERE ${isOf(stage.since)} AND ${GRANTED_SQL} AND ${clients}
    ) grants
      ON waits.client_hash = grants.client_hash AND waits.seq < grants.seq
    WHERE coalesce(grants.decided_at > lost_at, true) AND lost_at <= make_timestamp_ms(${looks.at.at(-1) ?? 0})`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE learnt AS
    SELECT order_key, look, any_value(client_hash) AS client_hash, any_value(arm) AS arm, arg_min(level, seq) AS level,
      arg_max(currency, seq) AS currency, arg_max(amount, seq) AS amount,
      count(*) FILTER (granted) AS requisites, count(*) FILTER (waited) AS waits, max(report) AS report, bool_or(lost) AS lost
    FROM (
      SELECT *, ${looks.firstSql('decided_at')} AS look FROM drawn
      UNION ALL BY NAME SELECT order_key, client_hash, true AS lost, ${looks.firstSql('lost_at')} AS look FROM lost
      UNION ALL BY NAME SELECT order_key, client_hash, report, look FROM (
        SELECT ${ORDER_KEY_SQL} AS order_key, client_hash, ${REPORT_NUMBER_SQL} AS report, ${looks.firstSql('reported_at')} AS look
        FROM outcomes WHERE ${clients}
      ) SEMI JOIN drawn USING (order_key)
    ) GROUP BY order_key, look`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE compared AS
    SELECT client_hash, arm, level, currency, amount, requisites, waits, look, next, fate = 'PAID' AS paid,
      coalesce(report % 4 = 3, false) AS reversed, fate = 'UNPAID' AS unpaid, fate = 'TURNED_AWAY' AS "turnedAway",
      fate = 'UNKNOWN' AS unknown, fate != 'PAID' AND coalesce(lost, false) AS "lostAfterWait"
    FROM (
      SELECT client_hash, look, lead(look) OVER so_far AS next, first_value(arm IGNORE NULLS) OVER so_far AS arm,
        first_value(level IGNORE NULLS) OVER so_far AS level, last_value(currency IGNORE NULLS) OVER so_far AS currency,
        last_value(amount IGNORE NULLS) OVER so_far AS amount, sum(requisites) OVER so_far AS requisites,
        sum(waits) OVER so_far AS waits, max(report) OVER so_far AS report, bool_or(lost) OVER so_far AS lost
      FROM learnt WINDOW so_far AS (PARTITION BY order_key ORDER BY look)
    ), LATERAL (SELECT ${askedFateSql('report', 'requisites > 0')} AS fate)
    WHERE arm IS NOT NULL`);
  for (const row of await duck.rows(TOTALS_SQL)) sums.addCounted(row);
  for (const row of await duck.rows(MONEY_SQL)) sums.addMoney(row);
  for (const row of await duck.rows(LEVELS_SQL)) sums.addLevel(row);
}

/** A flag counts as one. */
const counted = (metric: string) => `"${metric}"::INT`;

/**
 * SQL: from look to look, by how much the sums over an arm's clients grew, and those of their squares. An order adds what
 * it is from a look on, and takes away what it was before.
 */
function growthSql(values: readonly (readonly [name: string, sql: string])[], and = ''): string {
  const each = (sql: (name: string) => string) => values.map(([name]) => sql(name)).join(', ');
  return `SELECT arm, look${and}, count(*) FILTER (is_new) AS clients,
      ${each((name) => `sum("${name}") AS "${name}", sum("${name}" * (2 * "${name}_then" - "${name}")) AS "${name}_squares"`)}
    FROM (
      SELECT *, (row_number() OVER so_far) = 1 AS is_new, ${each((name) => `sum("${name}") OVER so_far AS "${name}_then"`)}
      FROM (
        SELECT client_hash, any_value(arm) AS arm, look${and}, ${values.map(([name, sql]) => `sum(sign * ${sql})::DOUBLE AS "${name}"`).join(', ')}
        FROM (
          SELECT *, 1 AS sign FROM compared
          UNION ALL SELECT * REPLACE (next AS look), -1 FROM compared WHERE next IS NOT NULL
        ) GROUP BY client_hash, look${and}
      ) WINDOW so_far AS (PARTITION BY client_hash${and} ORDER BY look)
    ) GROUP BY arm, look${and}`;
}

const TOTALS_SQL = growthSql(['unknown', ...COUNTED].map((name) => [name, counted(name)]));

const amountOf = (flag: string) => `coalesce(if(${flag}, amount, 0), 0)`;

const MONEY_SQL = growthSql(
  [
    ['paid', amountOf('paid')],
    ['reversed', amountOf('reversed')],
  ],
  ', currency',
);

const LEVELS_SQL = `
  SELECT arm, level, ${['unknown', ...COUNTED].map((one) => `sum(${counted(one)})::DOUBLE AS "${one}"`).join(', ')}
  FROM compared WHERE next IS NULL GROUP BY ALL`;

const NO_OTHERS = { requisites: 0, waits: 0, lostAfterWait: 0 };
const NO_FIGURES = { orders: NO_ORDERS, ...NO_OTHERS };

/** By what the sums of an arm grew from one look to the next. */
interface ArmGrowth {
  clients: number;
  unknown: number;
  readonly totals: Map<Metric, Moments>;
}

/** Sums up the passes over the clients. */
class ArmSums {
  readonly #growth = new Map<string, ArmGrowth>();
  readonly #levels = new Map<string, ExperimentLevel>();

  addCounted(row: DuckRow): void {
    const arm = this.#arm(row);
    const { clients, unknown } = numbersOf(row, { clients: 0, unknown: 0 });
    arm.clients += clients;
    arm.unknown += unknown;
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
    const { orders, requisites, waits, lostAfterWait } = known;
    const sums = plus({ requisites, waits, lostAfterWait }, numbersOf(row, NO_OTHERS));
    this.#levels.set(name, { version, level, orders: plus(orders, numbersOf(row, NO_ORDERS)), ...sums });
  }

  /** As it was known at a look, the first being 1. */
  arm(version: string, share: number, look: number): ArmTotals {
    const grown = Array.from({ length: look }, (_, before) => this.#growth.get(`${version}/${before + 1}`));
    const all = sumOf(grown.filter((one) => one !== undefined));
    // A client without an order in a currency counts as 0.
    const totals = [...all.totals].map(
      ([metric, sums]) => [metric, { ...sums, clients: all.clients }] as const,
    );
    return { ...all, version, share, totals: new Map(totals) };
  }

  levels(versions: readonly string[]): readonly ExperimentLevel[] {
    return [...this.#levels.values()]
      .filter(({ version }) => versions.includes(version))
      .toSorted((a, b) => versions.indexOf(a.version) - versions.indexOf(b.version) || a.level - b.level);
  }

  #add(row: DuckRow, column: string, metric: Metric): void {
    const { totals } = this.#arm(row);
    const more = { sum: numberOf(row[column]) ?? 0, squares: numberOf(row[`${column}_squares`]) ?? 0 };
    addTo(totals, metric, { ...NO_MOMENTS, ...more });
  }

  #arm(row: DuckRow): ArmGrowth {
    const name = `${textOf(row['arm']) ?? ''}/${numberOf(row['look']) ?? 0}`;
    const known = this.#growth.get(name) ?? sumOf([]);
    this.#growth.set(name, known);
    return known;
  }
}

function sumOf(grown: readonly ArmGrowth[]): ArmGrowth {
  const sum: ArmGrowth = { clients: 0, unknown: 0, totals: new Map() };
  for (const { clients, unknown, totals } of grown) {
    sum.clients += clients;
    sum.unknown += unknown;
    for (const [metric, more] of totals) addTo(sum.totals, metric, more);
  }
  return sum;
}

function addTo(totals: ArmGrowth['totals'], metric: Metric, more: Moments): void {
  totals.set(metric, plus(totals.get(metric) ?? NO_MOMENTS, more));
}
