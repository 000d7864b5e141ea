import { h, html } from '#workbench/console/page/html.ts';
import type { Decision, FoundDecisions, HistoryEntry } from '#workbench/console/page/questions.ts';
import { formatDateTime, formatFact, formatMoney } from './format.ts';
import { toDecisionPath, toOrderDecisionsPath, toPayerPath } from './links.ts';
import { renderSafeName } from './name.ts';
import { declareColumns, declareNumberColumns, renderTable } from './table.ts';
import { renderFlagPill, renderPill, type Tone, VerdictPill } from './verdict.ts';

const COLUMNS = [
  'time',
  'verdict',
  ...declareColumns('key', 'order', 'payer'),
  ...declareNumberColumns('amount'),
  ...[
    ...declareColumns('key', 'method'),
    'outcome',
    'rule',
    'version',
    'group',
    ...declareNumberColumns('score'),
  ],
];

/** Decisions as rows, each with a link to its explanation. */
export function DecisionTable({ found: { decisions, outcomes } }: { found: FoundDecisions }) {
  const rows = decisions.map((decision) => renderCells(decision, findOutcome(decision, outcomes)));
  return renderTable({ name: 'Decisions', columns: COLUMNS, kind: 'decisions' }, rows, (cells) => cells);
}

/** Finds the outcome of the order of a decision. Returns null if none was reported. */
export function findOutcome({ clientIdKey, orderRef }: Decision, outcomes: FoundDecisions['outcomes']) {
  return outcomes?.find((one) => one.orderRef === orderRef && one.clientIdKey === clientIdKey) ?? null;
}

function renderCells(decision: Decision, outcome: ReturnType<typeof findOutcome>) {
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
  const [day = '', time = ''] = formatDateTime(at).split(' ');
  return [
    html`<a href=${toDecisionPath(decisionId)}>
      <span class="when">${day}</span> <span class="when">${time}</span>
    </a>`,
    h(VerdictPill, decision),
    html`<a href=${toOrderDecisionsPath(orderRef)} title=${orderRef}>${renderSafeName(orderRef)}</a>`,
    html`<a href=${toPayerPath(clientIdKey)} title=${clientIdKey}>${renderSafeName(clientIdKey)}</a>`,
    ...[formatAmount(decision), formatMethod(decision)],
    outcome === null
      ? renderMissingOutcome(decision)
      : renderPill(formatOutcome(outcome), chooseOutcomeTone(outcome)),
    html`${rule}${flags.map(renderFlagPill)}`,
    html`${ruleVersion}${arm === 'candidate' && html` ${renderPill('candidate', 'note')}`}`,
    html`${clientGroup}${isBot && html` ${renderPill('bot', 'bad')}`}`,
    decision.paymentScore,
  ];
}

/**
 * Renders a missing outcome. If the decision let a requisite be shown, the outcome is unknown. Otherwise
 * none is expected.
 */
function renderMissingOutcome({ verdict }: Decision) {
  return verdict === 'GET_NEW' || verdict === 'GET_SAME_STICKY' ? html`<small>UNKNOWN</small>` : '–';
}

/** Formats an amount like `25.00 EUR`. */
export function formatAmount({ facts: { amount, currency } }: Decision) {
  if (amount === undefined) return '–';
  return formatMoney(amount, currency === undefined ? '' : formatFact(currency));
}

export function formatMethod({ facts: { method } }: Decision) {
  return method === undefined ? '–' : formatFact(method);
}

type Outcome = Pick<
  Extract<HistoryEntry, { kind: 'outcome' }>,
  'outcome' | 'cause' | 'turnedAway' | 'awaitsPayment'
>;

/** Formats an outcome like `PAID` or `UNPAID EXPIRED`. */
export function formatOutcome({ outcome, cause }: Pick<Outcome, 'outcome' | 'cause'>) {
  return cause === null ? outcome : `${outcome} ${cause}`;
}

export function chooseOutcomeTone(entry: Outcome): Tone {
  if (entry.outcome === 'PAID') return 'good';
  return explainUncounted(entry) === null ? 'bad' : 'plain';
}

/** Explains why an outcome counts neither as paid nor as unpaid. Returns null if it counts. */
export function explainUncounted({ outcome, cause, turnedAway = false, awaitsPayment = false }: Outcome) {
  if (cause === 'TECHNICAL') return 'counts neither way';
  if (awaitsPayment) return 'counts neither way: its payment was not reported yet';
  return turnedAway && outcome === 'UNPAID' ? 'counts neither way: no requisite was shown for it' : null;
}
