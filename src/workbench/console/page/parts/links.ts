import { html } from '#workbench/console/page/html.ts';
import { renderSafeName } from './name.ts';

/** Addresses within the console: of decisions, payers and versions. */

/** Returns the address of the decisions that match a filter. `filter` has the query parameters of the API. */
export function toDecisionsPath(filter: Readonly<Record<string, string>>) {
  return toConsolePath('find', filter);
}

export function toOrderDecisionsPath(orderRef: string) {
  return toDecisionsPath({ orderRef });
}

export function toPayerPath(clientIdKey: string) {
  return toConsolePath(`find/payer/${encodeURIComponent(clientIdKey)}`);
}

export function toDecisionPath(decisionId: string) {
  return toConsolePath(`find/decision/${encodeURIComponent(decisionId)}`);
}

/**
 * Returns the address of a place with query parameters. The place then shows times in the same zone as the
 * present page.
 */
export function toConsolePath(path: string, query: Readonly<Record<string, string>> = {}) {
  const zone = new URLSearchParams(location.hash.split('?')[1]).get('zone');
  const words = new URLSearchParams({ ...query, ...(zone && { zone }) }).toString();
  return `#/${path}${words && `?${words}`}`;
}

export function toVersionPath(version: string, part = '', query: Readonly<Record<string, string>> = {}) {
  return toConsolePath(`rules/${encodeURIComponent(version)}${part && `/${part}`}`, query);
}

/**
 * Returns the address of the results of a rule of a version. `file` is the name of a rule file, like
 * verdicts.yaml.
 */
export function toRuleResultsPath(version: string, file: string, name: string) {
  return toVersionPath(version, 'results', { rule: `${file.replace('.yaml', '')}/${name}` });
}

/** Renders orders, each with a link to its decisions. */
export function renderSampleOrders(orders: readonly string[]) {
  return orders.map(
    (orderRef) =>
      html`<a class="sample" href=${toOrderDecisionsPath(orderRef)}>${renderSafeName(orderRef)}</a>${' '}`,
  );
}
