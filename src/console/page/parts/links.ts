import { html } from '../html.ts';

/** Where on this page an order, a client, a decision or a version is shown. */

export function toOrder(orderRef: string) {
  return `#/decisions?orderRef=${encodeURIComponent(orderRef)}`;
}

export function toClient(clientIdKey: string) {
  return `#/payers/${encodeURIComponent(clientIdKey)}`;
}

export function toDecision(decisionId: string) {
  return `#/decisions/${encodeURIComponent(decisionId)}`;
}

/** A place, with words of its address. */
export function toPath(path: string, query: Readonly<Record<string, string>> = {}) {
  const words = new URLSearchParams(query).toString();
  return `#/${path}${words && `?${words}`}`;
}

export function toVersion(version: string, part = '', query: Readonly<Record<string, string>> = {}) {
  return toPath(`rules/${encodeURIComponent(version)}${part && `/${part}`}`, query);
}

/** What a rule of a version was worth. `file`: like verdicts.yaml. */
export function toRule(version: string, file: string, name: string) {
  return toVersion(version, `evidence/${file.replace('.yaml', '')}/${name}`);
}

/** Orders, each leading to its decisions. */
export function SampleOrders({ orders }: { orders: readonly string[] }) {
  return orders.map((orderRef) => html`<a class="sample" href=${toOrder(orderRef)}>${orderRef}</a>${' '}`);
}
