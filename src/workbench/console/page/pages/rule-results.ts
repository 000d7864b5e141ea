import { h, html, useState } from '#workbench/console/page/html.ts';
import {
  countAllOrders,
  EvidenceTableView,
  formatCell,
  ORDER_STATUSES,
  renderEvidenceTables,
  renderIntervalBar,
  renderNotes,
  renderOrdersBar,
  renderStatusLegend,
} from '#workbench/console/page/parts/evidence.ts';
import { formatPercent, groupDigits } from '#workbench/console/page/parts/format.ts';
import { toDecisionsPath, toVersionPath } from '#workbench/console/page/parts/links.ts';
import { renderEmpty } from '#workbench/console/page/parts/notice.ts';
import { declareNumberColumns, renderTable, sortRows, useSort } from '#workbench/console/page/parts/table.ts';
import type { ShownTime } from '#workbench/console/page/parts/time-span.ts';
import { renderFigures } from '#workbench/console/page/parts/verdict.ts';
import type { EvidenceTable, RulesReport, RuleWorth } from '#workbench/console/page/questions.ts';

/**
 * Renders the outcomes of the orders that each rule matched. `rule` names a single rule to show, like
 * `verdicts/attempt-unpaid`. It is empty for all rules.
 */
export function renderOutcomesByRule(
  report: RulesReport,
  version: string,
  rule: string,
  words: ShownTime['parameters'],
) {
  const { orders, rules, unpaidShare, notes, tables } = report;
  if (report.decisions === 0) return renderNotes(notes);
  const isShown = (one: RuleWorth) => rule === '' || `${one.file.replace('.yaml', '')}/${one.name}` === rule;
  const shown = rules.filter((one) => one.matched > 0 && isShown(one));
  const ofAll = tables.filter(({ name }) => OF_MONEY.includes(name));
  const ofFlags = tables.filter(({ name }) => name === 'flags');
  const figures = [
    ['orders', groupDigits(countAllOrders(orders))],
    ...ORDER_STATUSES.map(({ name, words: status }) => [status, groupDigits(orders[name])] as const),
    [
      'unpaid share',
      unpaidShare === null ? '–' : formatPercent(100 * unpaidShare.value),
      formatRange(unpaidShare),
    ],
  ] as const;
  return html`
    ${renderFigures(figures)}
    ${rule !== '' && html`<p><a href=${toVersionPath(version, 'results', words)}>← All rules</a></p>`}
    ${shown.length === 0 && renderEmpty('No match', 'The rule matched none of these decisions.')}
    ${renderStatusLegend()}
    ${[...Map.groupBy(shown, ({ file }) => file)].map(
      ([file, some]) => html`<details class="card" key=${`${file} ${rule}`} open=${isAsked(file, rule)}>
        <summary><h2>${file}</h2></summary>
        ${h(RuleTable, { file, rules: some, report, opened: rule.split('/')[1] ?? null })}
      </details>`,
    )}
    ${rule === '' && renderEvidenceTables(ofFlags, true, toFlagDecisions)}
    <details class="card">
      <summary><h2>How to read it</h2></summary>
      ${renderNotes(notes)}
    </details>
    ${rule === '' && renderEvidenceTables(ofAll, false)}`;
}

function formatRange(share: RulesReport['unpaidShare']) {
  return share === null
    ? ''
    : `${(100 * share.low).toFixed(1)} to ${formatPercent(100 * share.high)}, of known outcomes`;
}

/**
 * Returns the address of the decisions beside which the flag of a row was recorded. Returns null for the
 * last row, which stands for decisions without a flag.
 */
function toFlagDecisions([flag, decisions]: EvidenceTable['rows'][number]) {
  return typeof flag === 'string' && typeof decisions === 'number' && decisions > 0
    ? toDecisionsPath({ flag })
    : null;
}

/**
 * Whether the rules of a file are shown at first. This holds for the rules of verdicts, and for a rule
 * that the address names.
 */
function isAsked(file: string, rule: string) {
  return file === 'verdicts.yaml' || rule !== '';
}

/** The names of the tables that stand, closed, at the end of the page. */
const OF_MONEY = ['money', 'sliceMoney', 'ruleMoney', 'waitLevels'];

const COLUMNS = [
  'rule',
  'orders by outcome',
  ...declareNumberColumns('orders', 'matched', 'decided', 'decisive'),
  ...declareNumberColumns('unpaid share, 95 %', 'lift', 'net value'),
  { name: 'trend', kind: 'unsorted' as const },
];

interface RuleTableProps {
  file: string;
  rules: readonly RuleWorth[];
  report: RulesReport;
  opened: string | null;
}

/** A table of the rules of a file with their orders. A row can be opened, and then shows more. */
function RuleTable({ file, rules, report, opened: openedAtFirst }: RuleTableProps) {
  const [opened, setOpened] = useState(openedAtFirst);
  const most = Math.max(...rules.map(({ orders }) => countAllOrders(orders)));
  const sort = useSort(`Rules of ${file}`);
  return renderTable({
    name: `Rules of ${file}`,
    columns: COLUMNS,
    kind: 'rule-figures',
    sort,
    drawn: sortRows(rules, sort, getSortValue).map((rule) => {
      const isOpen = opened === rule.name;
      const toggle = () => setOpened(isOpen ? null : rule.name);
      return html`${renderRow(rule, report, most, isOpen, toggle)}
        ${
          isOpen &&
          html`<tr>
            <td colspan="10" class="line">${renderOpenedRule(rule, report)}</td>
          </tr>`
        }`;
    }),
  });
}

/** Returns the value of a rule by which a column is sorted. */
function getSortValue(rule: RuleWorth, place: number) {
  const { name, orders, matched, decided, decisive, unpaidShare, lift, net } = rule;
  const all = countAllOrders(orders);
  const cells = [name, all, all, matched, decided, decisive, unpaidShare?.value, lift, net?.value?.value];
  return cells[place] ?? null;
}

function renderRow(rule: RuleWorth, report: RulesReport, most: number, isOpen: boolean, toggle: () => void) {
  const { name, orders, matched, decided, decisive, unpaidShare, lift, by = [] } = rule;
  const days = report.by === 'day' || report.by === 'week' ? by : [];
  const expanded = { 'aria-expanded': isOpen ? 'true' : 'false' };
  return html`<tr key=${name}>
    <th scope="row">
      <button type="button" class="opener" ...${expanded} onClick=${toggle}>${name}</button>
    </th>
    <td class="line">${renderOrdersBar(orders, most)}</td>
    <td class="num" data-of="orders">${groupDigits(countAllOrders(orders))}</td>
    <td class="num roomy">${groupDigits(matched)}</td>
    <td class="num roomy">${groupDigits(decided)}</td>
    <td class="num roomy">${decisive === null ? '–' : groupDigits(decisive)}</td>
    <td class="share line">${renderIntervalBar(unpaidShare, report.unpaidShare)}</td>
    <td class="num roomy">${lift === null ? '–' : lift.toFixed(2)}</td>
    <td class="num" data-of="net value">${formatNetValue(rule)}</td>
    <td class="roomy">${renderTrend(days)}</td>
  </tr>`;
}

/**
 * Formats the net value (what a rule changed in money, measured by its holdout or by a trial) with the
 * currencies that it leaves out, or why it is not known.
 */
function formatNetValue({ holdout, net, unrated }: RuleWorth): string {
  if (net === null) return holdout === null ? 'not known: needs a holdout' : 'not known yet';
  const without = unrated === null ? '' : `, without ${Object.keys(unrated.amounts).join(', ')}`;
  return `${formatCell(net.value, 'money')} ${net.currency}${without}`;
}

/**
 * Renders everything that is known of a rule: its rows of every table that names rules by file, and the
 * link to its orders.
 */
function renderOpenedRule(rule: RuleWorth, report: RulesReport) {
  const tables = report.tables.flatMap((table) => selectRowsOfRule(table, rule));
  return html`<div class="opened-rule">
    ${renderRuleLinks(rule, report)}
    ${tables.map(
      (table) => html`<h3>${table.title}</h3>
        ${h(EvidenceTableView, { table: { ...table, title: `${table.title} of ${rule.name}` } })}`,
    )}
  </div>`;
}

/** Selects the rows about a rule, without its file and name. */
function selectRowsOfRule(table: EvidenceTable, { file, name }: RuleWorth) {
  const rows = table.name === 'rules' ? [] : table.rows.filter((row) => row[0] === file && row[1] === name);
  if (rows.length === 0) return [];
  return [{ ...table, columns: table.columns.slice(2), rows: rows.map((row) => row.slice(2)) }];
}

/** The outcomes by which decisions can be searched. */
const REPORTED = ['paid', 'unpaid', 'unknown'];

function renderRuleLinks({ file, name }: RuleWorth, report: RulesReport) {
  const text = html`<a href=${toVersionPath(report.version, '', { file, rule: name })}>Text of the rule</a>`;
  const member = getSearchMember(file);
  if (member === null) return html`<p>${text}</p>`;
  const to = (...more: [string, string][]) =>
    `#/find?${new URLSearchParams([[member, name], ['ruleVersion', report.version], ...more])}`;
  return html`<p>
    ${text} · Its decisions: <a href=${to()}>all</a>${REPORTED.map(
      (status) => html`, <a href=${to(['outcome', status.toUpperCase()])}>${status}</a>`,
    )}
  </p>`;
}

/**
 * Returns the search parameter that finds the decisions of a rule in this file. Returns null for other files:
 * decisions do not record which rule gave the group.
 */
function getSearchMember(file: string) {
  if (file === 'verdicts.yaml') return 'rule';
  return file === 'bot-signals.yaml' ? 'signal' : null;
}

const HEIGHT = 22;
const STEP = 4;

/**
 * Renders the orders of each day or week as small columns of paid, unpaid and unknown. A rule that is
 * opened shows figures as well.
 */
function renderTrend(slices: NonNullable<RuleWorth['by']>) {
  const most = Math.max(0, ...slices.map(({ orders }) => countAllOrders(orders)));
  if (most === 0 || slices.length < 2) return html`<span class="faint">–</span>`;
  const width = slices.length * STEP;
  const size = { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` };
  return html`<svg aria-hidden="true" ...${size}>
    ${slices.map((slice, index) => renderTrendColumn(slice, index * STEP, most))}
  </svg>`;
}

function renderTrendColumn({ orders }: NonNullable<RuleWorth['by']>[number], x: number, most: number) {
  let top = HEIGHT;
  return ORDER_STATUSES.map(({ name, color }) => {
    const height = (HEIGHT * orders[name]) / most;
    top -= height;
    const place = { x, y: top, width: STEP - 1, height };
    return html`<rect ...${place} style=${{ fill: `var(${color})` }} />`;
  });
}
