import type { Decision, FoundDecisions } from '../answers.ts';
import { useAnswer } from '../api.ts';
import { html } from '../html.ts';
import { decisions } from '../questions.ts';
import { dateTime, factText, moneyText } from './format.ts';
import { outcomeTone } from './history.ts';
import { toClient, toDecision, toOrder } from './links.ts';
import { answered, Empty } from './notice.ts';
import { columns, numbers, Table } from './table.ts';
import { outcomeText } from './time-line.ts';
import { groupTone, Pill, Verdict } from './verdict.ts';

type OrderOutcome = NonNullable<FoundDecisions['outcomes']>[number];

const COLUMNS = [
  ...['time', 'verdict', ...columns('key', 'order', 'client'), ...numbers('amount')],
  ...[...columns('key', 'method'), 'outcome', 'rule', 'version', 'group', ...numbers('score')],
];

/** Decisions as rows, each leading to its explanation. */
export function DecisionTable({ found: { decisions, outcomes } }: { found: FoundDecisions }) {
  const rows = decisions.map((decision) => cellsOf(decision, outcomeOf(decision, outcomes)));
  return html`<${Table} name="Decisions" columns=${COLUMNS} kind="decisions" rows=${rows} />`;
}

/** What was reported about the order of a decision. */
export function outcomeOf({ clientIdKey, orderRef }: Decision, outcomes: FoundDecisions['outcomes']) {
  return outcomes?.find((one) => one.orderRef === orderRef && one.clientIdKey === clientIdKey) ?? null;
}

function cellsOf(decision: Decision, outcome: OrderOutcome | null) {
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

/** `25 EUR`: what was asked for. */
export function amountOf({ facts: { amount, currency } }: Decision) {
  return amount === undefined ? '–' : moneyText(amount, currency === undefined ? '' : factText(currency));
}

export function methodOf({ facts: { method } }: Decision) {
  return method === undefined ? '–' : factText(method);
}

const LOOKED_AT = new URLSearchParams({ limit: '100' });
const LISTED_MAX = 20;

/** The clients of the newest decisions, each with the last of them. Where a name leads. */
export function LatelySeen({ to }: { to: (clientIdKey: string) => string }) {
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
