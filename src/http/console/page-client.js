import { ask, useAnswer } from './api.js';
import { Confirm, Field, formValues } from './dialog.js';
import { dateTime, duration } from './format.js';
import { html, useState } from './html.js';
import { LadderMove } from './ladder.js';
import { Answered, Empty } from './notice.js';
import { DecisionTable } from './page-decisions.js';
import { FactsTable } from './trace.js';
import { Figures, Pill, VERDICTS } from './verdict.js';

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
  const mayList = session.operations.includes('decisions');
  const client = useAnswer(path);
  const history = useAnswer(
    mayList ? `decisions?limit=500&clientIdKey=${encodeURIComponent(clientIdKey)}` : null,
  );
  const [change, setChange] = useState(null);
  const done = () => {
    setChange(null);
    client.reload();
  };
  return html`<${Answered} answer=${client}>${(view) => html`
    <${State} view=${view} />
    <${ByHand} view=${view} path=${path} ask=${setChange} session=${session} />
    <section class="card"><h2>History</h2>
      <${TimeLine} view=${view} decisions=${history.data?.decisions ?? view.decisions} />
    </section>
    <section class="card"><h2>Ladder now</h2><${LadderNow} view=${view} /></section>
      <section class="card"><h2>Facts now</h2><p class="faint">As ${view.ruleVersion} sees them; no request is counted.</p><${FactsTable} facts=${view.facts} /></section>
    <section class="card"><h2>Last decisions</h2>
      ${view.decisions.length === 0 ? html`<p class="faint">No verdict was asked yet.</p>` : html`<${DecisionTable} decisions=${view.decisions} />`}
    </section>
    ${change && html`<${Confirm} ...${change} done=${done} cancel=${() => setChange(null)} />`}
  `}<//>`;
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

function groupTone(group) {
  if (group === 'BLOCKED') return 'bad';
  return group === 'NEW' ? 'plain' : 'good';
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
  const at = Date.now();
  return html`<${LadderMove} before=${last?.ladderBefore ?? view.ladder} after=${view.ladder} at=${at} />
    <p class="faint">Before the last decision, and as it stands now.</p>`;
}

const LANES = [...VERDICTS.map(({ name }) => name), 'outcome'];
const WIDTH = 1200;
const LEFT = 128;
const SCORE_HEIGHT = 56;
const LANE_HEIGHT = 24;

/** Score, verdicts, waits, outcomes and what people decided, over one axis of time. */
function TimeLine({ view, decisions }) {
  const events = eventsOf(view);
  const { waitUntil } = view.ladder;
  const times = [...decisions, ...events].map(({ at }) => at).concat(waitUntil ?? []);
  if (times.length === 0) return html`<p class="faint">Nothing happened yet.</p>`;
  const from = Math.min(...times);
  const to = Math.max(from + 60_000, ...times);
  const x = (at) => LEFT + ((Math.min(at, to) - from) / (to - from)) * (WIDTH - LEFT - 16);
  const height = SCORE_HEIGHT + LANES.length * LANE_HEIGHT + 34;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Time line">
    <svg class="time-line" viewBox=${`0 0 ${WIDTH} ${height}`} role="img" aria-label=${`${decisions.length} decisions from ${dateTime(from)} to ${dateTime(to)}; they are listed below`}>
      <${ScoreLine} decisions=${decisions} x=${x} end=${WIDTH - 16} />
      ${LANES.map((lane, index) => html`<path class="lane" d=${`M${LEFT} ${laneY(index)}H${WIDTH - 16}`} /><text x="0" y=${laneY(index) + 4}>${lane}</text>`)}
      ${decisions.map((decision) => html`<${Mark} decision=${decision} x=${x} />`)}
      ${events.map((event) => html`<${EventMark} event=${event} x=${x(event.at)} bottom=${laneY(LANES.length - 1) + 10} />`)}
      <text x=${LEFT} y=${height - 6}>${dateTime(from)}</text>
      <text x=${WIDTH - 16} y=${height - 6} text-anchor="end">${dateTime(to)} (${duration(to - from)})</text>
    </svg>
  </div>
  <ul class="legend">${events.map(({ at, text }) => html`<li>${dateTime(at)} ${text}</li>`)}</ul>`;
}

function laneY(index) {
  return SCORE_HEIGHT + 18 + index * LANE_HEIGHT;
}

function eventsOf({ firstSeenAt, outcomes, override }) {
  return [
    { at: firstSeenAt, text: 'first seen', kind: 'seen' },
    { at: outcomes.lastPaidAt, text: 'last paid order', kind: 'paid' },
    { at: outcomes.lastUnpaidAt, text: 'last unpaid order', kind: 'unpaid' },
    { at: override?.at ?? null, text: `override ${override?.group ?? ''}`, kind: 'override' },
  ].filter(({ at }) => at !== null);
}

function ScoreLine({ decisions, x, end }) {
  const y = (score) => 8 + (1 - Number(score)) * (SCORE_HEIGHT - 14);
  const [first, ...rest] = decisions.toReversed();
  if (first === undefined) return null;
  const path = rest.map(({ at, paymentScore }) => `H${x(at)}V${y(paymentScore)}`).join('');
  return html`<text x="0" y="20">score 1</text><text x="0" y=${SCORE_HEIGHT}>score 0</text>
    <path class="lane" d=${`M${LEFT} ${y(1)}H${end}M${LEFT} ${y(0)}H${end}`} />
    <path class="score-line" d=${`M${x(first.at)} ${y(first.paymentScore)}${path}H${end}`} />`;
}

function Mark({ decision: { at, verdict, waitSeconds }, x }) {
  const y = laneY(LANES.indexOf(verdict));
  const wait = waitSeconds === undefined ? 0 : x(at + waitSeconds * 1000) - x(at);
  return html`${wait > 0 && html`<rect class="wait-bar" x=${x(at)} y=${y - 5} width=${wait} height="10" />`}
    <circle class=${`mark-${verdict}`} cx=${x(at)} cy=${y} r="4.5"><title>${verdict} ${dateTime(at)}</title></circle>`;
}

function EventMark({ event: { kind, text }, x, bottom }) {
  if (kind === 'seen' || kind === 'override')
    return html`<path class="event" d=${`M${x} 6V${bottom}`}><title>${text}</title></path>`;
  const y = laneY(LANES.indexOf('outcome'));
  return html`<rect class=${`outcome-${kind}`} x=${x - 4} y=${y - 4} width="8" height="8"><title>${text}</title></rect>`;
}
