import { html } from '../../html.js';
import { saveFile } from '../../parts/save-file.js';
import { outcomeText } from '../../parts/time-line/moment.js';
import { amountOf, methodOf, outcomeOf } from './decision-table.js';

/**
 * @import { Decision, FoundDecisions } from '../../answers.d.ts'
 * @import { OrderOutcome } from './decision-table.js'
 */

/** A decision with what was reported about its order. */
/** @typedef {Decision & { readonly outcome: OrderOutcome | null }} ExportedDecision */

/** @type {readonly (readonly [name: string, pick: (decision: ExportedDecision) => unknown])[]} */
const COLUMNS = [
  ['decidedAt', ({ at }) => new Date(at).toISOString()],
  ['decisionId', ({ decisionId }) => decisionId],
  ['orderRef', ({ orderRef }) => orderRef],
  ['clientIdKey', ({ clientIdKey }) => clientIdKey],
  ['sellPointKey', ({ sellPointKey }) => sellPointKey],
  ['amount', amountOf],
  ['method', methodOf],
  ['outcome', ({ outcome }) => (outcome === null ? '' : outcomeText(outcome))],
  ['verdict', ({ verdict }) => verdict],
  ['waitSeconds', ({ waitSeconds }) => waitSeconds ?? ''],
  ['rule', ({ rule }) => rule],
  ['ruleVersion', ({ ruleVersion }) => ruleVersion],
  ['clientGroup', ({ clientGroup }) => clientGroup],
  ['isBot', ({ isBot }) => isBot],
  ['paymentScore', ({ paymentScore }) => paymentScore],
  ['reason', ({ reason }) => reason],
];

/**
 * The decisions that are shown, as a file.
 * @param {{ found: FoundDecisions }} props
 */
export function Export({ found: { decisions, outcomes } }) {
  const shown = decisions.map((one) => ({ ...one, outcome: outcomeOf(one, outcomes) }));
  const csv = () => saveFile('decisions.csv', 'text/csv', csvOf(shown));
  const ndjson = () => saveFile('decisions.ndjson', 'application/x-ndjson', ndjsonOf(shown));
  return html`<div class="buttons">
    <button type="button" onClick=${csv}>Save these as CSV</button>
    <button type="button" onClick=${ndjson}>Save these as NDJSON</button>
  </div>`;
}

/** @param {readonly ExportedDecision[]} decisions */
function csvOf(decisions) {
  const head = COLUMNS.map(([name]) => name).join(',');
  const rows = decisions.map((decision) => COLUMNS.map(([, pick]) => cell(pick(decision))).join(','));
  return `${[head, ...rows].join('\r\n')}\r\n`;
}

/**
 * A cell of RFC 4180. A text that a spreadsheet would run as a formula begins with an apostrophe, and some
 * spreadsheets take a semicolon for the end of a cell.
 * @param {unknown} value
 */
function cell(value) {
  const text = String(value);
  const harmless = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** @param {readonly ExportedDecision[]} decisions */
function ndjsonOf(decisions) {
  return decisions.map((decision) => `${JSON.stringify(decision)}\n`).join('');
}
