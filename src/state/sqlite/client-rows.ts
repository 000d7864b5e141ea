import type { DatabaseSync } from 'node:sqlite';
import { encodeDecision } from '#decision/decision-record.ts';
import { type ClientKey, toClientNumberText } from '#decision/payer/client-key.ts';
import { toShortHash } from '#decision/payer/client-state.ts';
import { encodeOrder } from '#decision/payer/order-text.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';
import { encodeJournalEntry } from '#state/journal.ts';
import { RETENTION } from '#state/retention.ts';
import type { Commit, Store } from '#state/store.ts';
import {
  decodeClientFromStore,
  type RecordReader,
  type StoredRecord,
  toAnswerToStore,
  toTextOrNull,
} from '#state/stored-parts.ts';
import type { JournalTable } from './journal-table.ts';
import type { SqliteFileAccess } from './open-file.ts';

export type ClientStatements = ReturnType<typeof prepareClientStatements>;

/** Prepares the statements about states, outcomes of orders, and requests with an Idempotency-Key. */
export function prepareClientStatements(db: DatabaseSync) {
  const sql = (source: string) => db.prepare(source);
  return {
    state: sql('SELECT state FROM clients WHERE client = ? AND expires_at > ?'),
    // Adds a state only if there is no valid one.
    addState: sql(
      'INSERT INTO clients (client, state, expires_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state, expires_at = excluded.expires_at WHERE clients.expires_at <= ?',
    ),
    replaceState: sql(
      'UPDATE clients SET state = ?, expires_at = ? WHERE client = ? AND state = ? AND expires_at > ?',
    ),
    order: sql('SELECT outcome FROM orders WHERE client = ? AND order_token = ? AND expires_at > ?'),
    putOrder: sql(
      'INSERT INTO orders (client, order_token, outcome, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET outcome = excluded.outcome, expires_at = excluded.expires_at',
    ),
    // A shape, which is the layout of decision records, is stored once for each rule set. The same id always has the
    // same shape.
    putShape: sql('INSERT INTO shapes (id, shape) VALUES (?, ?) ON CONFLICT DO NOTHING'),
    shape: sql('SELECT shape FROM shapes WHERE id = ?'),
    removeClaim: sql('DELETE FROM claims WHERE platform = ? AND idempotency_key = ? AND expires_at <= ?'),
    claim: sql(
      'INSERT INTO claims (platform, idempotency_key, request_hash, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at WHERE claims.request_hash = excluded.request_hash',
    ),
    claimed: sql('SELECT request_hash FROM claims WHERE platform = ? AND idempotency_key = ?'),
    answerClaim: sql(
      'UPDATE claims SET answer_position = ?, answer_expires_at = ? WHERE platform = ? AND idempotency_key = ?',
    ),
    answer: sql(
      'SELECT client, entry FROM claims JOIN journal ON position = answer_position WHERE platform = ? AND claims.idempotency_key = ? AND answer_expires_at > ? AND client = ?',
    ),
    forgetClaim: sql('DELETE FROM claims WHERE platform = ? AND idempotency_key = ?'),
    forget: ['clients', 'orders', 'sightings'].map((table) => sql(`DELETE FROM ${table} WHERE client = ?`)),
  };
}

/** Creates the part of the store that keeps the states of clients and the answers under an Idempotency-Key. */
export function createSqliteClients(
  { clock, run, write, writeUnsynced }: SqliteFileAccess,
  sql: ClientStatements,
  journal: JournalTable,
  reader: RecordReader,
): Pick<Store, 'load' | 'commit' | 'claimIdempotencyKey'> {
  /** The ids of record shapes that this process knows to be stored. */
  const storedShapes = new Set<string>();
  const answer = async ({ platform, hash }: ClientKey, idempotencyKey: string, now: number) => {
    const row = sql.answer.get(platform, idempotencyKey, now, hash);
    return row === undefined ? null : toAnswerToStore(await reader.decodeRecord(toStoredDecision(row)));
  };
  return {
    load: (client, { orderRef, idempotencyKey } = {}) =>
      run(async () => {
        const { hash } = client;
        const now = clock();
        const { state, order } = sql;
        const parts = {
          state: toTextOrNull(state.get(hash, now)?.['state']),
          order:
            orderRef === undefined
              ? null
              : toTextOrNull(order.get(hash, toShortHash(orderRef), now)?.['outcome']),
          answer: idempotencyKey === undefined ? null : await answer(client, idempotencyKey, now),
        };
        return decodeClientFromStore(parts, now);
      }),
    commit: async (change) => {
      const status = await write(() => commitChange(sql, journal, change, storedShapes, clock()));
      if (status === 'committed' && change.shape !== undefined) storedShapes.add(change.shape.id);
      return status;
    },
    // A claim is useless without its decision, so the claim is not synced. The commit of the decision brings claim
    // and decision to the disk.
    claimIdempotencyKey: (platform, key, requestHash) =>
      writeUnsynced(() => {
        const now = clock();
        sql.removeClaim.run(platform, key, now);
        sql.claim.run(platform, key, requestHash, now + RETENTION.claimMs);
        return String(sql.claimed.get(platform, key)?.['request_hash']);
      }),
  };
}

/**
 * Forgets everything about a client, within the open transaction, and appends the erasure to the journal. Returns the
 * entry and its position.
 */
export function eraseClient(
  sql: ClientStatements,
  journal: JournalTable,
  { platform, hash }: Pick<ClientKey, 'platform' | 'hash'>,
  at: number,
): { readonly position: number; readonly entry: string } {
  const entry = encodeJournalEntry({ kind: 'erasure', at, platform, clientNumber: toClientNumberText(hash) });
  const position = journal.append(at, null, entry);
  for (const key of journal.erase(hash)) sql.forgetClaim.run(platform, key);
  for (const statement of sql.forget) statement.run(hash);
  return { position, entry };
}

/**
 * Writes all parts of a change within the open transaction. Writes nothing if the state has changed since it was
 * read. Shapes that are known to be stored are not written again.
 */
function commitChange(
  sql: ClientStatements,
  journal: JournalTable,
  change: Commit,
  storedShapes: ReadonlySet<string>,
  nowMs: number,
): 'committed' | 'conflict' {
  if (!writeState(sql, change, nowMs)) return 'conflict';
  const { client, entry, decision, shape, displaced, idempotencyKey = null } = change;
  for (const order of displaced?.orders ?? [])
    sql.putOrder.run(client.hash, order.token, encodeOrder(order), nowMs + (displaced?.keptMs ?? 0));
  if (decision === undefined) {
    journal.append(nowMs, client.hash, encodeJournalEntry(entry));
    return 'committed';
  }
  if (shape !== undefined && !storedShapes.has(shape.id)) sql.putShape.run(shape.id, shape.text);
  const record = encodeDecision(decision, shape);
  const position = journal.appendDecision(nowMs, decision, client.hash, record, idempotencyKey);
  if (idempotencyKey !== null)
    sql.answerClaim.run(position, nowMs + RETENTION.idempotencyMs, client.platform, idempotencyKey);
  return 'committed';
}

/** Writes the next state. Returns false if the state is no longer the one that was read. */
function writeState(sql: ClientStatements, { client, stamp, state }: Commit, nowMs: number): boolean {
  const next = encodeClientState(state);
  const untilMs = nowMs + RETENTION.stateMs;
  const { changes } =
    stamp.raw === null
      ? sql.addState.run(client.hash, next, untilMs, nowMs)
      : sql.replaceState.run(next, untilMs, client.hash, stamp.raw, nowMs);
  return changes !== 0;
}

/** Returns the stored record of a decision's row in the journal. */
export function toStoredDecision({ client, entry }: Readonly<Record<string, unknown>>): StoredRecord {
  return { clientHash: String(client), text: String(entry) };
}
