import { clientNumber } from '../../client/client-key.ts';
import type { DecisionFilter, DecisionPosition } from '../../decision/decision-filter.ts';
import { quote } from '../duck.ts';

/** SQL: that a decision fits, as `fitsFilter` says. */
export function filterCondition({
  verdict,
  rule,
  ruleVersion,
  clientGroup,
  signal,
  sellPointKey,
  method,
  arm,
  amountMin,
  amountMax,
  from,
  to,
  after,
}: DecisionFilter): string {
  return [
    'true',
    ...(verdict === undefined ? [] : [`verdict = ${quote(verdict)}`]),
    ...(rule === undefined ? [] : [`rule = ${quote(rule)}`]),
    ...(ruleVersion === undefined ? [] : [`rule_version = ${quote(ruleVersion)}`]),
    ...(clientGroup === undefined ? [] : [`client_group = ${quote(clientGroup)}`]),
    ...(signal === undefined ? [] : [`list_contains(signals, ${quote(signal)})`]),
    ...(sellPointKey === undefined ? [] : [`sell_point_key = ${quote(sellPointKey)}`]),
    ...(method === undefined ? [] : [`fact_method = ${quote(method)}`]),
    ...(arm === undefined ? [] : [`arm = ${quote(arm)}`]),
    ...(amountMin === undefined ? [] : [`fact_amount >= ${amountMin}`]),
    ...(amountMax === undefined ? [] : [`fact_amount <= ${amountMax}`]),
    ...(from === undefined ? [] : [`decided_at >= make_timestamp_ms(${from})`]),
    ...(to === undefined ? [] : [`decided_at < make_timestamp_ms(${to})`]),
    ...(after === undefined ? [] : [afterSql(after)]),
  ].join(' AND ');
}

/** What `isAfter` says, in SQL. */
function afterSql({ at, clientHash, seq }: DecisionPosition): string {
  const [time, client] = [`make_timestamp_ms(${at})`, clientNumber(clientHash)];
  const sameTime = `client_hash < ${client} OR (client_hash = ${client} AND seq < ${seq})`;
  return `(decided_at < ${time} OR (decided_at = ${time} AND (${sameTime})))`;
}
