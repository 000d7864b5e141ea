import { DAY_MS } from '#base/duration.ts';
import { type Objective, parseObjective } from '#decision/objective.ts';
import { formatTime } from '#decision/payer/instant.ts';
import {
  IS_ATTEMPT_SQL,
  isReversedSql,
  ORDER_KEY_SQL,
  orderStatusSql,
  REPORTED_RESULT_SQL,
  SETTLED_AMOUNT_SQL,
  SETTLED_CURRENCY_SQL,
  WAIT_EFFECT_MS,
} from '#history/archive/order-status.ts';
import {
  type BindAsPlaceholder,
  type QueryEngine,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import { clientValueSql, toMainCurrencySql } from '#history/evidence/objective-sql.ts';
import { BadQuestion } from '#history/evidence/question.ts';
import { findMainCurrency, NO_CURRENCY } from '#history/evidence/source/currency.ts';
import { createDevicesTempTable } from '#history/evidence/source/device-clusters.ts';
import {
  createDecisionsView,
  type Evidence,
  listSpanConditions,
  rowsAsOfSql,
} from '#history/evidence/source/evidence.ts';
import { readLastingAgeDays } from '#history/evidence/source/reversals.ts';
import {
  createViewOfArchivedTable,
  listClientBatchConditions,
} from '#history/evidence/source/shared-devices.ts';
import { isSampleRatioOff } from '#history/statistics/sample-ratio.ts';
import { createSumsTables, insertSums, readOrdersByLadderLevel, SumsByArm } from './arm-sums.ts';
import { type ExperimentObjective, type ExperimentReport, evaluateExperiment } from './experiment-report.ts';
import type { Veto } from './recommendation.ts';

/** A stage of a trial: the time in which its shares stay the same. */
interface Stage {
  /** When the stage began, in epoch ms. */
  readonly since: number;
  /** The active version. Null if all clients are drawn into candidates. */
  readonly active: string | null;
  /** The share of each version, in percent. */
  readonly shares: ReadonlyMap<string, number>;
  /** The objective that was given with the rollout, as text. Null if none was given. */
  readonly objective: string | null;
}

const LOOKS_MAX = 30;

/** The most decisions of one batch, so that their orders fit into the engine's memory. */
const BATCH_DECISIONS_MAX = 2_500_000;

/** The length of the time before a trial, in ms, from whose payments the cap is computed. */
const CAP_MS = 30 * DAY_MS;

/** The fewest clients who must have paid before. If there are fewer, the cap would be the amount of a single client. */
const CAP_CLIENTS_MIN = 200;

/** If more than this share of clients share a device with clients of other arms, the arms are not independent. */
const SHARED_DEVICES_MAX = 0.05;

const SAMPLE_RATIO_ALPHA = 0.001;

/**
 * Compares the versions in the newest trial with the active one. `versions` names some of them. An empty list means
 * all. The analysis is by intention to treat: a client counts for the version it was drawn into, whichever version
 * decided. Its actions within the window after its first request in the trial count, once its payments have had time
 * to be reversed. From then on its values never change, and values of clients are independent. If `otherwise` differs
 * from the rollout's objective, the figures follow `otherwise`, but nothing is recommended.
 */
export async function compareVersionsOnTrial(
  evidence: Evidence,
  versions: readonly string[],
  onProgress: (done: number, of: number) => void = () => {},
  otherwise: Objective | null = null,
): Promise<ExperimentReport> {
  const { duck, span } = evidence;
  const since = await findNewestStart(duck, versions);
  if (since === null) return evaluateExperiment(span, null, [], []);
  await makeStageViews(evidence, since);
  const stage = await readStage(duck, since);
  const wanted = (version: string) => versions.length === 0 || versions.includes(version);
  const names = [...stage.shares.keys()].filter((one) => one === stage.active || wanted(one));
  const judged = await completeObjective(evidence, stage, otherwise);
  const knownUntil = evidence.ask.asOf ?? (await findNewestTime(duck));
  const looks = planLooks(stage.since, knownUntil);
  await createSumsTables(duck);
  const [{ n } = {}] = await duck.rows('SELECT count(*) AS n FROM decisions_of_trial');
  const batches = listClientBatchConditions(toNumberOrNull(n) ?? 0, BATCH_DECISIONS_MAX);
  for (const [batch, clients] of batches.entries()) {
    onProgress(batch, batches.length);
    await addBatch(evidence, { stage, clients, judged, looks, knownUntil });
  }
  const sums = await SumsByArm.of(duck, looks.at.length);
  const armsAt = (look: number) =>
    names.map((name) => sums.getArm(name, (stage.shares.get(name) ?? 0) / 100, look));
  const seen = looks.at.map((at, place) => ({ at, arms: armsAt(place + 1) }));
  const vetoes = [
    ...findSampleRatioVeto(stage, sums, looks.at.length),
    ...(await findDevicesVeto(evidence, stage)),
    ...findStoppedVeto(span),
  ];
  return evaluateExperiment(
    span,
    { ...stage, ...judged, vetoes },
    seen,
    await readOrdersByLadderLevel(duck, names),
  );
}

/**
 * Creates the views of a trial. A trial is counted as a whole, whatever span is asked about. The views hold its
 * decisions, the decisions before it, and the reports of all times.
 */
async function makeStageViews({ duck, ask }: Evidence, since: number): Promise<void> {
  const rows = (from: number, to: number | null) => rowsAsOfSql(ask.place, 'decisions', { ...ask, from, to });
  await createDecisionsView(duck, rows(since - CAP_MS, since), 'decisions_before');
  await createDecisionsView(duck, rows(since, null), 'decisions_of_trial');
  const reported = rowsAsOfSql(ask.place, 'outcomes', { ...ask, from: null, to: null });
  await duck.run(`CREATE OR REPLACE VIEW outcomes_of_trial AS FROM ${reported}`);
  await createViewOfArchivedTable(duck, 'waits_ended', { ...ask, from: since, to: null });
}

/**
 * Finds when the newest stage began in which all of these versions were drawn, in epoch ms. Returns null if there is
 * no such stage.
 */
async function findNewestStart(duck: QueryEngine, versions: readonly string[]): Promise<number | null> {
  const drawn = (bind: BindAsPlaceholder) =>
    versions.map((version) => `bool_or(draw_version = ${bind(version)})`).join(' AND ') || 'true';
  const [row = {}] = await duck.rows(
    (bind) => `
    SELECT draw_since FROM decisions WHERE draw_since IS NOT NULL GROUP BY draw_since
    HAVING ${drawn(bind)} ORDER BY draw_since DESC LIMIT 1`,
  );
  return toNumberOrNull(row['draw_since']);
}

async function readStage(duck: QueryEngine, since: number): Promise<Stage> {
  const rows = await duck.rows(`
    SELECT draw_version AS version, max(draw_percent) AS percent, bool_or(arm = 'active' AND rule_version = draw_version) AS active,
      any_value(draw_objective) AS objective
    FROM decisions_of_trial WHERE ${stageConditionSql(since)} GROUP BY draw_version ORDER BY active DESC, version`);
  const active = rows.find((one) => one['active'] === true);
  return {
    since,
    active: active === undefined ? null : toTextOrNull(active['version']),
    shares: new Map(
      rows.map((one) => [toTextOrNull(one['version']) ?? '', toNumberOrNull(one['percent']) ?? 0]),
    ),
    objective: toTextOrNull(rows[0]?.['objective']),
  };
}

function stageConditionSql(since: number): string {
  return `draw_since = make_timestamp_ms(${since})`;
}

/** Finds when the newest decision or report came, in epoch ms. */
async function findNewestTime(duck: QueryEngine): Promise<number> {
  const [row = {}] = await duck.rows(
    'SELECT greatest((SELECT max(decided_at) FROM decisions_of_trial), (SELECT max(reported_at) FROM outcomes_of_trial)) AS newest',
  );
  return toNumberOrNull(row['newest']) ?? 0;
}

/**
 * Completes the objective of a trial from the data before the trial. Only the time for reversals may grow after that,
 * if reversals turn out to take longer.
 */
async function completeObjective(
  evidence: Evidence,
  stage: Stage,
  otherwise: Objective | null,
): Promise<ExperimentObjective> {
  const given = parseObjective(stage.objective);
  const objective = otherwise ?? given;
  if (objective === null)
    throw new BadQuestion(
      'the objective of the trial cannot be read; name one in the question, or begin the trial again',
    );
  const { duck, ask } = evidence;
  const currency =
    objective.currency ??
    (await findMainCurrency(duck, 'decisions_before')) ??
    (await findMainCurrency(duck, 'decisions_of_trial'));
  const lasting = async () =>
    Math.max(
      await readLastingAgeDays(evidence, stage.since),
      await readLastingAgeDays(evidence, ask.asOf ?? null),
    );
  const reversalDays = objective.reversalDays ?? (await lasting());
  const main = currency ?? NO_CURRENCY;
  const cap = objective.cap ?? (await findCap(duck, objective, main, stage.since));
  return {
    objective: { ...objective, currency: main, reversalDays, cap },
    isFixed: otherwise === null || JSON.stringify(otherwise) === JSON.stringify(given),
  };
}

/**
 * Computes the 99.9 % point of what each client paid in the time before the trial. Returns null if there are too few
 * clients.
 */
async function findCap(
  duck: QueryEngine,
  objective: Objective,
  main: string,
  since: number,
): Promise<number | null> {
  const [row = {}] = await duck.rows(`
    WITH asked AS (
      SELECT ${ORDER_KEY_SQL} AS order_key, any_value(client_hash) AS client_hash, arg_max(fact_amount, seq) AS amount,
        arg_max(fact_currency, seq) AS currency
      FROM decisions_before GROUP BY order_key
    ), paid AS (
      SELECT ${ORDER_KEY_SQL} AS order_key FROM outcomes_of_trial WHERE outcome = 'PAID' AND reported_at < make_timestamp_ms(${since})
    ), totals AS (
      SELECT client_hash, sum(${toMainCurrencySql(objective, main, 'amount', 'currency')}) AS total
      FROM asked SEMI JOIN paid USING (order_key) GROUP BY client_hash
    )
    SELECT count(*)::DOUBLE AS clients, quantile_cont(total, 0.999) AS cap FROM totals`);
  return (toNumberOrNull(row['clients']) ?? 0) < CAP_CLIENTS_MIN ? null : toNumberOrNull(row['cap']);
}

type Looks = ReturnType<typeof planLooks>;

/**
 * Returns the looks: the moments (epoch ms) at which the trial is evaluated. The last look uses everything that is
 * known.
 */
function planLooks(since: number, knownUntil: number) {
  const stepMs = Math.max(1, Math.ceil((knownUntil - since) / LOOKS_MAX));
  const looks = Math.max(1, Math.ceil((knownUntil - since) / stepMs));
  return {
    at: Array.from({ length: looks }, (_, look) => Math.min(since + (look + 1) * stepMs, knownUntil)),
    /** Renders the SQL for the number of the first look at which a time (epoch ms) has come. */
    firstSql: (ms: string) => `greatest(1, least(${looks}, (${ms} - ${since} + ${stepMs - 1}) // ${stepMs}))`,
  };
}

interface Batch {
  readonly stage: Stage;
  /** The SQL condition that selects the clients of the batch. */
  readonly clients: string;
  readonly judged: ExperimentObjective;
  readonly looks: Looks;
  readonly knownUntil: number;
}

async function addBatch(
  { duck, ask }: Evidence,
  { stage, clients, judged, looks, knownUntil }: Batch,
): Promise<void> {
  const { objective } = judged;
  const [windowMs, waitedMs] = [objective.windowDays * DAY_MS, objective.reversalDays * DAY_MS];
  const entersBy = listSpanConditions('first_at', null, ask.to).join(' AND ');
  const cap = (worth: string, times = '') =>
    objective.cap === null ? worth : `least(${worth}, ${objective.cap}${times})`;
  await duck.run(`CREATE OR REPLACE TEMP TABLE drawn AS
    SELECT *, epoch_ms(first_at) + ${windowMs + waitedMs} AS matures_ms FROM (
      SELECT ${ORDER_KEY_SQL} AS order_key, client_hash, seq, decided_at, draw_version AS arm, ladder_before_level AS level,
        fact_amount AS amount, coalesce(fact_currency, '${NO_CURRENCY}') AS currency,
        ${IS_ATTEMPT_SQL} AS granted, verdict = 'WAIT' AS waited, min(decided_at) OVER (PARTITION BY client_hash) AS first_at
      FROM decisions_of_trial WHERE ${stageConditionSql(stage.since)} AND ${clients}
    ) WHERE ${entersBy}`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE entered AS
    SELECT client_hash, any_value(arm) AS arm, ${looks.firstSql('epoch_ms(any_value(first_at))')} AS asked_look,
      any_value(matures_ms) AS matures_ms, ${looks.firstSql('any_value(matures_ms)')} AS look
    FROM drawn GROUP BY client_hash`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE bought AS
    WITH asked AS (
      SELECT order_key, any_value(client_hash) AS client_hash, any_value(matures_ms) AS matures_ms, arg_min(level, seq) AS level,
        arg_max(currency, seq) AS currency, arg_max(amount, seq) AS amount, count(*) FILTER (granted) AS requisites,
        count(*) FILTER (waited) AS waits, min(decided_at) FILTER (waited AND epoch_ms(decided_at) + ${WAIT_EFFECT_MS} <= matures_ms) AS waited_at
      FROM drawn WHERE epoch_ms(decided_at) < epoch_ms(first_at) + ${windowMs} GROUP BY order_key
    ), reports AS (
      SELECT *, ${ORDER_KEY_SQL} AS order_key FROM outcomes_of_trial WHERE ${clients}
    ), told AS (
      SELECT order_key, ${REPORTED_RESULT_SQL} AS report, ${SETTLED_AMOUNT_SQL} AS settled_amount, ${SETTLED_CURRENCY_SQL} AS settled_currency
      FROM reports JOIN (SELECT DISTINCT order_key, matures_ms FROM drawn) USING (order_key)
      WHERE epoch_ms(reported_at) <= matures_ms GROUP BY order_key
    ), soon AS (
      SELECT waits.order_key, min(grants.decided_at) AS granted_soon_at
      FROM drawn waits JOIN drawn grants ON grants.client_hash = waits.client_hash AND grants.seq > waits.seq
        AND grants.decided_at <= waits.decided_at + INTERVAL ${WAIT_EFFECT_MS} MILLISECONDS
      WHERE waits.waited AND grants.granted GROUP BY waits.order_key
    )
    SELECT asked.* REPLACE (coalesce(settled_amount, amount) AS amount, coalesce(settled_currency, currency) AS currency), status, ${isReversedSql('report')} AS reversed, granted_soon_at IS NULL AND waited_at IS NOT NULL AND status <> 'PAID' AS lost
    FROM asked LEFT JOIN told USING (order_key) LEFT JOIN soon USING (order_key),
      LATERAL (SELECT ${orderStatusSql('report', 'requisites > 0')} AS status)`);
  await duck.run(
    `CREATE OR REPLACE TEMP TABLE matured AS SELECT * FROM entered WHERE matures_ms <= ${knownUntil}`,
  );
  await duck.run(`CREATE OR REPLACE TEMP TABLE valued AS
    WITH priced AS (
      SELECT *, ${toMainCurrencySql(objective, objective.currency, 'amount', 'currency')} AS worth FROM bought
    ), tallied AS (
      SELECT arm, look, client_hash, ${cap(paidWorth)} AS amount, ${paidWorth} - ${cap(paidWorth)} AS capped, ${cap(`coalesce(sum(worth) FILTER (reversed), 0)`)} AS "reversedAmount",
        ${countWhereSql("status = 'PAID'")} AS paid, ${countWhereSql("status = 'UNPAID'")} AS unpaid, ${countWhereSql("status = 'TURNED_AWAY'")} AS "turnedAway",
        ${countWhereSql("status = 'UNKNOWN'")} AS unknown, ${countWhereSql('reversed')} AS reversals,
        coalesce(sum(requisites), 0)::DOUBLE AS requisites, coalesce(sum(waits), 0)::DOUBLE AS waits, ${countWhereSql('lost')} AS "lostAfterWait",
        coalesce(sum(requisites - (status = 'PAID' OR reversed)::INT) FILTER (status IN ('PAID', 'UNPAID') AND requisites > 0), 0)::DOUBLE AS "unpaidRequisites",
        ${countWhereSql('requisites > 0')} AS granted
      FROM matured LEFT JOIN priced USING (client_hash) GROUP BY arm, look, client_hash
    )
    SELECT *, ${clientValueSql(objective, { lasting: 'amount', reversals: 'reversals', requisites: '"unpaidRequisites"' })} AS value,
      1::DOUBLE AS clients, unknown * granted AS "unknownGranted" FROM tallied`);
  const money = (what: string) =>
    cap(what, ` / (${toMainCurrencySql(objective, objective.currency, '1', 'currency')})`);
  await insertSums(
    duck,
    `SELECT arm, look, metric, x FROM (UNPIVOT valued ON COLUMNS(* EXCLUDE (arm, look, client_hash)) INTO NAME metric VALUE x)
    UNION ALL SELECT arm, look, 'money.' || currency || '.' || metric, x FROM (UNPIVOT (
      SELECT arm, look, currency, ${money('paid')} AS paid, ${money('reversed')} AS reversed FROM (
        SELECT arm, look, client_hash, currency, coalesce(sum(amount) FILTER (status = 'PAID'), 0)::DOUBLE AS paid,
          coalesce(sum(amount) FILTER (reversed), 0)::DOUBLE AS reversed
        FROM matured JOIN bought USING (client_hash) GROUP BY ALL)
      ) ON paid, reversed INTO NAME metric VALUE x)
    UNION ALL SELECT arm, asked_look, 'asked', 1 FROM entered
    UNION ALL SELECT arm, look, 'waitsEnded', 1 FROM waits_ended JOIN matured USING (client_hash)
      WHERE epoch_ms(ended_at) BETWEEN matures_ms - ${windowMs + waitedMs} AND matures_ms - ${waitedMs + 1}`,
  );
  await duck.run(`INSERT INTO levels SELECT arm, level, status, count(*), sum(requisites), sum(waits), count(*) FILTER (lost)
    FROM bought JOIN matured USING (client_hash) GROUP BY ALL`);
}

const paidWorth = `coalesce(sum(worth) FILTER (status = 'PAID'), 0)::DOUBLE`;

function countWhereSql(where: string): string {
  return `count(*) FILTER (${where})::DOUBLE`;
}

/**
 * Tests at each look whether the numbers of clients in the arms fit the shares of the draw. A client counts from its
 * first request. If the numbers did not fit at any look, the veto stays.
 */
function findSampleRatioVeto({ shares }: Stage, sums: SumsByArm, looks: number): readonly Veto[] {
  const at = (look: number) =>
    [...shares].map(([version, share]) => ({ clients: sums.getSum(version, 'asked', look), share }));
  const isOff = Array.from({ length: looks }, (_, look) => at(look + 1)).some(
    (arms) => arms.length > 1 && isSampleRatioOff(arms, SAMPLE_RATIO_ALPHA),
  );
  const seen = [...shares].map(
    ([version, share]) => `${version} ${sums.getSum(version, 'asked')} clients by ${share} %`,
  );
  return isOff ? [{ veto: 'sampleRatio', version: null, why: seen.join(', ') }] : [];
}

/** Tests whether arms share devices. On a shared device the rules of one arm see the effects of another arm's rules. */
async function findDevicesVeto(evidence: Evidence, { since }: Stage): Promise<readonly Veto[]> {
  const { duck } = evidence;
  await createDevicesTempTable(evidence);
  const [row = {}] = await duck.rows(`
    WITH drawn_clients AS (
      SELECT DISTINCT client_hash, draw_version AS arm FROM decisions_of_trial WHERE ${stageConditionSql(since)}
    ), on_devices AS (
      SELECT device, min(arm) OVER (PARTITION BY device) AS one, max(arm) OVER (PARTITION BY device) AS other
      FROM drawn_clients LEFT JOIN devices USING (client_hash)
    )
    SELECT count(*)::DOUBLE AS clients, count(*) FILTER (device IS NOT NULL AND one <> other)::DOUBLE AS shared FROM on_devices`);
  const { clients, shared } = toNumbersByColumn(row, { clients: 0, shared: 0 });
  if (shared <= SHARED_DEVICES_MAX * clients) return [];
  return [
    {
      veto: 'sharedDevices',
      version: null,
      why: `${shared} of ${clients} clients are on devices of several arms`,
    },
  ];
}

/**
 * Vetoes a trial while a platform reports no outcomes, because later reports can change which version is worth more.
 */
function findStoppedVeto({ silences }: Evidence['span']): readonly Veto[] {
  const stopped = silences.filter(({ to }) => to === null);
  const why = stopped.map(
    ({ platform, from, orders }) => `${orders} orders of ${platform} since ${formatTime(from)}`,
  );
  return why.length === 0 ? [] : [{ veto: 'outcomesStopped', version: null, why: why.join(', ') }];
}
