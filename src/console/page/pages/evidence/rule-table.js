import { html, useState } from '../../html.js';
import { IntervalBar, OrdersBar, sumOf } from '../../parts/evidence/orders.js';
import { count } from '../../parts/format.js';
import { numbers, sorted, Table, useSort } from '../../parts/table.js';
import { OpenedRule } from './opened-rule.js';
import { Trend } from './trend.js';

/** @import { RuleReport, RulesReport } from '../../answers.d.ts' */

const COLUMNS = [
  'rule',
  'orders: paid, unpaid, turned away, unknown',
  ...numbers('orders', 'matched', 'decided', 'sole'),
  { name: 'unpaid share, 95 %', kind: /** @type {const} */ ('num') },
  ...numbers('lift'),
  { name: 'trend', kind: /** @type {const} */ ('unsorted') },
];

/**
 * The rules of a file, each with its orders, and each opening to more.
 * @param {{ file: string, rules: readonly RuleReport[], report: RulesReport }} props
 */
export function RuleTable({ file, rules, report }) {
  const [opened, setOpened] = useState(/** @type {string | null} */ (null));
  const most = Math.max(...rules.map(({ orders }) => sumOf(orders)));
  const sort = useSort(`Rules of ${file}`);
  return html`<${Table} name=${`Rules of ${file}`} columns=${COLUMNS} kind="rule-figures" sort=${sort}>
    ${sorted(rules, sort, cellOf).map((rule) => {
      const isOpen = opened === rule.name;
      const toggle = () => setOpened(isOpen ? null : rule.name);
      return html`<${Row} key=${rule.name} ...${{ rule, report, most, isOpen, toggle }} />
        ${
          isOpen &&
          html`<tr>
            <td colspan="9" class="line"><${OpenedRule} rule=${rule} report=${report} /></td>
          </tr>`
        }`;
    })}
  <//>`;
}

/**
 * What a rule is sorted by in a column.
 * @param {RuleReport} rule
 * @param {number} place
 */
function cellOf({ name, orders, matched, decided, sole, unpaidShare, lift }, place) {
  const values = [
    name,
    sumOf(orders),
    sumOf(orders),
    matched,
    decided,
    sole,
    unpaidShare?.value ?? null,
    lift,
  ];
  return values[place] ?? null;
}

/**
 * @param {{ rule: RuleReport, report: RulesReport, most: number, isOpen: boolean, toggle: () => void }} props
 */
function Row({ rule, report, most, isOpen, toggle }) {
  const { name, orders, matched, decided, sole, unpaidShare, lift, by = [] } = rule;
  const days = report.by === 'day' || report.by === 'week' ? by : [];
  const expanded = { 'aria-expanded': isOpen ? 'true' : 'false' };
  return html`<tr>
    <th scope="row">
      <button type="button" class="opener" ...${expanded} onClick=${toggle}>${name}</button>
    </th>
    <td class="line"><${OrdersBar} orders=${orders} most=${most} /></td>
    <td class="num">${count(sumOf(orders))}</td>
    <td class="num extra">${count(matched)}</td>
    <td class="num extra">${count(decided)}</td>
    <td class="num extra">${sole === null ? '–' : count(sole)}</td>
    <td class="share line"><${IntervalBar} interval=${unpaidShare} all=${report.unpaidShare} /></td>
    <td class="num extra">${lift === null ? '–' : lift.toFixed(2)}</td>
    <td class="extra"><${Trend} slices=${days} /></td>
  </tr>`;
}
