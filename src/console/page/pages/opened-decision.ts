import type { Decision, DecisionWhatIf, Explanation, Session } from '../answers.ts';
import { may, useAnswer } from '../api.ts';
import { html, useState } from '../html.ts';
import { amountOf, methodOf } from '../parts/decision-table.ts';
import { Choice, Copy } from '../parts/form.ts';
import { dateTime, shortDigest } from '../parts/format.ts';
import { outcomeTone } from '../parts/history.ts';
import { LadderMove } from '../parts/ladder.ts';
import { toClient, toDecision, toOrder, toVersion } from '../parts/links.ts';
import { answered, Empty } from '../parts/notice.ts';
import { Table } from '../parts/table.ts';
import { outcomeText } from '../parts/time-line.ts';
import { FactsTable, RulesTrace } from '../parts/trace.ts';
import { Figures, Pill, Verdict } from '../parts/verdict.ts';
import { clientHistory, decisionWhatIf, explanation, RULE_FOLDERS } from '../questions.ts';

/**
 * A decision as somebody needs it in a dispute: what was answered and why, what became of the order, what
 * another version would have answered then, and what support may say of it.
 */
export function OpenedDecision({ decisionId, session }: { decisionId: string; session: Session }) {
  const answer = useAnswer(explanation(decisionId));
  return answered(answer, (found) => html`<${Explained} explanation=${found} session=${session} />`);
}

function Explained({ explanation, session }: { explanation: Explanation; session: Session }) {
  const { decision, rules, ladder, sharedLists = [], reproduced, differences, verification } = explanation;
  const { payerText, integratorText } = explanation;
  const link = new URL(toDecision(decision.decisionId), location.href).href;
  const traced = may(session, 'rules') ? decision.ruleVersion : undefined;
  const proof = reproduced ? 'good' : 'bad';
  return html`<article>
    <section class="card">
      <h2 class="decision-title"><${Verdict} ...${decision} /> <span>${decision.reason}</span></h2>
      <${Figures} items=${figuresOf(decision)} />
      <p>
        ${sharedLists.map((list) => html`<${Pill}>on the shared list ${list}<//> `)}
        <${Pill} tone=${proof}>${reproduced ? '✓ reproduced' : '✗ not reproduced'}<//> ${verification}
      </p>
      ${
        differences.length > 0 &&
        html`<${Table} name="Differences" columns=${['member', 'on record', 'asked again']}
          rows=${differences.map(({ member, recorded, rerun }) => [
            ...[member, JSON.stringify(recorded), JSON.stringify(rerun)],
          ])} />`
      }
      <${Copy} label="Link" text=${link} />
    </section>
    <div class="why-and-ladder">
      <section class="card">
        <h2>Rule by rule</h2>
        ${
          rules === null
            ? html`<${Empty} title="The rules cannot be shown">${verification}<//>`
            : html`<${RulesTrace} rules=${rules} version=${traced} />`
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
      <${Copy} label="Words for the payer" text=${payerText} />
      ${rules === null && html`<p class="faint">Its rule cannot be shown; it may have had other words.</p>`}
    </section>
    <section class="card">
      <h2>For the integrator</h2>
      <${Copy} label="Words for the integrator" text=${integratorText} />
    </section>
    <section class="card"><h2>Facts</h2><${FactsTable} facts=${decision.facts} /></section>
  </article>`;
}

function figuresOf(decision: Decision) {
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

const ENTRIES_LOOKED_AT = 500;

/** What became of the order, as far as the client's history is kept; the newest report counts. */
function OrderOutcome({ decision }: { decision: Decision }) {
  const { orderRef, clientIdKey } = decision;
  const answer = useAnswer(clientHistory(clientIdKey, ENTRIES_LOOKED_AT));
  const shown = answered(answer, ({ entries, complete }) => {
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
  });
  return html`<section class="card">
    <h2>What became of the order</h2>
    <p>${amountOf(decision)} by ${methodOf(decision)}</p>
    ${shown}
  </section>`;
}

/** The same question to another version, on the recorded facts and with the client as it was then. */
function OtherVersion({ decision }: { decision: Decision }) {
  const folders = useAnswer(RULE_FOLDERS);
  const [version, setVersion] = useState('');
  const answer = useAnswer(version === '' ? null : decisionWhatIf(decision.decisionId, version));
  const others = (folders.data?.versions ?? []).filter(
    (one) => one.sound && one.version !== decision.ruleVersion,
  );
  if (folders.data !== null && others.length === 0) return null;
  const shown = version !== '' && answered(answer, (then) => html`<${Then} then=${then} was=${decision} />`);
  return html`<section class="card">
    <h2>Another version then</h2>
    <${Choice} label="Version" hint="Asked on the recorded facts; what came afterwards does not count."
      any="choose" values=${others.map((one) => one.version)} go=${setVersion} />
    <div role="status">${shown}</div>
  </section>`;
}

function Then({ then: { version, decision, missing }, was }: { then: DecisionWhatIf; was: Decision }) {
  if (decision === null)
    return html`<p class="faint">
      ${version} cannot say: the record does not hold ${missing.join(', ')}, which it asks for.
    </p>`;
  const alike = decision.verdict === was.verdict && decision.waitSeconds === was.waitSeconds;
  return html`<p><${Verdict} ...${decision} /> by ${decision.rule}${alike && html`, the same answer`}</p>
    <p>${decision.reason}</p>`;
}
