import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { encodeDecision } from '#decision/decision-record.ts';
import {
  type AskedAttribute,
  boundDeviceVerdicts,
  CLIENTS_ON_DEVICE_MAX,
  countClientWithMarks,
  type DeviceKind,
  groupCountsByName,
  type SharingCounts,
} from '#decision/facts/fact.ts';
import { type ClientKey, toClientNumber } from '#decision/payer/client-key.ts';
import { toToken } from '#decision/payer/client-state.ts';
import { encodeOrder } from '#decision/payer/order-text.ts';
import { addPaymentMark, encodeMarks } from '#decision/payer/sighting-marks.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';
import {
  findStepAhead,
  findStepRange,
  getStepNumber,
  VERDICT_STEPS,
  VERDICTS_OF_STEP_MAX,
} from '#decision/payer/verdict-steps.ts';
import { UNSETTLED_MS } from '#state/clock-jumps.ts';
import { encodeJournalRecord } from '#state/journal.ts';
import { RETENTION } from '#state/retention.ts';
import type { Change, SightingsAsk, Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import {
  type RecordReader,
  readSnapshot,
  type StoredRecord,
  toStoredAnswer,
  toTextOrNull,
} from '#state/stored-parts.ts';
import type { SqliteFile } from './open-file.ts';

const JOURNAL_ROWS =
  'SELECT journal.position, entry, coalesce(decisions.client, journal.client) AS client, record FROM journal LEFT JOIN decisions USING (position)';

type Prepare = (source: string) => StatementSync;

export type Statements = ReturnType<typeof prepareStatements>;

/** Prepared once for each open file. */
export function prepareStatements(db: DatabaseSync) {
  const sql = (source: string) => db.prepare(source);
  return {
    ...clientStatements(sql),
    ...sightingStatements(sql),
    ...decisionStatements(sql),
    ...journalStatements(sql),
    ...removingStatements(sql),
  };
}

/** States, outcomes of orders, and answers under an Idempotency-Key. */
function clientStatements(sql: Prepare) {
  return {
    state: sql('SELECT state FROM clients WHERE client = ? AND expires_at > ?'),
    // Only where there is none that is still valid.
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
    answer: sql('SELECT seq FROM answers WHERE client = ? AND idempotency_key = ? AND expires_at > ?'),
    putAnswer: sql(
      'INSERT INTO answers (client, idempotency_key, seq, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, expires_at = excluded.expires_at',
    ),
    removeClaim: sql('DELETE FROM claims WHERE platform = ? AND idempotency_key = ? AND expires_at <= ?'),
    claim: sql(
      'INSERT INTO claims (platform, idempotency_key, request_hash, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at WHERE claims.request_hash = excluded.request_hash',
    ),
    claimed: sql('SELECT request_hash FROM claims WHERE platform = ? AND idempotency_key = ?'),
  };
}

function sightingStatements(sql: Prepare) {
  return {
    putSighting: sql(
      // What a clock noted that was ahead does not stay ahead.
      `INSERT INTO sightings (device, client, at, expires_at, marks) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = iif(at > excluded.at + ${UNSETTLED_MS}, excluded.at, max(at, excluded.at)), expires_at = excluded.expires_at, marks = excluded.marks`,
    ),
    // The unpaid orders that are not asked for stay as they were noted.
    putMarkedSighting: sql(
      `INSERT INTO sightings (device, client, at, expires_at, marks) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = iif(at > excluded.at + ${UNSETTLED_MS}, excluded.at, max(at, excluded.at)), expires_at = excluded.expires_at, marks = excluded.marks | (marks & ~7)`,
    ),
    countVerdict: sql(
      `INSERT INTO device_verdicts (device, ring, step, verdicts, expires_at) VALUES (?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET verdicts = min(${VERDICTS_OF_STEP_MAX}, verdicts + 1), expires_at = excluded.expires_at`,
    ),
    trimVerdicts: sql('DELETE FROM device_verdicts WHERE device = ? AND ring = ? AND step <= ?'),
    verdictsSince: sql(
      'SELECT total(verdicts) AS verdicts FROM device_verdicts WHERE device = ? AND ring = ? AND step >= ? AND step < ?',
    ),
    trimSightings: sql(
      'DELETE FROM sightings WHERE device = ? AND client IN (SELECT client FROM sightings WHERE device = ? ORDER BY at DESC LIMIT -1 OFFSET ?)',
    ),
    countOthers: sql(
      'SELECT count(*) AS clients FROM sightings WHERE device = ? AND client <> ? AND at BETWEEN ? + 1 AND ?',
    ),
    countMarkedOthers: sql(
      'SELECT count(*) AS clients, total(marks & 1) AS paying, total(marks >> 1 & 1) AS unpaid, total(marks >> 2 & 1) AS blocked, total(marks >> 3) AS unpaidOrders FROM sightings WHERE device = ? AND client <> ? AND at BETWEEN ? + 1 AND ?',
    ),
    latestSightings: sql('SELECT device, marks FROM sightings WHERE client = ? AND at > ?'),
    markSighting: sql('UPDATE sightings SET marks = ? WHERE device = ? AND client = ?'),
  };
}

function decisionStatements(sql: Prepare) {
  return {
    putDecision: sql(
      'INSERT INTO decisions (position, client, seq, platform, order_ref, at, record, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    // Once for each rule set: the same id always has the same shape.
    putShape: sql('INSERT INTO shapes (id, shape) VALUES (?, ?) ON CONFLICT DO NOTHING'),
    shape: sql('SELECT shape FROM shapes WHERE id = ?'),
    /** What was shipped is kept no longer than decisions stay hot. */
    shortenDecision: sql(
      'UPDATE decisions SET expires_at = expires_at - ? WHERE position = ? AND expires_at > ?',
    ),
    decision: sql('SELECT client, record FROM decisions WHERE client = ? AND seq = ?'),
    decisionsOfOrder: sql(
      'SELECT client, record FROM decisions WHERE platform = ? AND order_ref = ? ORDER BY at DESC, seq DESC LIMIT ?',
    ),
    decisionsOfClient: sql(
      'SELECT client, record FROM decisions WHERE client = ? AND seq < ? ORDER BY seq DESC LIMIT ?',
    ),
  };
}

/** What was accepted and decided, what of it was lost, and erasures that the archive does not know of yet. */
function journalStatements(sql: Prepare) {
  return {
    putJournal: sql('INSERT INTO journal (client, entry) VALUES (?, ?)'),
    unshippedErasures: sql('SELECT position, entry FROM unshipped_erasures'),
    putUnshippedErasure: sql('INSERT INTO unshipped_erasures (position, entry) VALUES (?, ?)'),
    forgetErasureEntries: sql(
      'DELETE FROM journal WHERE position IN (SELECT position FROM unshipped_erasures WHERE position <= ?)',
    ),
    forgetErasures: sql('DELETE FROM unshipped_erasures WHERE position <= ?'),
    /** The oldest, when there are more than so many. */
    trimErasures: sql(
      'DELETE FROM unshipped_erasures WHERE position <= (SELECT position FROM unshipped_erasures ORDER BY position DESC LIMIT 1 OFFSET ?)',
    ),
    journal: sql(`${JOURNAL_ROWS} WHERE journal.position > ? ORDER BY journal.position LIMIT ?`),
    journalLength: sql(
      'SELECT (SELECT max(position) FROM journal) - (SELECT min(position) FROM journal) + 1 AS entries',
    ),
    newestCursor: sql('SELECT position FROM journal ORDER BY position DESC LIMIT 1 OFFSET ?'),
    journalEnd: sql("SELECT seq FROM sqlite_sequence WHERE name = 'journal'"),
    /** The oldest entries up to a position, as long as more than that many stay. */
    trimJournal: sql(
      'DELETE FROM journal WHERE position IN (SELECT position FROM journal WHERE position <= min(?, (SELECT max(position) FROM journal) - ?) ORDER BY position LIMIT ?) RETURNING position, entry',
    ),
    journalLoss: sql('SELECT entries, from_ms, to_ms FROM journal_loss WHERE last_position > ?'),
    addJournalLoss: sql(
      'INSERT INTO journal_loss (only, entries, from_ms, to_ms, last_position) VALUES (1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET entries = entries + excluded.entries, to_ms = max(to_ms, excluded.to_ms), last_position = excluded.last_position',
    ),
    forgetJournalLoss: sql('DELETE FROM journal_loss WHERE last_position <= ?'),
  };
}

/** For erasures and for the free pages of the file. */
function removingStatements(sql: Prepare) {
  return {
    // While the client's answers still tell which they are.
    eraseClaims: sql(
      'DELETE FROM claims WHERE platform = ? AND idempotency_key IN (SELECT idempotency_key FROM answers WHERE client = ?)',
    ),
    // While the client's decisions still tell which they are.
    eraseVerdicts: sql(
      'DELETE FROM journal WHERE position IN (SELECT position FROM decisions WHERE client = ?)',
    ),
    erase: ['clients', 'decisions', 'orders', 'answers', 'sightings', 'journal'].map((table) =>
      sql(`DELETE FROM ${table} WHERE client = ?`),
    ),
    freePages: sql('PRAGMA freelist_count'),
    pages: sql('PRAGMA page_count'),
  };
}

/** States of clients, what they answered under an Idempotency-Key, and who was seen on which device. */
export function sqliteClients(
  { clock, run, read, write }: SqliteFile,
  sql: Statements,
  reader: RecordReader,
): Pick<Store, 'load' | 'commit' | 'sightings' | 'notePayment' | 'claimIdempotencyKey'> {
  /** Shapes of records that this process has seen stored. */
  const storedShapes = new Set<string>();
  const answer = async (clientHash: string, idempotencyKey: string, now: number) => {
    const found = sql.answer.get(clientHash, idempotencyKey, now);
    if (found === undefined) return null;
    const row = sql.decision.get(clientHash, Number(found['seq']));
    if (row === undefined) throw new StoreUnavailable('the decision of a stored answer is missing');
    return toStoredAnswer(await reader.decision(storedRecord(row)));
  };
  const count = (ask: SightingsAsk) => ({
    fingerprint: countOn(sql, ask, 'fingerprint'),
    ip: countOn(sql, ask, 'ip'),
    ...(ask.attributes === undefined ? {} : { attributes: countWithValues(sql, ask, ask.attributes) }),
  });
  return {
    load: ({ hash }, { orderRef, idempotencyKey } = {}) =>
      run(async () => {
        const now = clock();
        const { state, order } = sql;
        const parts = {
          state: toTextOrNull(state.get(hash, now)?.['state']),
          order:
            orderRef === undefined
              ? null
              : toTextOrNull(order.get(hash, toToken(orderRef), now)?.['outcome']),
          answer: idempotencyKey === undefined ? null : await answer(hash, idempotencyKey, now),
        };
        return readSnapshot(parts, now);
      }),
    commit: async (change) => {
      const status = await write(() => commitChange(sql, change, storedShapes, clock()));
      if (status === 'committed' && change.shape !== undefined) storedShapes.add(change.shape.id);
      return status;
    },
    sightings: (ask) => {
      // A client that is on no device and has no value that is asked for is not noted.
      const isSeen = ask.fingerprint !== null || ask.ip !== null || ask.attributes !== undefined;
      if (!ask.record || !isSeen) return read(() => count(ask));
      return write(() => {
        const now = clock();
        noteOn(sql, ask, 'fingerprint', now);
        noteOn(sql, ask, 'ip', now);
        for (const { name, value } of ask.attributes ?? [])
          noteValue(sql, ask, holderOf(ask, name, value), now);
        return count(ask);
      });
    },
    notePayment: ({ client: { hash }, since, isUnpaid }) =>
      write(() => {
        for (const { device, marks } of sql.latestSightings.all(hash, since)) {
          const after = addPaymentMark(Number(marks), isUnpaid);
          if (after !== marks) sql.markSighting.run(after, String(device), hash);
        }
      }),
    claimIdempotencyKey: (platform, key, requestHash) =>
      write(() => {
        const now = clock();
        sql.removeClaim.run(platform, key, now);
        sql.claim.run(platform, key, requestHash, now + RETENTION.claimMs);
        return String(sql.claimed.get(platform, key)?.['request_hash']);
      }),
  };
}

/** Forgets all that a client has, inside the transaction that is open, and tells the journal. */
export function eraseRows(
  sql: Statements,
  { platform, hash }: Pick<ClientKey, 'platform' | 'hash'>,
  at: number,
) {
  sql.eraseClaims.run(platform, hash);
  sql.eraseVerdicts.run(hash);
  for (const statement of sql.erase) statement.run(hash);
  const text = encodeJournalRecord({ kind: 'erasure', at, platform, clientNumber: toClientNumber(hash) });
  const { lastInsertRowid } = sql.putJournal.run(null, text);
  sql.putUnshippedErasure.run(lastInsertRowid, text);
  sql.trimErasures.run(RETENTION.unshippedErasures);
}

/**
 * Writes all parts of a change inside the transaction that is open, or nothing when the state has changed. Shapes that
 * are known to be stored are not written again.
 */
function commitChange(
  sql: Statements,
  change: Change,
  storedShapes: ReadonlySet<string>,
  nowMs: number,
): 'committed' | 'conflict' {
  const entryText = encodeJournalRecord(change.entry);
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

function noteOn(sql: Statements, ask: SightingsAsk, kind: DeviceKind, nowMs: number): void {
  const device = deviceOf(ask, kind);
  if (device === null) return;
  const { notes } = ask.sharing[kind];
  const untilMs = nowMs + RETENTION.sightingMs;
  const bits = encodeMarks(ask.marks);
  if (notes.unpaidOrders) sql.putSighting.run(device, ask.client.hash, ask.at, untilMs, bits);
  else sql.putMarkedSighting.run(device, ask.client.hash, ask.at, untilMs, bits & 7);
  sql.trimSightings.run(device, device, CLIENTS_ON_DEVICE_MAX);
  if (!notes.verdicts || ask.isRepeated === true) return;
  for (const [ring, { kept }] of VERDICT_STEPS.entries()) {
    const step = getStepNumber(ring, ask.at);
    sql.countVerdict.run(device, ring, step, untilMs);
    sql.trimVerdicts.run(device, ring, step - kept);
  }
}

function countOn(sql: Statements, ask: SightingsAsk, kind: DeviceKind): ReadonlyMap<number, SharingCounts> {
  const device = deviceOf(ask, kind);
  if (device === null) return new Map();
  const { windowsMs, marks, verdictWindowsMs } = ask.sharing[kind];
  const verdicts = (windowMs: number, clients: number) => {
    if (!verdictWindowsMs.includes(windowMs)) return 0;
    const { ring, first } = findStepRange(windowMs, ask.at);
    const counted = sql.verdictsSince.get(device, ring, first, findStepAhead(ring, ask.at))?.['verdicts'];
    return boundDeviceVerdicts(Number(counted), clients);
  };
  const statement = marks.length === 0 ? sql.countOthers : sql.countMarkedOthers;
  return new Map(
    windowsMs.map((windowMs) => {
      const others = statement.get(device, ask.client.hash, ask.at - windowMs, ask.at + UNSETTLED_MS);
      const count = (name: keyof SharingCounts) => Number(others?.[name] ?? 0);
      const clients = Math.min(CLIENTS_ON_DEVICE_MAX, count('clients') + 1);
      const seen = {
        clients,
        verdicts: verdicts(windowMs, clients),
        paying: count('paying'),
        unpaid: count('unpaid'),
        blocked: count('blocked'),
        unpaidOrders: count('unpaidOrders'),
      };
      return [windowMs, countClientWithMarks(seen, ask.marks, marks)];
    }),
  );
}

/** Notes that a client has a value of an attribute. */
function noteValue(sql: Statements, { client, at }: SightingsAsk, holder: string, nowMs: number): void {
  sql.putSighting.run(holder, client.hash, at, nowMs + RETENTION.sightingMs, 0);
  sql.trimSightings.run(holder, holder, CLIENTS_ON_DEVICE_MAX);
}

function countWithValues(
  sql: Statements,
  ask: SightingsAsk,
  asked: readonly AskedAttribute[],
): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const { client, at } = ask;
  return groupCountsByName(
    asked.map(({ name, value, windowsMs }) => {
      const holder = holderOf(ask, name, value);
      const count = (windowMs: number) => {
        const others = sql.countOthers.get(holder, client.hash, at - windowMs, at + UNSETTLED_MS);
        return Math.min(CLIENTS_ON_DEVICE_MAX, Number(others?.['clients'] ?? 0) + 1);
      };
      return [name, new Map(windowsMs.map((windowMs) => [windowMs, count(windowMs)]))];
    }),
  );
}

/** What stands for a value of an attribute where devices stand. */
function holderOf({ client }: SightingsAsk, name: string, value: string): string {
  return `${client.platform}/attribute/${name}/${value}`;
}

/** A device belongs to one platform: the same phone on two platforms is two devices. */
function deviceOf({ client, ...ask }: SightingsAsk, kind: DeviceKind): string | null {
  const id = ask[kind];
  return id === null ? null : `${client.platform}/${kind}/${id}`;
}

export function storedRecord({ client, record }: Readonly<Record<string, unknown>>): StoredRecord {
  return { clientHash: String(client), text: String(record) };
}
