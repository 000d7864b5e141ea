import { isAttempt } from '#decision/conclude-verdict.ts';
import type { Decision } from '#decision/decision.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import { classifyRememberedOrder, toShortHash } from '#decision/payer/client-state.ts';
import {
  type ArchivedOrder,
  type ClientOrder,
  type OrderStage,
  toAskedOrderStage,
} from '#decision/payer/order.ts';
import { findRecentOrder, hasOlderOrders } from '#decision/payer/outcomes.ts';
import { readClaimedArchiveId } from '#state/archive-register.ts';
import { RETENTION } from '#state/retention.ts';
import type { ClientFromStore, Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { ArchivedOrders } from './archived-orders.ts';

/**
 * Whether the newest decisions of an order all concern other clients of the platform. If so, the report names a payer
 * who never asked for the order.
 */
export async function isAskedOnlyByOthers(
  store: Pick<Store, 'decisionsOfOrder'>,
  { client, orderRef }: ClientOrder,
): Promise<boolean> {
  const decisions = await store.decisionsOfOrder(client.platform, orderRef);
  return decisions.length > 0 && decisions.every(({ clientIdKey }) => clientIdKey !== client.clientIdKey);
}

/**
 * Finds the outcome of an order and how far the order came. The sources are the client's state, then the store's
 * decisions, then the archive. A source is skipped if it cannot know the order, or if its answer would change
 * nothing. Throws StoreUnavailable if the answer needs an archive that this node does not have.
 */
export async function readOrderOutcomeAndStage(
  store: Pick<Store, 'decisionsOfOrder' | 'registers'>,
  asked: ClientOrder,
  { state, order }: Pick<ClientFromStore, 'state' | 'order'>,
  archivedOrders: Pick<ArchivedOrders, 'find'> | null,
): Promise<ArchivedOrder> {
  const { client, orderRef } = asked;
  const { events, outcomes, seq } = state;
  const known = findRecentOrder(outcomes, toShortHash(orderRef)) ?? order;
  const remembered = classifyRememberedOrder(events, toShortHash(orderRef));
  const isSettled = remembered === 'granted' || seq === events.length;
  const wantsStage = !isSettled && (known === null || known.turnedAway === true);
  const wantsOrder = known === null && hasOlderOrders(outcomes);
  const hot = wantsStage
    ? findOrderStage(await store.decisionsOfOrder(client.platform, orderRef), client)
    : remembered;
  const isEnough = !wantsOrder && (!wantsStage || hot === 'granted');
  const orderStage = pickFartherOrderStage(remembered, hot);
  if (isEnough) return { known, orderStage };
  if (archivedOrders === null) {
    const isUntold = orderStage === 'notAsked' && (await readClaimedArchiveId(store.registers)) !== null;
    if (isUntold) throw new StoreUnavailable(ELSEWHERE);
    return { known, orderStage };
  }
  const archived = await archivedOrders.find(asked);
  return {
    known: known ?? archived.known,
    orderStage: pickFartherOrderStage(orderStage, archived.orderStage),
  };
}

const ELSEWHERE =
  'this node has no archive, where others wrote whether the order was asked for; report it to a node that has one';

/**
 * Finds how far an order of a client came, by the newest decisions of the order, which may concern other clients too.
 * If there are as many decisions as a lookup returns, older ones may be missing. The order is then taken as granted,
 * so that nobody gets around the check by asking again and again.
 */
function findOrderStage(decisions: readonly Decision[], client: ClientKey): OrderStage {
  if (decisions.length >= RETENTION.decisionsPerOrder) return 'granted';
  const own = decisions.filter(({ clientIdKey }) => clientIdKey === client.clientIdKey);
  return own.length === 0 ? 'notAsked' : toAskedOrderStage(own.some(({ verdict }) => isAttempt(verdict)));
}

/** Returns the farther of two stages of an order. `granted` is the farthest, then `turnedAway`, then `notAsked`. */
function pickFartherOrderStage(a: OrderStage, b: OrderStage): OrderStage {
  if (a === 'granted' || b === 'granted') return 'granted';
  return a === 'notAsked' ? b : a;
}
