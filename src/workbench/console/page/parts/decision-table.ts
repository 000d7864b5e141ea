import { h, html } from '#workbench/console/page/html.ts';
import type { Decision, FoundDecisions, HistoryEntry } from '#workbench/console/page/questions.ts';
import { dateTime, factText, moneyText } from './format.ts';
import { toDecision, toOrder, toPayer } from './links.ts';
import { columns, numbers, table } from './table.ts';
import { flagPill, pill, type Tone, Verdict } from './verdict.ts';

const COLUMNS = [
  'time',
  'verdict',
  ...columns('key', 'order', 'payer'),
  ...numbers('amount'),
  ...[...columns('key', 'method'), 'outcome', 'rule', 'version', 'group', ...numbers('score')],
];

/** Decisions as rows, each leading to its explanation. */
export function DecisionTable({ found: { decisions, outcomes } }: { found: FoundDecisions }) {
  const rows = decisions.map((decision) => cellsOf(decision, outcomeOf(decision, outcomes)));
  return table({ name: 'Decisions', columns: COLUMNS, kind: 'decisions' }, rows, (cells) => cells);
}

/** What was reported about the order of a decision. */
export function outcomeOf({ clientIdKey, orderRef }: Decision, outcomes: FoundDecisions['outcomes']) {
  return outcomes?.find((one) => one.orderRef === orderRef && one.clientIdKey === clientIdKey) ?? null;
}

function cellsOf(decision: Decision, outcome: ReturnType<typeof outcomeOf>) {
  const {
    decisionId,
    at,
    orderRef,
    clientIdKey,
    rule,
    ruleVersion,
    arm,
    clientGroup,
    isBot,
    flags = [],
  } = decision;
  const [day = '', time = ''] = dateTime(at).split(' ');
  return [
    html`<a href=${toDecision(decisionId)}>
      <span class="when">${day}</span> <span class="when">${time}</span>
    </a>`,
    h(Verdict, decision),
    html`<a href=${toOrder(orderRef)} title=${orderRef}>${orderRef}</a>`,
    html`<a href=${toPayer(clientIdKey)} title=${clientIdKey}>${clientIdKey}</a>`,
    ...[amountOf(decision), methodOf(decision)],
    outcome === null ? '–' : pill(outcomeText(outcome), outcomeTone(outcome)),
    html`${rule}${flags.map(flagPill)}`,
    html`${ruleVersion}${arm === 'candidate' && html` ${pill('candidate', 'note')}`}`,
    html`${clientGroup}${isBot && html` ${pill('bot', 'bad')}`}`,
    decision.paymentScore,
  ];
}

/** `25.00 EUR`. */
export function amountOf({ facts: { amount, currency } }: Decision) {
  return amount === undefined ? '–' : moneyText(amount, currency === undefined ? '' : factText(currency));
}

export function methodOf({ facts: { method } }: Decision) {
  return method === undefined ? '–' : factText(method);
}

type Outcome = Pick<
  Extract<HistoryEntry, { kind: 'outcome' }>,
  'outcome' | 'cause' | 'turnedAway' | 'awaitsPayment'
>;

/** `PAID`, `UNPAID EXPIRED`. */
export function outcomeText({ outcome, cause }: Pick<Outcome, 'outcome' | 'cause'>) {
  return cause === null ? outcome : `${outcome} ${cause}`;
}

export function outcomeTone(entry: Outcome): Tone {
  if (entry.outcome === 'PAID') return 'good';
  return whyNeither(entry) === null ? 'bad' : 'plain';
}

/** Why an outcome counts neither way; null when it counts. */
export function whyNeither({ outcome, cause, turnedAway = false, awaitsPayment = false }: Outcome) {
  if (cause === 'TECHNICAL') return 'counts neither way';
  if (awaitsPayment) return 'counts neither way: its payment was not reported yet';
  return turnedAway && outcome === 'UNPAID' ? 'counts neither way: no requisite was shown for it' : null;
}
