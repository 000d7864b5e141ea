import { type Duck, type DuckRow, numbersOf, textOf } from '../../archive/duck.ts';
import {
  type AskedStatus,
  askedStatusSql,
  CAUSE_SQL,
  GRANTED_SQL,
  ORDER_KEY_SQL,
  REPORT_NUMBER_SQL,
} from '../../archive/order-status.ts';
import { clusteredInterval, type Estimate } from '../../statistics/intervals.ts';
import { type Money, NO_ORDERS, type OrderCounts, statusMember } from '../presentation.ts';
import { makeDevices } from '../source/device-clusters.ts';
import type { Evidence } from '../source/evidence.ts';
import { clusterOf, MoneySums, OrderClusters, type StatusMoney } from '../source/order-clusters.ts';
import { clientPasses, makeTableView } from '../source/shared-devices.ts';
import type { Judgement, VectorCode } from './fact-cells.ts';
import type { RuleFigures } from './rule-report.ts';
import { LEVEL_SQL, makeWaits, noteWaits } from './wait-levels.ts';

/** Decisions with the same facts to the rules, and the same slice. */
interface DecisionGroup {
  readonly judgement: Judgement | null;
  readonly place: number;
  readonly decisions: number;
}

/** Orders that the same rules matched, of one place and one status. */
interface OrderGroup {
  /** The matching rules by their places. */
  readonly matched: readonly number[];
  readonly place: number;
  readonly status: AskedStatus;
  /** They were paid and taken back. */
  readonly reversed: boolean;
  readonly orders: number;
  readonly amount: number;
}

/** Orders with a known outcome that the same rules matched, of one place and one cluster of clients. */
interface KnownOrders {
  /** The matching rules by their places. */
  readonly matched: readonly number[];
  readonly place: number;
  readonly cluster: number;
  readonly paid: number;
  readonly unpaid: number;
}

export interface PassResult {
  readonly decisions: readonly DecisionGroup[];
  readonly orders: readonly OrderGroup[];
  readonly known: readonly KnownOrders[];
  /** The same by the devices of the clients, for rules about shared ones; none without such a rule. */
  readonly knownByDevice: readonly KnownOrders[];
}

interface PassParts {
  readonly codes: readonly VectorCode[];
  /** Null when a fact was not recorded. */
  readonly judge: (numbers: readonly bigint[]) => Judgement | null;
  readonly rules: number;
  /** Some rule is about shared devices. */
  readonly byDevice: boolean;
  /** SQL of the number of the place (currency and slice) of a row of `decisions`, and what it is joined with. */
  readonly place: { readonly sql: string; readonly join: string };
}

/** How many decisions one pass takes, so that they fit into the engine's memory. */
const PASS_DECISIONS_MAX = 2_500_000;

/** A rule is a bit of a BIGINT. */
const MASK_BITS = 62;

/**
 * Reads the evidence client by client in as many passes as memory needs: a client's orders and waits are all in the
 * same pass. The table `waits` is whole after the last one.
 */
export async function* orderPasses(
  evidence: Evidence,
  parts: PassParts,
  decisionsMax = PASS_DECISIONS_MAX,
): AsyncGenerator<PassResult> {
  const { duck, span, ask } = evidence;
  await makeWaits(duck);
  await makeTableView(duck, 'waits_ended', ask);
  if (parts.byDevice) await makeDevices(evidence);
  for (const clients of clientPasses(span.decisions, decisionsMax)) {
    yield await onePass(duck, clients, parts);
    await noteWaits(duck, span.to ?? 0);
  }
}

async function onePass(duck: Duck, clients: string, parts: PassParts): Promise<PassResult> {
  const { codes, place, byDevice } = parts;
  const device = byDevice ? clusterOf('coalesce(device, client_hash)') : 'NULL';
  const codeColumns = codes.map((_, number) => `code${number}`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE seen AS
    SELECT ${ORDER_KEY_SQL} AS order_key, client_hash, seq, decided_at, fact_amount AS amount, ${place.sql} AS place,
      ${GRANTED_SQL} AS granted, ${LEVEL_SQL} AS wait_level, ${clusterOf('client_hash')} AS cluster, ${device} AS device_cluster,
      ${codes.map(({ sql }, number) => `${sql} AS code${number}`).join(', ')}
    FROM decisions ${place.join} ${byDevice ? 'LEFT JOIN devices USING (client_hash)' : ''} WHERE ${clients}`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE told AS
    SELECT ${ORDER_KEY_SQL} AS order_key, max(${REPORT_NUMBER_SQL}) AS report, ${CAUSE_SQL} AS cause,
      min(occurred_at) FILTER (outcome = 'PAID') AS paid_at FROM outcomes WHERE ${clients} GROUP BY order_key`);
  const combinations = await duck.rows(
    `SELECT ${codeColumns.join(', ')}, place, count(*) AS decisions FROM seen GROUP BY ALL`,
  );
  const judged = new Map<string, Judgement | null>();
  const decisions = combinations.map((row): DecisionGroup => {
    const numbers = codeColumns.map((column) => bigOf(row, column));
    const judgement = judged.getOrInsertComputed(numbers.join(), () => parts.judge(numbers));
    return { judgement, ...numbersOf(row, { place: 0, decisions: 0 }) };
  });
  await makeMasks(duck, codeColumns, judged, parts.rules);
  await makeAsked(duck, codeColumns, parts.rules);
  return {
    decisions,
    orders: await orderGroups(duck, parts.rules),
    known: await knownOrders(duck, parts.rules, 'cluster'),
    knownByDevice: byDevice ? await knownOrders(duck, parts.rules, 'device_cluster') : [],
  };
}

/** A table that gives the rules that match a combination of codes, as bits. */
async function makeMasks(
  duck: Duck,
  codeColumns: readonly string[],
  judged: ReadonlyMap<string, Judgement | null>,
  rules: number,
): Promise<void> {
  const columns = [...codeColumns, ...masksOf(rules)].map((column) => `${column} BIGINT`);
  await duck.run(`CREATE OR REPLACE TEMP TABLE masks (${columns.join(', ')})`);
  const values = [...judged].flatMap(([codes, judgement]) =>
    judgement === null ? [] : [`(${codes}, ${bitsOf(judgement.matched, rules).join(', ')})`],
  );
  if (values.length > 0) await duck.run(`INSERT INTO masks VALUES ${values.join(', ')}`);
}

/** A table of the orders that can be judged, each with all rules that matched it. */
async function makeAsked(duck: Duck, codeColumns: readonly string[], rules: number): Promise<void> {
  const masks = masksOf(rules);
  await duck.run(`CREATE OR REPLACE TEMP TABLE asked AS
    SELECT ${masks.join(', ')}, place, cluster, device_cluster, amount, status, coalesce(status = 'UNPAID' AND cause = 'REVERSED', false) AS reversed
    FROM (
      SELECT order_key, arg_max(place, seq) AS place, arg_max(amount, seq) AS amount, bool_or(granted) AS granted,
        any_value(cluster) AS cluster, any_value(device_cluster) AS device_cluster,
        ${masks.map((mask) => `bit_or(${mask}) AS ${mask}`).join(', ')}
      FROM seen JOIN masks USING (${codeColumns.join(', ')}) GROUP BY order_key
    ) LEFT JOIN (SELECT order_key, report, cause FROM told) USING (order_key),
      LATERAL (SELECT ${askedStatusSql('report', 'granted')} AS status)`);
}

async function orderGroups(duck: Duck, rules: number): Promise<readonly OrderGroup[]> {
  const masks = masksOf(rules);
  const rows = await duck.rows(`
    SELECT ${masks.join(', ')}, place, status, reversed, count(*) AS orders, sum(amount) AS amount
    FROM asked GROUP BY ALL`);
  return rows.map((row) => ({
    matched: placesOf(masks.map((mask) => bigOf(row, mask))),
    ...numbersOf(row, { place: 0, orders: 0, amount: 0 }),
    status: statusOf(row),
    reversed: row['reversed'] === true,
  }));
}

async function knownOrders(
  duck: Duck,
  rules: number,
  by: 'cluster' | 'device_cluster',
): Promise<readonly KnownOrders[]> {
  const masks = masksOf(rules);
  const matchedBy = new Map<string, readonly number[]>();
  const known: KnownOrders[] = [];
  const sql = `SELECT ${masks.join(', ')}, place, ${by} AS cluster, count(*) FILTER (status = 'PAID')::DOUBLE AS paid,
      count(*) FILTER (status = 'UNPAID')::DOUBLE AS unpaid
    FROM asked WHERE status IN ('PAID', 'UNPAID') GROUP BY ALL`;
  for await (const batch of duck.batches(sql)) {
    const bits = masks.map((mask) => batch.integers(mask));
    const [places, clusters] = [batch.numbers('place'), batch.numbers('cluster')];
    const [paid, unpaid] = [batch.numbers('paid'), batch.numbers('unpaid')];
    for (const [row, place] of places.entries()) {
      const numbers = bits.map((mask) => mask[row] ?? 0n);
      const matched = matchedBy.getOrInsertComputed(numbers.join(), () => placesOf(numbers));
      const counts = { paid: paid[row] ?? 0, unpaid: unpaid[row] ?? 0 };
      known.push({ matched, place: place ?? 0, cluster: clusters[row] ?? 0, ...counts });
    }
  }
  return known;
}

function masksOf(rules: number): readonly string[] {
  return Array.from({ length: Math.ceil(rules / MASK_BITS) }, (_, number) => `mask${number}`);
}

function bitsOf(places: readonly number[], rules: number): readonly bigint[] {
  const bits = masksOf(rules).map(() => 0n);
  for (const place of places) {
    const mask = Math.floor(place / MASK_BITS);
    bits[mask] = (bits[mask] ?? 0n) | (1n << BigInt(place % MASK_BITS));
  }
  return bits;
}

function placesOf(bits: readonly bigint[]): readonly number[] {
  return bits.flatMap((mask, number) =>
    Array.from({ length: MASK_BITS }, (_, bit) => bit).flatMap((bit) =>
      (mask >> BigInt(bit)) & 1n ? [number * MASK_BITS + bit] : [],
    ),
  );
}

function bigOf(row: DuckRow, column: string): bigint {
  const value = row[column];
  return typeof value === 'bigint' ? value : 0n;
}

function statusOf(row: DuckRow): AskedStatus {
  const status = textOf(row['status']);
  return status === 'PAID' || status === 'UNPAID' || status === 'TURNED_AWAY' || status === 'TECHNICAL'
    ? status
    : 'UNKNOWN';
}

export class OrderTally {
  /** Of those with a known outcome. */
  readonly clusters = new OrderClusters();
  readonly #decisions = { matched: 0, decided: 0, decisive: 0 };
  readonly #orders = { ...NO_ORDERS };
  readonly #money = new MoneySums();

  addDecisions(what: 'matched' | 'decided' | 'decisive', decisions: number): void {
    this.#decisions[what] += decisions;
  }

  /** Technical failures do not count. */
  addOrders(group: StatusMoney & Pick<OrderGroup, 'orders'>): void {
    if (group.status !== 'TECHNICAL') this.#orders[statusMember(group.status)] += group.orders;
    this.#money.add(group);
  }

  get orders(): OrderCounts {
    return { ...this.#orders };
  }

  get money(): Money {
    return this.#money.money;
  }

  /** Of the orders with a known outcome. */
  get unpaidShare(): Estimate | null {
    return clusteredInterval(this.clusters.counts('unpaid'));
  }

  /** `baseShare` is that of all orders, with which the rule's is compared; `otherwise` cannot be left out. */
  figures(baseShare: Estimate | null, isOtherwise: boolean): RuleFigures {
    const { orders, unpaidShare: share } = this;
    return {
      matched: this.#decisions.matched,
      decided: this.#decisions.decided,
      decisive: isOtherwise ? null : this.#decisions.decisive,
      orders,
      unpaidShare: share,
      lift:
        share === null || baseShare === null || baseShare.value === 0 ? null : share.value / baseShare.value,
      amount: this.money,
    };
  }
}
