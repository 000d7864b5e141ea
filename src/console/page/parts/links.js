import { html } from '../html.js';

/** Where on this page an order, a client, a decision or a version is shown. */

/** @param {string} orderRef */
export function toOrder(orderRef) {
  return `#/decisions?orderRef=${encodeURIComponent(orderRef)}`;
}

/** @param {string} clientIdKey */
export function toClient(clientIdKey) {
  return `#/payers/${encodeURIComponent(clientIdKey)}`;
}

/** @param {string} decisionId */
export function toDecision(decisionId) {
  return `#/decisions/${encodeURIComponent(decisionId)}`;
}

/**
 * @param {string} version
 * @param {string} [part] of it
 * @param {Readonly<Record<string, string>>} [query]
 */
export function toVersion(version, part = '', query = {}) {
  const words = new URLSearchParams(query).toString();
  return `#/rules/${encodeURIComponent(version)}${part && `/${part}`}${words && `?${words}`}`;
}

/**
 * What a rule of a version was worth.
 * @param {string} version
 * @param {string} file like verdicts.yaml
 * @param {string} name
 */
export function toRule(version, file, name) {
  return toVersion(version, `evidence/${file.replace('.yaml', '')}/${name}`);
}

/** Orders, each leading to its decisions. @param {{ orders: readonly string[] }} props */
export function SampleOrders({ orders }) {
  return orders.map((orderRef) => html`<a class="sample" href=${toOrder(orderRef)}>${orderRef}</a>${' '}`);
}
