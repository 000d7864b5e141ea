import { may, useAnswer } from '../../api.js';
import { html, useState } from '../../html.js';
import { Confirm } from '../../parts/change/confirm.js';
import { Field, formValues } from '../../parts/form.js';
import { dateTime } from '../../parts/format.js';
import { LadderMove } from '../../parts/ladder.js';
import { LatelySeen } from '../../parts/lately-seen.js';
import { Answered, Empty } from '../../parts/notice.js';
import { FactsTable } from '../../parts/trace.js';
import { Figures, groupTone, Pill } from '../../parts/verdict.js';
import { client } from '../../questions.js';
import { ByHand } from './by-hand.js';
import { Past } from './past.js';

/**
 * @import { ClientView, Session } from '../../answers.d.ts'
 * @import { PageProps } from '../../page-props.d.ts'
 * @import { Proposal } from '../../parts/change/confirm.js'
 * @import { FormEvent } from '../../parts/form.js'
 */

/**
 * One payer: what is known, what happened, and what a person may decide about it.
 * @param {PageProps} props
 */
export function ClientPage({ place, session }) {
  const find = (/** @type {FormEvent} */ event) => {
    location.hash = `#/client/${encodeURIComponent(formValues(event)['clientIdKey'] ?? '')}`;
  };
  return html`
    <form class="filters" key=${place.item} onSubmit=${find}>
      <${Field} label="clientIdKey">
        <input name="clientIdKey" required maxlength="256" defaultValue=${place.item} />
      <//>
      <div class="buttons"><button type="submit" class="button-accent">Look up</button></div>
    </form>
    ${
      place.item === ''
        ? html`<${NoneChosen} session=${session} />`
        : html`<${Known} key=${place.item} clientIdKey=${place.item} session=${session} />`
    }`;
}

/** @param {{ session: Session }} props */
function NoneChosen({ session }) {
  if (may(session, 'decisions')) return html`<${LatelySeen} page="client" />`;
  return html`<${Empty} title="No client chosen">Enter the clientIdKey that the checkout sends.<//>`;
}

/** @param {{ clientIdKey: string, session: Session }} props */
function Known({ clientIdKey, session }) {
  const answer = useAnswer(client(clientIdKey));
  const [change, setChange] = useState(/** @type {Proposal<object | null> | null} */ (null));
  const [changes, setChanges] = useState(0);
  const done = () => {
    setChange(null);
    setChanges(changes + 1);
    answer.reload();
  };
  if (answer.error?.status === 404) return html`<${Unknown} clientIdKey=${clientIdKey} />`;
  const shown = (/** @type {ClientView} */ view) => html`
    <${State} view=${view} session=${session} />
    <${ByHand} view=${view} propose=${setChange} />
    <div class="past-and-now">
      <${Past} view=${view} changes=${changes} session=${session} />
      <div class="now">
        <section class="card"><h2>Ladder now</h2><${LadderNow} view=${view} /></section>
        <section class="card">
          <h2>Facts now</h2>
          <p class="faint">As ${view.ruleVersion} sees them; no request is counted.</p>
          <${FactsTable} facts=${view.facts} />
        </section>
      </div>
    </div>
    ${change && html`<${Confirm} ...${change} done=${done} cancel=${() => setChange(null)} />`}
  `;
  return html`<${Answered} answer=${answer}>${shown}<//>`;
}

/** @param {{ clientIdKey: string }} props */
function Unknown({ clientIdKey }) {
  return html`<${Empty} title="Nothing is known of this client">
    No checkout of this platform has asked about ${clientIdKey}. Keys are compared exactly, capital letters
    too; copy it from an order, or look for the order on the page <a href="#/decisions">Decisions</a>. A
    client is known from its first score, verdict or outcome on, until 400 days after the last.
  <//>`;
}

/** @param {{ view: ClientView, session: Session }} props */
function State({ view, session }) {
  const { outcomes, clientIdKey } = view;
  const figures = [
    ['payment score', view.paymentScore],
    ['paid orders', outcomes.paidCount],
    ['unpaid orders', outcomes.unpaidCount],
    ['decisions', view.decisionCount],
    ['first seen', dateTime(view.firstSeenAt)],
    ['last verdict', dateTime(view.lastVerdictAt)],
    ['last paid', dateTime(outcomes.lastPaidAt)],
    ['bot signals', view.signals.length === 0 ? 'none' : view.signals.join(', ')],
  ];
  const ask = `#/what-if/${encodeURIComponent(clientIdKey)}`;
  return html`<section class="card">
    <h2>
      ${clientIdKey} <${Pill} tone=${groupTone(view.clientGroup)}>${view.clientGroup}<//>
      ${view.isBot && html` <${Pill} tone="bad">bot<//>`}
    </h2>
    <${Figures} items=${figures} />
    ${may(session, 'rules') && html`<p><a href=${ask}>What would this client be answered now?</a></p>`}
  </section>`;
}

/** @param {{ view: ClientView }} props */
function LadderNow({ view: { ladder, decisions } }) {
  const last = decisions[0];
  const before = last?.ladderBefore ?? ladder;
  const beforeAt = last === undefined ? {} : { beforeAt: last.at };
  return html`<${LadderMove} before=${before} ...${beforeAt} after=${ladder} at=${Date.now()} />
    <p class="faint">Before the last decision, and as it stands now.</p>`;
}
