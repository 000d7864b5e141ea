import type {
  EvidenceTable,
  OpenedRuleFolder,
  RuleReport,
  RulesReport,
  Session,
  SliceName,
} from '../answers.ts';
import { may, useAnswer } from '../api.ts';
import { html, useState } from '../html.ts';
import { DecisionTable } from '../parts/decision-table.ts';
import {
  EvidenceTables,
  IntervalBar,
  intervalText,
  Notes,
  OrdersBar,
  ShownTable,
  STATUSES,
  StatusLegend,
  sumOf,
  useEvidence,
  workedOut,
} from '../parts/evidence.ts';
import { Choice, goTo } from '../parts/form.ts';
import { count } from '../parts/format.ts';
import { toRule, toVersion } from '../parts/links.ts';
import { answered, Empty } from '../parts/notice.ts';
import { numbers, sorted, Table, useSort } from '../parts/table.ts';
import type { EvidenceTime } from '../parts/time-span.ts';
import { Figures } from '../parts/verdict.ts';
import { decisions, ROLLOUT_STATUS, RULES_REPORT, ruleFolder } from '../questions.ts';

/** The longest trend of days that can still be read. */
const LONG_MS = 60 * 86_400_000;

/** What rules and money are split by, in words. */
const SLICES: Readonly<Record<SliceName, string>> = {
  ...{ day: 'day', week: 'week', method: 'method', currency: 'currency', sellPoint: 'point of sale' },
  ...{ platform: 'platform', version: 'version', arm: 'arm', group: 'group', level: 'level of the ladder' },
  cause: 'cause',
};

/** The tables of money, which come first. */
const OF_MONEY = ['money', 'sliceMoney', 'ruleMoney', 'waitLevels'];

/** What each rule was worth on the outcomes that were seen. */
export function RulesOnOutcomes({
  version,
  time,
  query,
}: {
  version: string;
  time: EvidenceTime;
  query: URLSearchParams;
}) {
  const isLong = (time.span.to ?? Date.now()) - (time.span.from ?? 0) > LONG_MS;
  const by = query.get('by') ?? (isLong ? 'week' : 'day');
  const evidence = useEvidence(RULES_REPORT, { kind: 'report', version, ...time.span, by });
  const choose = (slice: string) =>
    goTo(`${location.hash.split('?')[0]}?${new URLSearchParams({ ...time.words, by: slice })}`);
  return html`<${Choice} label="parted by" chosen=${by} values=${Object.entries(SLICES)} go=${choose} />
    ${workedOut(evidence, (report) => html`<${Counted} report=${report} />`)}`;
}

function Counted({ report }: { report: RulesReport }) {
  const { orders, rules, unpaidShare, notes, tables } = report;
  if (report.decisions === 0) return html`<${Notes} notes=${notes} />`;
  const files = Map.groupBy(
    rules.filter(({ matched }) => matched > 0),
    ({ file }) => file,
  );
  const figures = [
    ['orders', count(sumOf(orders))],
    ['paid', count(orders.paid)],
    ['unpaid', count(orders.unpaid)],
    ['turned away', count(orders.turnedAway)],
    ['unknown', count(orders.unknown)],
    ['unpaid, of those with an outcome', intervalText(unpaidShare)],
  ];
  return html`
    <${Figures} items=${figures} />
    <${Notes} notes=${notes} />
    <${EvidenceTables} tables=${tables.filter(({ name }) => OF_MONEY.includes(name))} />
    <${StatusLegend} />
    ${[...files].map(
      ([file, some]) => html`<section class="card" key=${file}>
        <h2>${file}</h2>
        <${RuleTable} file=${file} rules=${some} report=${report} />
      </section>`,
    )}`;
}

const COLUMNS = [
  'rule',
  'orders: paid, unpaid, turned away, unknown',
  ...numbers('orders', 'matched', 'decided', 'decisive'),
  { name: 'unpaid share, 95 %', kind: 'num' as const },
  ...numbers('lift'),
  { name: 'trend', kind: 'unsorted' as const },
];

/** The rules of a file, each with its orders, and each opening to more. */
function RuleTable({
  file,
  rules,
  report,
}: {
  file: string;
  rules: readonly RuleReport[];
  report: RulesReport;
}) {
  const [opened, setOpened] = useState<string | null>(null);
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

/** What a rule is sorted by in a column. */
function cellOf({ name, orders, matched, decided, decisive, unpaidShare, lift }: RuleReport, place: number) {
  const all = sumOf(orders);
  return [name, all, all, matched, decided, decisive, unpaidShare?.value, lift][place] ?? null;
}

function Row({
  rule,
  report,
  most,
  isOpen,
  toggle,
}: {
  rule: RuleReport;
  report: RulesReport;
  most: number;
  isOpen: boolean;
  toggle: () => void;
}) {
  const { name, orders, matched, decided, decisive, unpaidShare, lift, by = [] } = rule;
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
    <td class="num extra">${decisive === null ? '–' : count(decisive)}</td>
    <td class="share line"><${IntervalBar} interval=${unpaidShare} all=${report.unpaidShare} /></td>
    <td class="num extra">${lift === null ? '–' : lift.toFixed(2)}</td>
    <td class="extra"><${Trend} slices=${days} /></td>
  </tr>`;
}

const NEWEST_DECISIONS = '10';

/** A rule of a version: its text, what it was worth week by week, and its newest decisions. */
export function RulePage({
  version,
  item,
  time,
  session,
}: {
  version: string;
  item: string;
  time: EvidenceTime;
  session: Session;
}) {
  const [stage = '', name = ''] = item.split('/');
  const file = `${stage}.yaml`;
  const folder = useAnswer(ruleFolder(version));
  const evidence = useEvidence(RULES_REPORT, { kind: 'report', version, ...time.span, by: 'week' });
  return html`<p><a href=${toVersion(version, 'evidence', time.words)}>← All rules of ${version}</a></p>
    <h2>${name}</h2>
    <${OnTrial} version=${version} />
    ${answered(folder, (opened) => html`<${Written} folder=${opened} file=${file} name=${name} />`)}
    ${workedOut(evidence, (report) => html`<${Worth} ...${{ report, file, name }} />`)}
    ${may(session, 'decisions') && html`<${Newest} ...${{ version, file, name }} />`}`;
}

function Written({
  folder: { version, rules, files },
  file,
  name,
}: {
  folder: OpenedRuleFolder;
  file: string;
  name: string;
}) {
  const rule = rules.find((one) => one.name === name && one.at.file === file);
  if (rule === undefined) return null;
  const { line } = rule.at;
  const place = `${file}:${line}`;
  const text = files.find(({ path }) => path === file)?.text ?? '';
  return html`<section class="card">
    <h3><a href=${toVersion(version, '', { file, line: String(line) })}>${place}</a></h3>
    <pre class="scroll" tabindex="0" role="region" aria-label=${place}>${itemAt(text, line)}</pre>
  </section>`;
}

/** The item of a list that begins on a line. `line`: from 1. */
function itemAt(text: string, line: number) {
  const [first = '', ...rest] = text.split('\n').slice(line - 1);
  const indent = first.search(/\S/);
  const end = rest.findIndex((one) => one.trim() !== '' && one.search(/\S/) <= indent);
  return [first, ...rest.slice(0, end === -1 ? rest.length : end)].join('\n').trimEnd();
}

function Worth({ report, file, name }: { report: RulesReport; file: string; name: string }) {
  const rule = report.rules.find((one) => one.file === file && one.name === name);
  if (rule === undefined || rule.matched === 0)
    return html`<${Empty} title="It matched nothing">In none of the decisions of this time.<//>`;
  const { matched, decided, decisive, orders, unpaidShare, lift, by = [] } = rule;
  const figures = [
    ['matched', count(matched)],
    ['decided', count(decided)],
    ['would have been another without it', decisive === null ? '–' : count(decisive)],
    ['orders', count(sumOf(orders))],
    ['unpaid, of those with an outcome', intervalText(unpaidShare)],
    ['of all orders', intervalText(report.unpaidShare)],
    ['lift', lift === null ? '–' : lift.toFixed(2)],
    ['week by week', html`<${Trend} slices=${by} />`],
  ];
  return html`<${Figures} items=${figures} />
    <section class="card">
      <${StatusLegend} />
      <${OrdersBar} orders=${orders} most=${sumOf(orders)} />
      <${IntervalBar} interval=${unpaidShare} all=${report.unpaidShare} />
      <${OpenedRule} rule=${rule} report=${report} />
    </section>`;
}

function Newest({ version, file, name }: { version: string; file: string; name: string }) {
  const member = memberOf(file);
  const query = { [member ?? '']: name, ruleVersion: version, include: 'outcomes', limit: NEWEST_DECISIONS };
  const answer = useAnswer(member === null ? null : decisions(new URLSearchParams(query)));
  if (member === null) return null;
  const listed = answered(answer, (found) =>
    found.decisions.length === 0
      ? html`<${Empty} title="No decision of it is kept" />`
      : html`<${DecisionTable} found=${found} />`,
  );
  return html`<h2>Its newest decisions</h2>${listed}`;
}

/** Where its version is compared with another. */
function OnTrial({ version }: { version: string }) {
  const { data } = useAnswer(ROLLOUT_STATUS);
  if (data?.rollout?.candidates.some((one) => one.version === version) !== true) return null;
  return html`<p class="notice">
    ${version} is on trial: <a href="#/rollouts">what it is worth beside the active version</a>.
  </p>`;
}

/**
 * All that is known of a rule: its rows of every table that names rules by file, and the way to its orders.
 */
function OpenedRule({ rule, report }: { rule: RuleReport; report: RulesReport }) {
  const tables = report.tables.flatMap((table) => ofRule(table, rule));
  return html`<div class="opened-rule">
    <${Ways} rule=${rule} report=${report} />
    ${tables.map(
      (table) => html`<h3>${table.title}</h3>
        <${ShownTable} table=${{ ...table, title: `${table.title} of ${rule.name}` }} />`,
    )}
  </div>`;
}

/** The rows about a rule, without its file and name. */
function ofRule(table: EvidenceTable, { file, name }: RuleReport) {
  const rows = table.name === 'rules' ? [] : table.rows.filter((row) => row[0] === file && row[1] === name);
  if (rows.length === 0) return [];
  return [{ ...table, columns: table.columns.slice(2), rows: rows.map((row) => row.slice(2)) }];
}

/** What decisions can be found by. */
const REPORTED = ['paid', 'unpaid', 'unknown'];

function Ways({ rule: { file, name }, report }: { rule: RuleReport; report: RulesReport }) {
  const own = toRule(report.version, file, name);
  // The page of the rule itself leads to its decisions alone.
  const isThere = location.hash.startsWith(own);
  const member = memberOf(file);
  const page = !isThere && html`<a href=${own}>${name} week by week</a>`;
  if (member === null) return page && html`<p>${page}</p>`;
  const to = (...more: [string, string][]) =>
    `#/find?${new URLSearchParams([[member, name], ['ruleVersion', report.version], ...more])}`;
  return html`<p>
    ${page && html`${page} · `}Its decisions: <a href=${to()}>all</a>, with orders
    ${REPORTED.map((status) => html` <a href=${to(['outcome', status.toUpperCase()])}>${status}</a>`)}
  </p>`;
}

/** How decisions of a rule of a file are asked for; groups are not recorded by their rule. */
function memberOf(file: string) {
  if (file === 'verdicts.yaml') return 'rule';
  return file === 'bot-signals.yaml' ? 'signal' : null;
}

const HEIGHT = 22;
const STEP = 4;

/**
 * The orders of each day or week as small columns of paid, unpaid and unknown; the opened rule has figures.
 */
function Trend({ slices }: { slices: NonNullable<RuleReport['by']> }) {
  const most = Math.max(0, ...slices.map(({ orders }) => sumOf(orders)));
  if (most === 0 || slices.length < 2) return html`<span class="faint">–</span>`;
  const width = slices.length * STEP;
  const size = { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` };
  return html`<svg aria-hidden="true" ...${size}>
    ${slices.map((slice, index) => columnOf(slice, index * STEP, most))}
  </svg>`;
}

function columnOf({ orders }: NonNullable<RuleReport['by']>[number], x: number, most: number) {
  let top = HEIGHT;
  return STATUSES.map(({ name, color }) => {
    const height = (HEIGHT * orders[name]) / most;
    top -= height;
    const place = { x, y: top, width: STEP - 1, height };
    return html`<rect ...${place} style=${{ fill: `var(${color})` }} />`;
  });
}
