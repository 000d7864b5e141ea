import { html } from '../../html.js';
import { dateTime, factText } from '../../parts/format.js';
import { toClient, toDecision, toOrder } from '../../parts/links.js';
import { numbers, Table } from '../../parts/table.js';
import { Pill, Verdict } from '../../parts/verdict.js';

/** @import { Decision } from '../../answers.d.ts' */

const COLUMNS = [
  'time',
  'verdict',
  'order',
  'client',
  ...numbers('amount'),
  'method',
  'rule',
  'version',
  'group',
  ...numbers('score'),
];

/**
 * Decisions as rows, each leading to its explanation.
 * @param {{ decisions: readonly Decision[] }} props
 */
export function DecisionTable({ decisions }) {
  return html`<${Table} name="Decisions" columns=${COLUMNS} kind="decisions">
    ${decisions.map((decision) => html`<${Row} key=${decision.decisionId} decision=${decision} />`)}
  <//>`;
}

/** @param {{ decision: Decision }} props */
function Row({ decision }) {
  const { decisionId, at, orderRef, clientIdKey, rule, ruleVersion, arm, clientGroup, isBot } = decision;
  const [day = '', time = ''] = dateTime(at).split(' ');
  return html`<tr>
    <td class="num">
      <a href=${toDecision(decisionId)}><span class="when">${day}</span> <span class="when">${time}</span></a>
    </td>
    <td><${Verdict} ...${decision} /></td>
    <td class="key"><a href=${toOrder(orderRef)}>${orderRef}</a></td>
    <td class="key"><a href=${toClient(clientIdKey)}>${clientIdKey}</a></td>
    <td class="num">${amountOf(decision)}</td>
    <td class="key">${methodOf(decision)}</td>
    <td>${rule}</td>
    <td>${ruleVersion}${arm === 'candidate' && html` <${Pill} tone="note">candidate<//>`}</td>
    <td>${clientGroup}${isBot && html` <${Pill} tone="bad">bot<//>`}</td>
    <td class="num">${decision.paymentScore}</td>
  </tr>`;
}

/**
 * `25 EUR`: what was asked for.
 * @param {Decision} decision
 */
export function amountOf({ facts: { amount, currency } }) {
  return amount === undefined
    ? '–'
    : `${factText(amount)} ${currency === undefined ? '' : factText(currency)}`;
}

/** @param {Decision} decision */
export function methodOf({ facts: { method } }) {
  return method === undefined ? '–' : factText(method);
}
