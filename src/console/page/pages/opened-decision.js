import { may, useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { Copy } from '../parts/copy.js';
import { Field } from '../parts/form.js';
import { dateTime, factText, moneyText, shortDigest } from '../parts/format.js';
import { LadderMove } from '../parts/ladder.js';
import { toClient, toDecision, toOrder, toVersion } from '../parts/links.js';
import { Answered, Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { outcomeText } from '../parts/time-line/moment.js';
import { outcomeTone } from '../parts/time-line/sign.js';
import { FactsTable, RulesTrace } from '../parts/trace.js';
import { Figures, Pill, Verdict } from '../parts/verdict.js';
import { clientHistory, decisionWhatIf, explanation, RULE_FOLDERS } from '../questions.js';

/**
 * @import { Decision, RulesAccount, VerdictCommand } from '../answers.d.ts'
 * @import { ClientHistory, DecisionWhatIf, Explanation, Session } from '../answers.d.ts'
 * @import { ChoiceEvent } from '../parts/form.js'
 */

/**
 * A decision as somebody needs it in a dispute: what was answered and why, what became of the order, what
 * another version would have answered then, and a text for the caller.
 * @param {{ decisionId: string, session: Session }} props
 */
export function OpenedDecision({ decisionId, session }) {
  const answer = useAnswer(explanation(decisionId));
  const opened = (/** @type {Explanation} */ found) =>
    html`<${Explained} explanation=${found} session=${session} />`;
  return html`<${Answered} answer=${answer}>${opened}<//>`;
}

/** @param {{ explanation: Explanation, session: Session }} props */
function Explained({ explanation, session }) {
  const { decision, rules, ladder, sharedLists = [], reproduced, differences, verification } = explanation;
  const link = new URL(toDecision(decision.decisionId), location.href).href;
  const proof = reproduced ? 'good' : 'bad';
  return html`<article>
    <section class="card">
      <h2 class="decision-title"><${Verdict} ...${decision} /> <span>${decision.reason}</span></h2>
      <${Figures} items=${figuresOf(decision)} />
      <p>
        ${sharedLists.map((list) => html`<${Pill}>on the shared list ${list}<//> `)}
        <${Pill} tone=${proof}>${reproduced ? '✓ reproduced' : '✗ not reproduced'}<//> ${verification}
      </p>
      ${differences.length > 0 && html`<${Differences} differences=${differences} />`}
      <${Copy} label="Link" text=${link} />
    </section>
    <div class="why-and-ladder">
      <section class="card">
        <h2>Rule by rule</h2>
        ${
          rules === null
            ? html`<${Empty} title="The rules cannot be shown">${verification}<//>`
            : html`<${RulesTrace} rules=${rules} />`
        }
      </section>
      <div class="now">
        <section class="card">
          <h2>Ladder</h2>
          <${LadderMove} before=${ladder.before} after=${ladder.after} at=${decision.at} />
        </section>
        ${may(session, 'clients:read') && html`<${OrderOutcome} decision=${decision} />`}
        ${may(session, 'rules') && html`<${OtherVersion} decision=${decision} />`}
      </div>
    </div>
    <section class="card">
      <h2>For the payer</h2>
      <${Copy} label="Words for the payer" text=${payerText(decision)} />
    </section>
    <section class="card">
      <h2>For the caller</h2>
      <${Copy} label="Text" text=${callerText(decision, rules)} />
    </section>
    <section class="card"><h2>Facts</h2><${FactsTable} facts=${decision.facts} /></section>
  </article>`;
}

/** @param {Decision} decision */
function figuresOf(decision) {
  const { orderRef, clientIdKey, ruleVersion } = decision;
  const digest = shortDigest(decision.digest);
  return [
    ['order', html`<a href=${toOrder(orderRef)}>${orderRef}</a>`],
    ['client', html`<a href=${toClient(clientIdKey)}>${clientIdKey}</a>`],
    ['time', dateTime(decision.at)],
    ['amount', amountOf(decision)],
    ['method', methodOf(decision)],
    ['point of sale', decision.sellPointKey],
    ['rule', decision.rule],
    ['version', html`<a href=${toVersion(ruleVersion)}>${ruleVersion}</a> <code>${digest}</code>`],
    ['group', decision.isBot ? `${decision.clientGroup}, bot` : decision.clientGroup],
    ['payment score', decision.paymentScore],
  ];
}

/** @param {{ differences: Explanation['differences'] }} props */
function Differences({ differences }) {
  return html`<${Table} name="Differences" columns=${['member', 'on record', 'asked again']}>
    ${differences.map(
      ({ member, recorded, rerun }) => html`<tr>
        <td>${member}</td>
        <td>${JSON.stringify(recorded)}</td>
        <td>${JSON.stringify(rerun)}</td>
      </tr>`,
    )}
  <//>`;
}

/**
 * What the interface asks the caller to do (its section 4.2).
 * @type {Readonly<Record<VerdictCommand, string>>}
 */
const ACTIONS = {
  GET_NEW: 'Please request a new requisite from the payment side.',
  GET_SAME_STICKY: 'Please show the requisite that the payer is bound to, and request no new one.',
  WAIT: 'Please show the payer a timer for that long, then ask again.',
  BLOCK: 'Please issue no requisite, and show the payer how to reach support.',
};

/**
 * What support may tell the payer: nothing of rules, scores and signals.
 * @param {Decision} decision
 */
function payerText(decision) {
  const { verdict, waitSeconds = 0, at } = decision;
  const payment = `Your payment of ${amountOf(decision)}`;
  switch (verdict) {
    case 'GET_NEW':
      return `${payment} can go ahead: please continue on the payment page.`;
    case 'GET_SAME_STICKY':
      return `${payment} can go ahead, with the payment details that you were shown before.`;
    case 'WAIT':
      return `${payment} cannot be started yet. Please try again after ${utc(at + waitSeconds * 1000)}.`;
    case 'BLOCK':
      return `${payment} cannot be started. Please choose another way to pay, or contact the shop.`;
    default:
      return verdict;
  }
}

/**
 * An answer to a caller who quotes an order: what was decided, when, by what, and what to do. It names no
 * other payer.
 * @param {Decision} decision
 * @param {RulesAccount | null} rules
 */
function callerText(decision, rules) {
  const { orderRef, verdict, waitSeconds, reason, rule, ruleVersion, decisionId } = decision;
  const described = rules?.verdicts.rules.find(({ name }) => name === rule)?.description;
  const asked = `${amountOf(decision)} by ${methodOf(decision)}`;
  const wait = waitSeconds === undefined ? '' : ` of ${waitSeconds} s`;
  return [
    `Order ${isolated(orderRef)}, ${asked}, asked at ${utc(decision.at)}:`,
    `The answer was ${verdict}${wait}. ${reason}`,
    `It was given by the rule ${rule} of ${ruleVersion}${described ? `: ${described}` : '.'}`,
    ACTIONS[verdict],
    `Decision ${decisionId}.`,
  ].join('\n');
}

/**
 * A name that may be written from right to left keeps its order to itself in a text without markup.
 * @param {string} name
 */
function isolated(name) {
  return /[\u0590-\u08ff\ufb1d-\ufefc]/.test(name) ? `\u2068${name}\u2069` : name;
}

/**
 * `2026-01-01 14:03:27 UTC`: the caller may sit in another time zone.
 * @param {number} epochMs
 */
function utc(epochMs) {
  return `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const ENTRIES_LOOKED_AT = 500;

/**
 * What became of the order, as far as the client's history is kept; the newest report counts.
 * @param {{ decision: Decision }} props
 */
function OrderOutcome({ decision }) {
  const { orderRef, clientIdKey } = decision;
  const answer = useAnswer(clientHistory(clientIdKey, ENTRIES_LOOKED_AT));
  const shown = (/** @type {ClientHistory} */ { entries, complete }) => {
    const outcomes = entries.flatMap((entry) =>
      entry.kind === 'outcome' && entry.orderRef === orderRef ? [entry] : [],
    );
    if (outcomes.length === 0)
      return html`<p class="faint">
        No outcome was reported${complete ? '' : ' in what is kept of its history'}.
      </p>`;
    return html`<ul class="plain">
      ${outcomes.map(
        (entry) => html`<li>
          <${Pill} tone=${outcomeTone(entry)}>${outcomeText(entry)}<//>${' '}
          <span class="when">${dateTime(entry.occurredAt)}</span>
        </li>`,
      )}
    </ul>`;
  };
  return html`<section class="card">
    <h2>What became of the order</h2>
    <p>${amountOf(decision)} by ${methodOf(decision)}</p>
    <${Answered} answer=${answer}>${shown}<//>
  </section>`;
}

/**
 * The same question to another version, on the recorded facts and with the client as it was then.
 * @param {{ decision: Decision }} props
 */
function OtherVersion({ decision }) {
  const folders = useAnswer(RULE_FOLDERS);
  const [version, setVersion] = useState('');
  const answer = useAnswer(version === '' ? null : decisionWhatIf(decision.decisionId, version));
  const others = (folders.data?.versions ?? []).filter(
    (one) => one.sound && one.version !== decision.ruleVersion,
  );
  if (folders.data !== null && others.length === 0) return null;
  const choose = (/** @type {ChoiceEvent} */ event) => setVersion(event.currentTarget.value);
  const shown = (/** @type {DecisionWhatIf} */ then) => html`<${Then} then=${then} was=${decision} />`;
  return html`<section class="card">
    <h2>Another version then</h2>
    <${Field} label="Version" hint="Asked on the recorded facts; what came afterwards does not count.">
      <select onChange=${choose}>
        <option value="">choose</option>
        ${others.map((one) => html`<option>${one.version}</option>`)}
      </select>
    <//>
    <div role="status">${version !== '' && html`<${Answered} answer=${answer}>${shown}<//>`}</div>
  </section>`;
}

/** @param {{ then: DecisionWhatIf, was: Decision }} props */
function Then({ then: { version, decision, missing }, was }) {
  if (decision === null)
    return html`<p class="faint">
      ${version} cannot say: the record does not hold ${missing.join(', ')}, which it asks for.
    </p>`;
  const alike = decision.verdict === was.verdict && decision.waitSeconds === was.waitSeconds;
  return html`<p><${Verdict} ...${decision} /> by ${decision.rule}${alike && html`, the same answer`}</p>
    <p>${decision.reason}</p>`;
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
