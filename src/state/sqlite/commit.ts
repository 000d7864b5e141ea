import { encodeClientState } from '../../client/state-document.ts';
import { journalText } from '../journal-text.ts';
import { type Change, RETENTION } from '../store.ts';
import type { Statements } from './statements.ts';

/** Writes all parts of a change inside the transaction that is open, or nothing when the state has changed. */
export function commitChange(sql: Statements, change: Change, nowMs: number): 'committed' | 'conflict' {
  if (!writeState(sql, change, nowMs)) return 'conflict';
  const { client, entry, decision, outcome, answer } = change;
  const written = journalText(entry);
  const recordUntilMs = nowMs + RETENTION.decisionMs;
  if (decision !== undefined) {
    const { seq, platform, orderRef, at } = decision;
    sql.putDecision.run(client.hash, seq, platform, orderRef, at, written, recordUntilMs);
  }
  if (outcome !== undefined) {
    const { orderRef, order } = outcome;
    sql.putOrder.run(client.hash, orderRef, JSON.stringify(order), recordUntilMs);
  }
  if (answer !== undefined) {
    const { idempotencyKey, stored } = answer;
    const answerUntilMs = nowMs + RETENTION.idempotencyMs;
    sql.putAnswer.run(client.hash, idempotencyKey, JSON.stringify(stored), answerUntilMs);
  }
  sql.putJournal.run(client.hash, written);
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
