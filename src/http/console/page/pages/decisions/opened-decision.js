import { may, useAnswer } from '../../api.js';
import { html } from '../../html.js';
import { Copy } from '../../parts/copy.js';
import { dateTime, shortDigest } from '../../parts/format.js';
import { LadderMove } from '../../parts/ladder.js';
import { toClient, toDecision, toOrder } from '../../parts/links.js';
import { Answered, Empty } from '../../parts/notice.js';
import { Table } from '../../parts/table.js';
import { FactsTable, RulesTrace } from '../../parts/trace.js';
import { Figures, Pill, Verdict } from '../../parts/verdict.js';
import { explanation } from '../../questions.js';
import { callerText } from './caller-text.js';
import { amountOf, methodOf } from './decision-table.js';
import { OrderOutcome } from './order-outcome.js';
import { OtherVersion } from './other-version.js';

/** @import { Decision, Explanation, Session } from '../../answers.d.ts' */

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
  const link = `${location.origin}${location.pathname}${toDecision(decision.decisionId)}`;
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
        ${may(session, 'clients') && html`<${OrderOutcome} decision=${decision} />`}
        ${may(session, 'rules') && html`<${OtherVersion} decision=${decision} />`}
      </div>
    </div>
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
    ['version', html`<a href=${`#/rules/${ruleVersion}`}>${ruleVersion}</a> <code>${digest}</code>`],
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
