import { html } from '../../html.js';
import { FATES, intervalText, OrdersBar, sumOf } from '../../parts/evidence/orders.js';
import { count, share } from '../../parts/format.js';
import { numbers, Table } from '../../parts/table.js';
import { Figures } from '../../parts/verdict.js';

/** @import { OrderCounts, RuleReport, RulesReport } from '../../answers.d.ts' */

/**
 * All that is known of a rule: money, what came after its waits, its days, and the way to its orders.
 * @param {{ rule: RuleReport, report: RulesReport }} props
 */
export function OpenedRule({ rule, report }) {
  const { afterWait, by = [] } = rule;
  return html`<div class="opened-rule">
    <${Counts} rule=${rule} />
    <${Money} rule=${rule} />
    ${
      afterWait &&
      html`<p>
        Told to wait: <b class="num">${count(afterWait.orders)}</b> orders. Their client was granted a
        requisite later for <b class="num">${count(afterWait.granted)}</b> of them
        (${share(afterWait.granted, afterWait.orders)}), and
        <b class="num">${' '}${count(afterWait.paid)}</b> of these were paid
        (${share(afterWait.paid, afterWait.orders)} of all).
      </p>`
    }
    <${Ways} rule=${rule} report=${report} />
    ${by.length > 1 && html`<${Slices} name=${report.by ?? 'slice'} slices=${by} />`}
  </div>`;
}

/** @param {{ rule: RuleReport }} props */
function Counts({ rule: { orders, matched, decided, sole, lift } }) {
  const items = [
    ...FATES.map(({ name }) => [name, count(orders[name])]),
    ['matched decisions', count(matched)],
    ['decided', count(decided)],
    ['sole: without it another answer', sole === null ? '–' : count(sole)],
    ['lift over all', lift === null ? '–' : lift.toFixed(2)],
  ];
  return html`<${Figures} items=${items} />`;
}

/** @param {{ rule: RuleReport }} props */
function Money({ rule: { amount, name } }) {
  const currencies = Object.entries(amount);
  if (currencies.length === 0) return null;
  return html`<${Table} name=${`Amounts of ${name}`} columns=${['', ...numbers('paid', 'unpaid', 'unknown')]}>
    ${currencies.map(
      ([currency, sums]) => html`<tr>
        <th scope="row">${currency}</th>
        ${FATES.map((fate) => html`<td class="num">${money(sums[fate.name])}</td>`)}
      </tr>`,
    )}
  <//>`;
}

/**
 * As the commands print it: a sum below 1 keeps up to nine decimals, for currencies whose single unit is
 * worth much.
 * @param {number} sum
 */
function money(sum) {
  return sum.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: sum < 1 ? 9 : 2 });
}

/** @param {{ rule: RuleReport, report: RulesReport }} props */
function Ways({ rule: { file, name }, report }) {
  const member = memberOf(file);
  if (member === null) return null;
  const to = (/** @type {[string, string][]} */ ...more) =>
    `#/decisions?${new URLSearchParams([[member, name], ['ruleVersion', report.version], ...more])}`;
  return html`<p>
    Its decisions: <a href=${to()}>all</a>, with orders
    ${FATES.map(({ name: fate }) => html` <a href=${to(['outcome', fate.toUpperCase()])}>${fate}</a>`)}
  </p>`;
}

/**
 * How decisions of a rule of a file are asked for; groups are not recorded by their rule.
 * @param {string} file
 */
function memberOf(file) {
  if (file === 'verdicts.yaml') return 'rule';
  return file === 'bot-signals.yaml' ? 'signal' : null;
}

/** @param {{ name: string, slices: NonNullable<RuleReport['by']> }} props */
function Slices({ name, slices }) {
  const most = Math.max(...slices.map(({ orders }) => sumOf(orders)));
  const columns = [name, 'orders', ...numbers('paid', 'unpaid', 'unknown', 'matched'), 'unpaid share, 95 %'];
  return html`<${Table} name=${`By ${name}`} columns=${columns}>
    ${slices.map(
      ({ slice, orders, matched, unpaidShare }) => html`<tr>
        <th scope="row" class="when">${slice}</th>
        <td class="roomy"><${OrdersBar} orders=${orders} most=${most} /></td>
        ${cells(orders)}
        <td class="num">${count(matched)}</td>
        <td class="num when">${intervalText(unpaidShare)}</td>
      </tr>`,
    )}
  <//>`;
}

/** @param {OrderCounts} orders */
function cells(orders) {
  return FATES.map(({ name }) => html`<td class="num">${count(orders[name])}</td>`);
}
