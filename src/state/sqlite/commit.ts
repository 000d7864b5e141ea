import { encodeOrder } from '../../client/order-row.ts';
import { encodeClientState } from '../../client/state-document.ts';
import { encodeDecision } from '../../decision/decision-record.ts';
import { journalText } from '../journal/text.ts';
import { RETENTION } from '../retention.ts';
import type { Change } from '../store.ts';
import type { Statements } from './statements.ts';

/**
 * Writes all parts of a change inside the transaction that is open, or nothing when the state has changed. Shapes that
 * are known to be stored are not written again.
 */
export function commitChange(
  sql: Statements,
  change: Change,
  storedShapes: ReadonlySet<string>,
  nowMs: number,
): 'committed' | 'conflict' {
  const entryText = journalText(change.entry);
  if (!writeState(sql, change, nowMs)) return 'conflict';
  const { client, decision, shape, displaced, idempotencyKey } = change;
  const recordUntilMs = nowMs + RETENTION.decisionMs;
  const { lastInsertRowid } = sql.putJournal.run(decision === undefined ? client.hash : null, entryText);
  if (decision !== undefined) {
    const { seq, platform, orderRef, at } = decision;
    if (shape !== undefined && !storedShapes.has(shape.id)) sql.putShape.run(shape.id, shape.text);
    const record = encodeDecision(decision, shape);
    sql.putDecision.run(lastInsertRowid, client.hash, seq, platform, orderRef, at, record, recordUntilMs);
    if (idempotencyKey !== undefined)
      sql.putAnswer.run(client.hash, idempotencyKey, seq, nowMs + RETENTION.idempotencyMs);
  }
  for (const order of displaced?.orders ?? [])
    sql.putOrder.run(client.hash, order.token, encodeOrder(order), nowMs + (displaced?.keptMs ?? 0));
  return 'committed';
}

/** False when the state is no longer what was read. */
function writeState(sql: Statements, { client, stamp, state }: Change, nowMs: number): boolean {
  const next = encodeClientState(state);
  const untilMs = nowMs + RETENTION.stateMs;
  const { changes } =
    stamp.raw === null
      ? sql.addState.run(client.hash, next, untilMs, nowMs)
      : sql.replaceState.run(next, untilMs, client.hash, stamp.raw, nowMs);
  return changes !== 0;
}
