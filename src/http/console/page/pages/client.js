import { ask, useAnswer } from '../api.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { Confirm, Field, formValues } from '../parts/dialog.js';
import { dateTime } from '../parts/format.js';
import { LadderMove } from '../parts/ladder.js';
import { Answered, Empty } from '../parts/notice.js';
import { groupTone, TimeLine } from '../parts/time-line.js';
import { FactsTable } from '../parts/trace.js';
import { Figures, Pill } from '../parts/verdict.js';

const ENTRIES_AT_FIRST = 100;
const MOST_ENTRIES = 500;

/** One payer: what is known, what happened, and what a person may decide about it. */
export function ClientPage({ place, session }) {
  const find = (event) => {
    location.hash = `#/client/${encodeURIComponent(formValues(event).clientIdKey)}`;
  };
  return html`
    <form class="filters" key=${place.item} onSubmit=${find}>
      <${Field} label="clientIdKey"><input name="clientIdKey" required maxlength="256" defaultValue=${place.item} /><//>
      <div class="buttons"><button type="submit" class="button-accent">Look up</button></div>
    </form>
    ${
      place.item === ''
        ? html`<${Empty} title="No client chosen">Enter the clientIdKey that the checkout sends, or follow a client's name from the page Decisions.<//>`
        : html`<${Known} key=${place.item} clientIdKey=${place.item} session=${session} />`
    }`;
}

function Known({ clientIdKey, session }) {
  const path = `clients/${encodeURIComponent(clientIdKey)}`;
  const client = useAnswer(path);
  const [change, setChange] = useState(null);
  const [changes, setChanges] = useState(0);
  const done = () => {
    setChange(null);
    setChanges(changes + 1);
    client.reload();
  };
  if (client.error?.status === 404) return html`<${Unknown} clientIdKey=${clientIdKey} />`;
  return html`<${Answered} answer=${client}>${(view) => html`
    <${State} view=${view} />
    <${ByHand} view=${view} path=${path} ask=${setChange} session=${session} />
    <div class="past-and-now">
      <${History} path=${path} view=${view} changes=${changes} session=${session} />
      <div class="now">
        <section class="card"><h2>Ladder now</h2><${LadderNow} view=${view} /></section>
        <section class="card"><h2>Facts now</h2><p class="faint">As ${view.ruleVersion} sees them; no request is counted.</p><${FactsTable} facts=${view.facts} /></section>
      </div>
    </div>
    ${change && html`<${Confirm} ...${change} done=${done} cancel=${() => setChange(null)} />`}
  `}<//>`;
}

function Unknown({ clientIdKey }) {
  return html`<${Empty} title="Nothing is known of this client">No checkout of this platform has asked about ${clientIdKey}. Keys are compared exactly, capital letters too; copy it from an order, or look for the order on the page <a href="#/decisions">Decisions</a>. A client is known from its first score, verdict or outcome on, until 400 days after the last.<//>`;
}

/** What happened, newest first; more of it is asked for only when somebody wants it. */
function History({ path, view, changes, session }) {
  const [limit, setLimit] = useState(ENTRIES_AT_FIRST);
  const answer = useAnswer(`${path}/history?limit=${limit}`);
  const shown = useRef(null);
  useEffect(() => {
    if (changes > 0) answer.reload();
  }, [changes]);
  // While more is on its way the shorter line stays, so that the page does not jump.
  if (answer.data !== null) shown.current = answer.data;
  const mayLook = session.operations.includes('decisions');
  return html`<section class="card history"><h2>History</h2>
    <${Answered} answer=${{ ...answer, data: shown.current }}>${({ entries, complete }) => html`
      ${entries.length > 0 && html`<${TimeLine} entries=${entries} mayLook=${mayLook} />`}
      ${entries.length === 0 && html`<${NoEntries} view=${view} mayLook=${mayLook} />`}
      ${entries.length > 0 && !complete && html`<${Older} view=${view} entries=${entries} more=${entries.length === limit && limit < MOST_ENTRIES ? () => setLimit(MOST_ENTRIES) : null} mayLook=${mayLook} />`}
    `}<//>
  </section>`;
}

function NoEntries({ view, mayLook }) {
  return html`<${Empty} title="No entry is kept any more">The journal keeps the newest million entries of all clients, and this one has been away for longer. ${mayLook && html`<${DecisionsLink} view=${view} /> are kept for 90 days.`}<//>`;
}

function Older({ view, entries, more, mayLook }) {
  return html`<div class="notice"><strong>Older entries are not shown</strong>
    <p>The line ends at ${dateTime(entries.at(-1).at)}; the client is known since ${dateTime(view.firstSeenAt)}. ${more === null && 'What is older than this line is not kept in the journal, or beyond what one page shows. '}${mayLook && html`<${DecisionsLink} view=${view} /> are kept for 90 days.`}</p>
    ${more !== null && html`<button type="button" onClick=${more}>Show up to ${MOST_ENTRIES}</button>`}
  </div>`;
}

function DecisionsLink({ view }) {
  return html`<a href=${`#/decisions?clientIdKey=${encodeURIComponent(view.clientIdKey)}`}>Its decisions</a>`;
}

function State({ view }) {
  const { outcomes } = view;
  return html`<section class="card">
    <h2>${view.clientIdKey} <${Pill} tone=${groupTone(view.clientGroup)}>${view.clientGroup}<//>${view.isBot && html` <${Pill} tone="bad">bot<//>`}</h2>
    <${Figures} items=${[
      ['payment score', view.paymentScore],
      ['paid orders', outcomes.paidCount],
      ['unpaid orders', outcomes.unpaidCount],
      ['decisions', view.decisionCount],
      ['first seen', dateTime(view.firstSeenAt)],
      ['last verdict', dateTime(view.lastVerdictAt)],
      ['last paid', dateTime(outcomes.lastPaidAt)],
      ['bot signals', view.signals.length === 0 ? 'none' : view.signals.join(', ')],
    ]} />
  </section>`;
}

/** The override and the binding, each with the form to set it and the button to lift it. */
function ByHand({ view, path, ask: propose }) {
  return html`<div class="two">
    <section class="card"><h2>Override</h2>
      ${
        view.override === null
          ? html`<p class="faint">None: the rules decide the group.</p>`
          : html`<p><${Pill} tone=${groupTone(view.override.group)}>${view.override.group}<//> since ${dateTime(view.override.at)} by <b>${view.override.by}</b>${untilText(view.override)}: ${view.override.reason}</p>`
      }
      <${OverrideForm} view=${view} path=${path} propose=${propose} />
    </section>
    <section class="card"><h2>Binding</h2>
      ${
        view.binding === null
          ? html`<p class="faint">None: each attempt gets a new requisite.</p>`
          : html`<p>Requisite <b>${view.binding.requisiteRef}</b>${view.binding.method && ` for ${view.binding.method}`}${untilText(view.binding)}; acceptors ${view.binding.acceptorKeys.join(', ')}</p>`
      }
      <${BindingForm} view=${view} path=${path} propose=${propose} />
    </section>
  </div>`;
}

function untilText({ expiresAt }) {
  return expiresAt === null ? '' : ` until ${dateTime(expiresAt)}`;
}

function OverrideForm({ view, path, propose }) {
  const set = (event) => {
    const { days, ...body } = formValues(event);
    const until = untilOf(days);
    propose({
      title: `${body.group === 'BLOCKED' ? 'Block' : 'Trust'} ${view.clientIdKey}?`,
      action: body.group === 'BLOCKED' ? 'Block the client' : 'Trust the client',
      tone: body.group === 'BLOCKED' ? 'bad' : 'accent',
      act: () => ask('PUT', `${path}/override`, { ...body, ...until }),
      children: html`<p>From the next request on the group is <b>${body.group}</b>${days ? ` for ${days} days` : ', until somebody lifts it'}. Reason: ${body.reason}</p>`,
    });
  };
  const lift = () =>
    propose({
      title: `Lift the override of ${view.clientIdKey}?`,
      action: 'Lift the override',
      act: () => ask('DELETE', `${path}/override`),
      children: html`<p>From the next request on the rules decide the group again.</p>`,
    });
  return html`<details><summary>${view.override === null ? 'Set an override' : 'Change it'}</summary>
    <form class="stack" onSubmit=${set}>
      <${Field} label="Group"><select name="group"><option>BLOCKED</option><option>TRUSTED</option></select><//>
      <${Field} label="Reason"><input name="reason" required maxlength="1000" /><//>
      <${Field} label="By" hint="Your name, for the record"><input name="by" required maxlength="256" autocomplete="name" /><//>
      <${Field} label="For how many days" hint="Empty: until it is lifted"><input name="days" type="number" min="1" max="3650" /><//>
      <button type="submit" class="button-accent">Set the override …</button>
    </form>
  </details>
  ${view.override !== null && html`<button type="button" onClick=${lift}>Lift the override …</button>`}`;
}

function BindingForm({ view, path, propose }) {
  const set = (event) => {
    const { days, acceptors, ...body } = formValues(event);
    const acceptorKeys = acceptors
      .split(',')
      .map((key) => key.trim())
      .filter((key) => key !== '');
    propose({
      title: `Bind ${view.clientIdKey}?`,
      action: 'Bind the client',
      act: () => ask('PUT', `${path}/binding`, { ...body, acceptorKeys, ...untilOf(days) }),
      children: html`<p>When no wait is due, the client is shown the requisite <b>${body.requisiteRef}</b> again.</p>`,
    });
  };
  const lift = () =>
    propose({
      title: `Unbind ${view.clientIdKey}?`,
      action: 'Remove the binding',
      act: () => ask('DELETE', `${path}/binding`),
      children: html`<p>The next attempt gets a new requisite.</p>`,
    });
  return html`<details><summary>${view.binding === null ? 'Set a binding' : 'Change it'}</summary>
    <form class="stack" onSubmit=${set}>
      <${Field} label="Requisite"><input name="requisiteRef" required maxlength="256" /><//>
      <${Field} label="Acceptors" hint="One or more keys, separated by commas"><input name="acceptors" required /><//>
      <${Field} label="Method" hint="Empty: it fits all methods"><input name="method" maxlength="256" /><//>
      <${Field} label="For how many days" hint="Empty: until it is removed"><input name="days" type="number" min="1" max="3650" /><//>
      <button type="submit" class="button-accent">Set the binding …</button>
    </form>
  </details>
  ${view.binding !== null && html`<button type="button" onClick=${lift}>Remove the binding …</button>`}`;
}

function untilOf(days) {
  return days === undefined ? {} : { expiresAt: Date.now() + Number(days) * 86_400_000 };
}

function LadderNow({ view }) {
  const last = view.decisions[0];
  return html`<${LadderMove} before=${last?.ladderBefore ?? view.ladder} beforeAt=${last?.at} after=${view.ladder} at=${Date.now()} />
    <p class="faint">Before the last decision, and as it stands now.</p>`;
}
