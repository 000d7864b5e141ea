import { useAnswer } from '../api.js';
import { html } from '../html.js';
import { decisions } from '../questions.js';
import { dateTime, factText, moneyText } from './format.js';
import { outcomeTone } from './history.js';
import { toClient, toDecision, toOrder } from './links.js';
import { answered, Empty } from './notice.js';
import { columns, numbers, Table } from './table.js';
import { outcomeText } from './time-line.js';
import { groupTone, Pill, Verdict } from './verdict.js';

/** @import { Decision, FoundDecisions } from '../answers.d.ts' */

/** @typedef {NonNullable<FoundDecisions['outcomes']>[number]} OrderOutcome */

const COLUMNS = [
  ...['time', 'verdict', ...columns('key', 'order', 'client'), ...numbers('amount')],
  ...[...columns('key', 'method'), 'outcome', 'rule', 'version', 'group', ...numbers('score')],
];

/** Decisions as rows, each leading to its explanation. @param {{ found: FoundDecisions }} props */
export function DecisionTable({ found: { decisions, outcomes } }) {
  const rows = decisions.map((decision) => cellsOf(decision, outcomeOf(decision, outcomes)));
  return html`<${Table} name="Decisions" columns=${COLUMNS} kind="decisions" rows=${rows} />`;
}

/**
 * What was reported about the order of a decision.
 * @param {Decision} decision
 * @param {FoundDecisions['outcomes']} outcomes
 */
export function outcomeOf({ clientIdKey, orderRef }, outcomes) {
  return outcomes?.find((one) => one.orderRef === orderRef && one.clientIdKey === clientIdKey) ?? null;
}

/** @param {Decision} decision @param {OrderOutcome | null} outcome */
function cellsOf(decision, outcome) {
  const { decisionId, at, orderRef, clientIdKey, rule, ruleVersion, arm, clientGroup, isBot } = decision;
  const [day = '', time = ''] = dateTime(at).split(' ');
  return [
    html`<a href=${toDecision(decisionId)}>
      <span class="when">${day}</span> <span class="when">${time}</span>
    </a>`,
    html`<${Verdict} ...${decision} />`,
    html`<a href=${toOrder(orderRef)}>${orderRef}</a>`,
    html`<a href=${toClient(clientIdKey)}>${clientIdKey}</a>`,
    ...[amountOf(decision), methodOf(decision)],
    outcome === null ? '–' : html`<${Pill} tone=${outcomeTone(outcome)}>${outcomeText(outcome)}<//>`,
    rule,
    html`${ruleVersion}${arm === 'candidate' && html` <${Pill} tone="note">candidate<//>`}`,
    html`${clientGroup}${isBot && html` <${Pill} tone="bad">bot<//>`}`,
    decision.paymentScore,
  ];
}

/** `25 EUR`: what was asked for. @param {Decision} decision */
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
      <${Table} name="Clients" columns=${['client', 'group', 'last verdict', ...columns('when', 'time')]}
        rows=${last.slice(0, LISTED_MAX).map(({ clientIdKey, clientGroup, isBot, at, ...decision }) => [
          html`<a href=${to(clientIdKey)}>${clientIdKey}</a>`,
          html`<${Pill} tone=${groupTone(clientGroup)}>${clientGroup}<//>
            ${isBot && html` <${Pill} tone="bad">bot<//>`}`,
          html`<${Verdict} ...${decision} />`,
          dateTime(at),
        ])} />
    </section>`;
  });
}
