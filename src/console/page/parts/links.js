import { html } from '../html.js';

/** Where on this page an order, a client or a decision is shown. */

/** @param {string} orderRef */
export function toOrder(orderRef) {
  return `#/decisions?orderRef=${encodeURIComponent(orderRef)}`;
}

/** @param {string} clientIdKey */
export function toClient(clientIdKey) {
  return `#/client/${encodeURIComponent(clientIdKey)}`;
}

/** @param {string} decisionId */
export function toDecision(decisionId) {
  return `#/decisions/${encodeURIComponent(decisionId)}`;
}

/**
 * Orders, each leading to its decisions.
 * @param {{ orders: readonly string[] }} props
 */
export function SampleOrders({ orders }) {
  return orders.map((orderRef) => html`<a class="sample" href=${toOrder(orderRef)}>${orderRef}</a>${' '}`);
}
