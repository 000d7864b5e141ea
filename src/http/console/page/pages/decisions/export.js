import { html } from '../../html.js';
import { saveFile } from '../../parts/save-file.js';
import { amountOf, methodOf } from './decision-table.js';

/** @import { Decision } from '../../answers.d.ts' */

/** @type {readonly (readonly [name: string, pick: (decision: Decision) => unknown])[]} */
const COLUMNS = [
  ['decidedAt', ({ at }) => new Date(at).toISOString()],
  ['decisionId', ({ decisionId }) => decisionId],
  ['orderRef', ({ orderRef }) => orderRef],
  ['clientIdKey', ({ clientIdKey }) => clientIdKey],
  ['sellPointKey', ({ sellPointKey }) => sellPointKey],
  ['amount', amountOf],
  ['method', methodOf],
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
 * @param {{ decisions: readonly Decision[] }} props
 */
export function Export({ decisions }) {
  const csv = () => saveFile('decisions.csv', 'text/csv', csvOf(decisions));
  const ndjson = () => saveFile('decisions.ndjson', 'application/x-ndjson', ndjsonOf(decisions));
  return html`<div class="buttons">
    <button type="button" onClick=${csv}>Save these as CSV</button>
    <button type="button" onClick=${ndjson}>Save these as NDJSON</button>
  </div>`;
}

/** @param {readonly Decision[]} decisions */
function csvOf(decisions) {
  const head = COLUMNS.map(([name]) => name).join(',');
  const rows = decisions.map((decision) => COLUMNS.map(([, pick]) => cell(pick(decision))).join(','));
  return `${[head, ...rows].join('\r\n')}\r\n`;
}

/**
 * A cell of RFC 4180. A text that a spreadsheet would run as a formula begins with an apostrophe.
 * @param {unknown} value
 */
function cell(value) {
  const text = String(value);
  const harmless = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** @param {readonly Decision[]} decisions */
function ndjsonOf(decisions) {
  return decisions.map((decision) => `${JSON.stringify(decision)}\n`).join('');
}
