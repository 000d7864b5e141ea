import { html } from '../../html.js';
import { ShownTable } from '../../parts/evidence/shown.js';
import { toRule } from '../../parts/links.js';

/** @import { EvidenceTable, RuleReport, RulesReport } from '../../answers.d.ts' */

/**
 * All that is known of a rule: its rows of every table that names rules by file, and the way to its orders.
 * @param {{ rule: RuleReport, report: RulesReport }} props
 */
export function OpenedRule({ rule, report }) {
  const tables = report.tables.flatMap((table) => ofRule(table, rule));
  return html`<div class="opened-rule">
    <${Ways} rule=${rule} report=${report} />
    ${tables.map(
      (table) => html`<h3>${table.title}</h3>
        <${ShownTable} table=${{ ...table, title: `${table.title} of ${rule.name}` }} />`,
    )}
  </div>`;
}

/**
 * The rows about a rule, without its file and name.
 * @param {EvidenceTable} table
 * @param {RuleReport} rule
 */
function ofRule(table, { file, name }) {
  const rows = table.name === 'rules' ? [] : table.rows.filter((row) => row[0] === file && row[1] === name);
  if (rows.length === 0) return [];
  return [{ ...table, columns: table.columns.slice(2), rows: rows.map((row) => row.slice(2)) }];
}

/** What decisions can be found by. */
const REPORTED = ['paid', 'unpaid', 'unknown'];

/** @param {{ rule: RuleReport, report: RulesReport }} props */
function Ways({ rule: { file, name }, report }) {
  const own = toRule(report.version, file, name);
  // The page of the rule itself leads to its decisions alone.
  const isThere = location.hash.startsWith(own);
  const member = memberOf(file);
  const page = !isThere && html`<a href=${own}>${name} week by week</a>`;
  if (member === null) return page && html`<p>${page}</p>`;
  const to = (/** @type {[string, string][]} */ ...more) =>
    `#/decisions?${new URLSearchParams([[member, name], ['ruleVersion', report.version], ...more])}`;
  return html`<p>
    ${page && html`${page} · `}Its decisions: <a href=${to()}>all</a>, with orders
    ${REPORTED.map((fate) => html` <a href=${to(['outcome', fate.toUpperCase()])}>${fate}</a>`)}
  </p>`;
}

/**
 * How decisions of a rule of a file are asked for; groups are not recorded by their rule.
 * @param {string} file
 */
export function memberOf(file) {
  if (file === 'verdicts.yaml') return 'rule';
  return file === 'bot-signals.yaml' ? 'signal' : null;
}
