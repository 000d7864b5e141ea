import { useAnswer } from '../api.js';
import { html } from '../html.js';
import { decisions } from '../questions.js';
import { dateTime, factText, moneyText } from './format.js';
import { outcomeTone } from './history.js';
import { toClient, toDecision, toOrder } from './links.js';
import { answered, Empty } from './notice.js';
import { numbers, Table } from './table.js';
import { outcomeText } from './time-line.js';
import { groupTone, Pill, Verdict } from './verdict.js';

/** @import { Decision, FoundDecisions } from '../answers.d.ts' */

/** @typedef {NonNullable<FoundDecisions['outcomes']>[number]} OrderOutcome */

const COLUMNS = [
  'time',
  'verdict',
  'order',
  'client',
  ...numbers('amount'),
  'method',
  'outcome',
  'rule',
  'version',
  'group',
  ...numbers('score'),
];

/**
 * Decisions as rows, each leading to its explanation.
 * @param {{ found: FoundDecisions }} props
 */
export function DecisionTable({ found: { decisions, outcomes } }) {
  return html`<${Table} name="Decisions" columns=${COLUMNS} kind="decisions">
    ${decisions.map((decision) => {
      const outcome = outcomeOf(decision, outcomes);
      return html`<${Row} key=${decision.decisionId} decision=${decision} outcome=${outcome} />`;
    })}
  <//>`;
}

/**
 * What was reported about the order of a decision.
 * @param {Decision} decision
 * @param {FoundDecisions['outcomes']} outcomes
 */
export function outcomeOf({ clientIdKey, orderRef }, outcomes) {
  return outcomes?.find((one) => one.orderRef === orderRef && one.clientIdKey === clientIdKey) ?? null;
}

/** @param {{ decision: Decision, outcome: OrderOutcome | null }} props */
function Row({ decision, outcome }) {
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
    <td>
      ${outcome === null ? '–' : html`<${Pill} tone=${outcomeTone(outcome)}>${outcomeText(outcome)}<//>`}
    </td>
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
  return amount === undefined ? '–' : moneyText(amount, currency === undefined ? '' : factText(currency));
}

/** @param {Decision} decision */
export function methodOf({ facts: { method } }) {
  return method === undefined ? '–' : factText(method);
}

const LOOKED_AT = new URLSearchParams({ limit: '100' });
const LISTED_MAX = 20;

/**
 * The clients of the newest decisions, each with the last of them.
 * @param {{ to: (clientIdKey: string) => string }} props where a name leads
 */
export function LatelySeen({ to }) {
  return answered(useAnswer(decisions(LOOKED_AT)), (found) => {
    const last = [...Map.groupBy(found.decisions, ({ clientIdKey }) => clientIdKey).values()].flatMap(
      (ofClient) => ofClient.slice(0, 1),
    );
    if (last.length === 0)
      return html`<${Empty} title="No client was seen yet">
        A client is known from its first score, verdict or outcome on.
      <//>`;
    return html`<section class="card">
      <h2>Lately seen</h2>
      <${Table} name="Clients" columns=${['client', 'group', 'last verdict', 'time']}>
        ${last.slice(0, LISTED_MAX).map((decision) => html`<${LastRow} decision=${decision} to=${to} />`)}
      <//>
    </section>`;
  });
}

/** @param {{ decision: Decision, to: (clientIdKey: string) => string }} props */
function LastRow({ decision, to }) {
  const { clientIdKey, clientGroup, at, isBot } = decision;
  return html`<tr>
    <td><a href=${to(clientIdKey)}>${clientIdKey}</a></td>
    <td>
      <${Pill} tone=${groupTone(clientGroup)}>${clientGroup}<//>${isBot && html` <${Pill} tone="bad">bot<//>`}
    </td>
    <td><${Verdict} ...${decision} /></td>
    <td class="when">${dateTime(at)}</td>
  </tr>`;
}
