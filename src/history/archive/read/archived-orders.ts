import { type PlatformName, toClientNumberText } from '#decision/payer/client-key.ts';
import {
  type ArchivedOrder,
  addReport,
  type ClientOrder,
  forgetFailuresBeforeAttempt,
  type KnownOrder,
  type OrderStage,
  toAskedOrderStage,
} from '#decision/payer/order.ts';
import { IS_ATTEMPT_SQL } from '#history/archive/order-status.ts';
import { type BindAsPlaceholder, toBooleanOrNull, toTextOrNull } from '#history/archive/query-engine.ts';
import type { PickSegments, Snapshot } from '#history/archive/snapshot.ts';
import { JOURNAL_ORDER_SQL, toJournalEntry } from '#history/archive/tables.ts';
import { getRecordedOrderStage, type OutcomeEntry } from '#state/journal.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { selectRowsSql } from './decision-sql.ts';

/**
 * Returns what archive and journal know of orders of a platform. `among` picks the segments that may hold decisions
 * about these orders. Throws StoreUnavailable if a part cannot be read.
 */
export async function readArchivedOrders(
  past: Snapshot,
  platform: PlatformName,
  asked: readonly ClientOrder[],
  among: PickSegments,
  clientKeys: Store['clientKeys'],
): Promise<readonly ArchivedOrder[]> {
  const clients = new Set(asked.map(({ client }) => toClientNumberText(client.hash)));
  const orderRefs = new Set(asked.map(({ orderRef }) => orderRef));
  const where = (bind: BindAsPlaceholder) =>
    `client_hash IN (${[...clients].join(', ')}) AND order_ref IN (${[...orderRefs].map(bind).join(', ')})`;
  const known = await readKnownOrders(past, platform, where, clientKeys);
  const orderStages = await readOrderStages(past, platform, where, among);
  // The parts that cannot be read may hold the order in question.
  if (past.unreadable.length > 0)
    throw new StoreUnavailable('a part of the archive cannot be read, and the order may be there');
  return asked.map(({ client, orderRef }) => {
    const name = getOrderName(client.clientIdKey, orderRef);
    return { known: known.get(name) ?? null, orderStage: orderStages.get(name) ?? 'notAsked' };
  });
}

/** Reads what the reports say of orders, by the names of `getOrderName`. */
async function readKnownOrders(
  past: Snapshot,
  platform: PlatformName,
  where: (bind: BindAsPlaceholder) => string,
  clientKeys: Store['clientKeys'],
): Promise<ReadonlyMap<string, KnownOrder>> {
  const known = new Map<string, KnownOrder>();
  const rows = await past.rows(
    (source, bind) =>
      `${selectRowsSql(source('outcomes', { platform }), where(bind))} ORDER BY ${JOURNAL_ORDER_SQL}`,
  );
  for (const row of rows) {
    const entry = toJournalEntry('outcomes', row, clientKeys);
    if (entry?.kind !== 'outcome') continue;
    const name = getOrderName(entry.clientIdKey, entry.orderRef);
    known.set(name, addEntry(known.get(name) ?? null, entry));
  }
  return known;
}

/** Reads whether orders have an attempt, by the names of `getOrderName`. */
async function readOrderStages(
  past: Snapshot,
  platform: PlatformName,
  where: (bind: BindAsPlaceholder) => string,
  among: PickSegments,
): Promise<ReadonlyMap<string, OrderStage>> {
  const rows = await past.rows(
    (source, bind) =>
      `SELECT client_id_key, order_ref, bool_or(${IS_ATTEMPT_SQL}) AS granted FROM ${source('decisions', { platform })} WHERE ${where(bind)} GROUP BY ALL`,
    among,
  );
  const orderStages = new Map<string, OrderStage>();
  for (const row of rows) {
    const name = getOrderName(toTextOrNull(row['client_id_key']) ?? '', toTextOrNull(row['order_ref']) ?? '');
    orderStages.set(name, toAskedOrderStage(toBooleanOrNull(row['granted']) === true));
  }
  return orderStages;
}

/** Returns what is known of an order after one more report. */
function addEntry(
  before: KnownOrder | null,
  { order, report = order, amount = before?.amount, turnedAway }: OutcomeEntry,
): KnownOrder {
  const orderStage = getRecordedOrderStage(turnedAway);
  return addReport(forgetFailuresBeforeAttempt(before, orderStage), report, orderStage, amount);
}

function getOrderName(clientIdKey: string, orderRef: string): string {
  return JSON.stringify([clientIdKey, orderRef]);
}
