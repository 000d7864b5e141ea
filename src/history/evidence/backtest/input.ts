import { VERDICTS } from '#decision/decision-words.ts';
import { type DeviceSharingCounts, NO_SIGHTINGS, NOBODY_SEEN, type Sightings } from '#decision/facts/fact.ts';
import { formatDecimal } from '#decision/payer/amount.ts';
import type { Attributes } from '#decision/payer/attributes.ts';
import { isPlatformName, type PlatformName } from '#decision/payer/client-key.ts';
import { type Binding, OVERRIDE_GROUPS, type Override } from '#decision/payer/client-state.ts';
import { type DatedReport, type OrderStage, OUTCOME_CAUSES, OUTCOMES } from '#decision/payer/order.ts';
import type { ScoreRequest, VerdictRequestWithoutOrigin } from '#decision/requests.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';
import {
  type BatchCell,
  type QueryEngine,
  type ResultBatch,
  toNumberOrNull,
} from '#history/archive/query-engine.ts';
import {
  listClientBatchConditions,
  parseSharingColumnNames,
  type SharingCountColumn,
} from '#history/evidence/source/shared-devices.ts';
import {
  parseValueCountColumns,
  type ValueCountColumn,
} from '#history/evidence/source/value-count-columns.ts';
import { getRecordedOrderStage } from '#state/journal.ts';

interface Happening {
  /** When the input happened, in epoch ms. */
  readonly at: number;
  readonly platform: PlatformName;
  readonly clientIdKey: string;
  readonly clientHash: bigint;
}

/** A recorded verdict request, with the rule set that decided it then and its verdict. */
export interface VerdictInput extends VerdictRequestWithoutOrigin, Happening {
  readonly kind: 'verdict';
  /** The currency of the request. It is the platform's if the request named none. */
  readonly currency: string;
  readonly ruleVersion: string;
  readonly digest: string;
  readonly verdict: Verdict;
  readonly orderKey: bigint;
  /** The other clients on the client's devices. The client's own marks are not included. */
  readonly sightings: Sightings;
}

/** An input from outside, as the history keeps it. Answers are not inputs. */
export type ReplayInput =
  | VerdictInput
  | (Happening & { readonly kind: 'score'; readonly request: ScoreRequest })
  | (Happening & {
      readonly kind: 'outcome';
      readonly orderRef: string;
      readonly report: DatedReport;
      /** The recorded stage of the order. */
      readonly orderStage: OrderStage;
    })
  | (Happening & { readonly kind: 'binding'; readonly binding: Binding | null })
  | (Happening & { readonly kind: 'override'; readonly override: Override | null })
  | (Happening & { readonly kind: 'waitEnded' });

/** The most inputs that are sorted at once. More would take more memory than the engine may have. */
const ORDERED_AT_ONCE_MAX = 500_000;

/**
 * Reads the inputs of the view `inputs` client by client. The inputs of a client come in the sequence in which they
 * happened. A batch holds some thousands of inputs. `where` is a SQL condition. If it is missing, all inputs are
 * read.
 */
export async function* readInputsByClient(
  duck: QueryEngine,
  where = 'true',
  orderedAtOnceMax = ORDERED_AT_ONCE_MAX,
): AsyncGenerator<readonly ReplayInput[]> {
  const [{ n } = { n: 0 }] = await duck.rows(`SELECT count(*) AS n FROM inputs WHERE ${where}`);
  for (const clients of listClientBatchConditions(toNumberOrNull(n) ?? 0, orderedAtOnceMax))
    for await (const batch of duck.batches(`SELECT * FROM inputs WHERE ${where} AND ${clients}`))
      yield readBatchInputs(batch);
}

function readBatchInputs(batch: ResultBatch): readonly ReplayInput[] {
  const rows = new Rows(batch);
  const inputs: ReplayInput[] = [];
  for (let row = 0; row < batch.rowCount; row++) {
    const input = readInput(rows, row);
    if (input !== null) inputs.push(input);
  }
  return inputs;
}

function readInput(rows: Rows, row: number): ReplayInput | null {
  const platform = rows.text('platform', row);
  if (!isPlatformName(platform)) return null;
  const base = {
    at: rows.number('at', row),
    platform,
    clientIdKey: rows.text('client_id_key', row),
    clientHash: rows.integer('client_hash', row),
  };
  switch (rows.text('kind', row)) {
    case 'verdict':
      return readAskedInput(rows, row, base);
    case 'score':
      return { ...base, kind: 'score', request: readScoreRequest(rows, row) };
    case 'outcome':
      return {
        ...base,
        kind: 'outcome',
        orderRef: rows.text('order_ref', row),
        report: readReport(rows, row),
        orderStage: getRecordedOrderStage(rows.flag('turned_away', row) === true),
      };
    case 'binding':
      return { ...base, kind: 'binding', binding: readBinding(rows, row) };
    case 'override':
      return { ...base, kind: 'override', override: readOverride(rows, row, base.at) };
    case 'waitEnded':
      return { ...base, kind: 'waitEnded' };
    default:
      return null;
  }
}

function readAskedInput(rows: Rows, row: number, base: Happening): VerdictInput {
  return {
    ...base,
    kind: 'verdict',
    sellPointKey: rows.text('sell_point_key', row),
    method: rows.text('method', row),
    amount: formatDecimal(rows.number('asked_amount', row)),
    currency: rows.text('currency', row),
    orderRef: rows.text('order_ref', row),
    ruleVersion: rows.text('rule_version', row),
    digest: rows.text('digest', row),
    verdict: VERDICTS.find((known) => known === rows.text('verdict', row)) ?? 'GET_NEW',
    orderKey: rows.integer('order_key', row),
    sightings: readSightings(rows, row),
    ...readAttributes(rows, row),
  };
}

function readSightings(rows: Rows, row: number): Sightings {
  const sightings = {
    fingerprint: new Map<number, DeviceSharingCounts>(),
    ip: new Map<number, DeviceSharingCounts>(),
  };
  for (const { name, on, windowMs, counts } of rows.sharing) {
    const clients = rows.maybeNumber(name, row);
    if (clients === null) continue;
    const known = sightings[on].get(windowMs) ?? NOBODY_SEEN;
    sightings[on].set(windowMs, { ...known, [counts]: clients });
  }
  const attributes = readClientsByValue(rows, row);
  for (const windows of [sightings.fingerprint, sightings.ip])
    for (const [windowMs, { clients, verdicts }] of windows)
      if (clients < 2 && verdicts < 2) windows.delete(windowMs);
  const seen = sightings.fingerprint.size + sightings.ip.size === 0 ? NO_SIGHTINGS : sightings;
  return attributes.size === 0 ? seen : { ...seen, attributes };
}

/**
 * Reads how many clients had the same value of an attribute, by attribute and window (ms), if there was more than
 * one.
 */
function readClientsByValue(rows: Rows, row: number): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const counts = new Map<string, Map<number, number>>();
  for (const { name, attribute, windowMs } of rows.values) {
    const clients = rows.maybeNumber(name, row) ?? 0;
    if (clients > 1) counts.getOrInsertComputed(attribute, () => new Map()).set(windowMs, clients);
  }
  return counts;
}

/**
 * Reads a score request. Its members have the sequence in which the service makes them, because a repeated score is
 * recognised by all of them.
 */
function readScoreRequest(rows: Rows, row: number): ScoreRequest {
  return {
    sellPointKey: rows.text('sell_point_key', row),
    method: rows.text('method', row),
    amount: rows.text('amount', row),
    currency: rows.maybeText('currency', row),
    fingerprint: rows.maybeText('fingerprint', row),
    ip: rows.maybeText('ip', row),
    jsOk: rows.flag('js_ok', row),
    honeypotTriggered: rows.flag('honeypot_triggered', row) === true,
    userAgentPresent: rows.flag('user_agent_present', row) === true,
    userAgentIsAutomated: rows.flag('user_agent_is_automated', row) === true,
    userAgentIsApp: rows.flag('user_agent_is_app', row) === true,
    ...readAttributes(rows, row),
  };
}

function readAttributes(rows: Rows, row: number): { readonly attributes?: Attributes } {
  const text = rows.maybeText('attributes', row);
  return text === null ? {} : { attributes: JSON.parse(text) };
}

function readReport(rows: Rows, row: number): DatedReport {
  const amount = rows.maybeText('report_amount', row);
  return {
    outcome: OUTCOMES.find((known) => known === rows.text('outcome', row)) ?? 'UNPAID',
    cause: OUTCOME_CAUSES.find((known) => known === rows.maybeText('cause', row)) ?? null,
    occurredAt: rows.number('occurred_at', row),
    ...(rows.flag('undated', row) === true ? { undated: true } : {}),
    ...(amount === null ? {} : { amount }),
  };
}

function readBinding(rows: Rows, row: number): Binding | null {
  const requisiteRef = rows.maybeText('requisite_ref', row);
  if (requisiteRef === null) return null;
  // The part of a score's answer about a binding does not affect a verdict, so acceptor keys are not needed.
  const acceptorKeys: readonly string[] = [];
  return {
    requisiteRef,
    acceptorKeys,
    method: rows.maybeText('method', row),
    expiresAt: rows.maybeNumber('expires_at', row),
  };
}

function readOverride(rows: Rows, row: number, at: number): Override | null {
  const group = OVERRIDE_GROUPS.find((known) => known === rows.maybeText('override_group', row));
  if (group === undefined) return null;
  const [reason, by] = [rows.text('reason', row), rows.text('decided_by', row)];
  return { group, reason, by, at, expiresAt: rows.maybeNumber('expires_at', row) };
}

/** Reads a batch cell by cell. A column is read once, when the first row needs it. */
class Rows {
  readonly sharing: readonly SharingCountColumn[];
  readonly values: readonly ValueCountColumn[];
  readonly #batch: ResultBatch;
  readonly #cells = new Map<string, readonly BatchCell[]>();

  constructor(batch: ResultBatch) {
    this.#batch = batch;
    this.sharing = parseSharingColumnNames(batch.columns);
    this.values = parseValueCountColumns(batch.columns);
  }

  #cell(column: string, row: number): BatchCell {
    return this.#cells.getOrInsertComputed(column, () => this.#batch.cells(column))[row] ?? null;
  }

  maybeText(column: string, row: number): string | null {
    const cell = this.#cell(column, row);
    return typeof cell === 'string' ? cell : null;
  }

  text(column: string, row: number): string {
    return this.maybeText(column, row) ?? '';
  }

  maybeNumber(column: string, row: number): number | null {
    const cell = this.#cell(column, row);
    return typeof cell === 'number' ? cell : null;
  }

  number(column: string, row: number): number {
    return this.maybeNumber(column, row) ?? 0;
  }

  integer(column: string, row: number): bigint {
    const cell = this.#cell(column, row);
    return typeof cell === 'bigint' ? cell : 0n;
  }

  flag(column: string, row: number): boolean | null {
    const cell = this.#cell(column, row);
    return typeof cell === 'boolean' ? cell : null;
  }
}
