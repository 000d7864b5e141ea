import { html } from '#workbench/console/page/html.ts';

/** Where on this page decisions, a payer, or a version is shown. */

/** The decisions that fit, by the parameters of the API. */
export function toFound(filter: Readonly<Record<string, string>>) {
  return toPath('find', filter);
}

export function toOrder(orderRef: string) {
  return toFound({ orderRef });
}

export function toPayer(clientIdKey: string) {
  return toPath(`find/payer/${encodeURIComponent(clientIdKey)}`);
}

export function toDecision(decisionId: string) {
  return toPath(`find/decision/${encodeURIComponent(decisionId)}`);
}

/** A place, with words of its address; times are shown there in the zone in which they are shown here. */
export function toPath(path: string, query: Readonly<Record<string, string>> = {}) {
  const zone = new URLSearchParams(location.hash.split('?')[1]).get('zone');
  const words = new URLSearchParams({ ...query, ...(zone && { zone }) }).toString();
  return `#/${path}${words && `?${words}`}`;
}

export function toVersion(version: string, part = '', query: Readonly<Record<string, string>> = {}) {
  return toPath(`rules/${encodeURIComponent(version)}${part && `/${part}`}`, query);
}

/** The results of a rule of a version. `file`: like verdicts.yaml. */
export function toRule(version: string, file: string, name: string) {
  return toVersion(version, 'results', { rule: `${file.replace('.yaml', '')}/${name}` });
}

/** Orders, each leading to its decisions. */
export function sampleOrders(orders: readonly string[]) {
  return orders.map((orderRef) => html`<a class="sample" href=${toOrder(orderRef)}>${orderRef}</a>${' '}`);
}
