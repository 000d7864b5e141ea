import type { Binding, ClientHistory, ClientView, HistoryEntry, Override, Session } from '../answers.ts';
import { ask, may, useAnswer } from '../api.ts';
import { html, useEffect, useRef, useState } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { type Proposal, useProposal } from '../parts/confirm.ts';
import { LatelySeen } from '../parts/decision-table.ts';
import { Choice, endAfter, Field, goTo, LastDay, sent } from '../parts/form.ts';
import { dateTime } from '../parts/format.ts';
import { LadderMove } from '../parts/ladder.ts';
import { toClient } from '../parts/links.ts';
import { answered, Empty } from '../parts/notice.ts';
import { TimeLine } from '../parts/time-line.ts';
import { FactsTable } from '../parts/trace.ts';
import { Figures, groupTone, Pill } from '../parts/verdict.ts';
import { client, clientHistory, clientMember } from '../questions.ts';
import { Left } from '../visits.ts';
import { Links } from './client-links.ts';

/** One payer: what is known, what happened, and what a person may decide about it. */
export function ClientPage({ place, session }: PageProps) {
  const find = sent(({ clientIdKey = '' }) => goTo(toClient(clientIdKey)));
  return html`
    <form class="filters" key=${place.item} onSubmit=${find}>
      <${Field} label="clientIdKey">
        <input name="clientIdKey" required maxlength="256" defaultValue=${place.item} />
      <//>
      <div class="buttons"><button type="submit" class="button-accent">Look up</button></div>
    </form>
    ${place.item !== '' && html`<${Known} key=${place.item} clientIdKey=${place.item} session=${session} />`}
    ${
      place.item === '' &&
      (may(session, 'decisions')
        ? html`<${LatelySeen} to=${toClient} />`
        : html`<${Empty} title="No client chosen">Enter the clientIdKey that the checkout sends.<//>`)
    }`;
}

function Known({ clientIdKey, session }: { clientIdKey: string; session: Session }) {
  const answer = useAnswer(client(clientIdKey));
  const [changes, setChanges] = useState(0);
  const { propose, dialog } = useProposal(() => {
    setChanges(changes + 1);
    answer.reload();
  });
  if (answer.error?.status === 404)
    return html`<${Empty} title="Nothing is known of this client">
      No checkout of this platform has asked about ${clientIdKey}. Keys are compared exactly, capital letters
      too; copy it from an order, or look for the order in the place <a href="#/decisions">Decisions</a>. A
      client is known from its first score, verdict or outcome on, until 400 days after the last.
    <//>`;
  return answered(
    answer,
    (view) => html`
      <${State} view=${view} />
      ${may(session, 'waits') && html`<${WaitNow} view=${view} propose=${propose} />`}
      ${may(session, 'clients') && html`<${ByHand} view=${view} propose=${propose} />`}
      <${Links} clientIdKey=${clientIdKey} session=${session} propose=${propose} />
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
      ${dialog}`,
  );
}

function State({ view }: { view: ClientView }) {
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
  return html`<section class="card">
    <h2>
      ${clientIdKey} <${Pill} tone=${groupTone(view.clientGroup)}>${view.clientGroup}<//>
      ${view.isBot && html` <${Pill} tone="bad">bot<//>`}
    </h2>
    <${Figures} items=${figures} />
  </section>`;
}

function LadderNow({ view: { ladder, decisions } }: { view: ClientView }) {
  const last = decisions[0];
  const before = last?.ladderBefore ?? ladder;
  const beforeAt = last === undefined ? {} : { beforeAt: last.at };
  return html`<${LadderMove} before=${before} ...${beforeAt} after=${ladder} at=${Date.now()} />
    <p class="faint">Before the last decision, and as it stands now.</p>`;
}

interface ByHandProps {
  view: ClientView;
  propose: (change: Proposal<unknown>) => void;
}

/** The wait that is due, with the form to end it. */
function WaitNow({ view: { clientIdKey, ladder, decisions, override }, propose }: ByHandProps) {
  const wait = decisions.find(
    ({ verdict, ladderAfter }) => verdict === 'WAIT' && ladderAfter.waitUntil === ladder.waitUntil,
  );
  if (wait === undefined || ladder.waitUntil === null || ladder.waitUntil <= Date.now()) return null;
  const { decisionId } = wait;
  const end = sent((body) =>
    propose({
      title: `End the wait of ${clientIdKey}?`,
      action: 'End the wait',
      act: () => ask('POST', clientMember(clientIdKey, 'wait/end'), { ...body, decisionId }),
      children: html`<p>
        The page of the payer does not know it: tell the payer to ask again. Reason: ${body['reason']}
      </p>`,
    }),
  );
  return html`<section class="card">
    <h2>Due wait, to ${dateTime(ladder.waitUntil)}</h2>
    ${override !== null && html`<p>The override ${override.group} lifts no wait.</p>`}
    <form class="stack" onSubmit=${end}>
      <${Field} label="Reason"><input name="reason" required maxlength="1000" /><//>
      <button type="submit">End the wait …</button>
    </form>
  </section>`;
}

/** The override and the binding, each with the form to set it and the button to lift it. */
function ByHand({ view, propose }: ByHandProps) {
  return html`<div class="two">
    <section class="card">
      <h2>Override</h2>
      ${overrideText(view.override)}
      <${OverrideForm} view=${view} propose=${propose} />
    </section>
    <section class="card">
      <h2>Binding</h2>
      ${bindingText(view.binding)}
      <${BindingForm} view=${view} propose=${propose} />
    </section>
  </div>`;
}

function overrideText(override: Override | null) {
  if (override === null) return html`<p class="faint">None: the rules decide the group.</p>`;
  const { group, at, by, reason } = override;
  return html`<p>
    <${Pill} tone=${groupTone(group)}>${group}<//> since ${dateTime(at)} by${' '}
    <b>${by}</b>${untilText(override)}: ${reason}
  </p>`;
}

function bindingText(binding: Binding | null) {
  if (binding === null) return html`<p class="faint">None: each attempt gets a new requisite.</p>`;
  const { requisiteRef, method, acceptorKeys } = binding;
  return html`<p>
    Requisite <b>${requisiteRef}</b>${method && ` for ${method}`}${untilText(binding)}; acceptors
    ${' '}${acceptorKeys.join(', ')}
  </p>`;
}

function untilText({ expiresAt }: { expiresAt: number | null }) {
  return expiresAt === null ? '' : ` until ${dateTime(expiresAt)}`;
}

function OverrideForm({ view: { clientIdKey, override }, propose }: ByHandProps) {
  const set = sent(({ lastDay, ...body }) => {
    const blocks = body['group'] === 'BLOCKED';
    const { expires, howLong } = endAfter(lastDay, 'until somebody lifts it');
    propose({
      title: `${blocks ? 'Block' : 'Trust'} ${clientIdKey}?`,
      action: blocks ? 'Block the client' : 'Trust the client',
      tone: blocks ? 'bad' : 'accent',
      act: () => ask('PUT', clientMember(clientIdKey, 'override'), { ...body, ...expires }),
      children: html`<p>
        From the next request on the group is <b>${body['group']}</b>${howLong}. Reason: ${body['reason']}
      </p>`,
    });
  });
  const lift = () =>
    propose({
      title: `Lift the override of ${clientIdKey}?`,
      action: 'Lift the override',
      act: () => ask('DELETE', clientMember(clientIdKey, 'override')),
      children: html`<p>From the next request on the rules decide the group again.</p>`,
    });
  return html`<details>
      <summary>${override === null ? 'Set an override' : 'Change it'}</summary>
      <form class="stack" onSubmit=${set}>
        <${Choice} label="Group" name="group" values=${['BLOCKED', 'TRUSTED']} />
        <${Field} label="Reason"><input name="reason" required maxlength="1000" /><//>
        <${LastDay} otherwise="until it is lifted" />
        <button type="submit" class="button-accent">Set the override …</button>
      </form>
    </details>
    ${override !== null && html`<button type="button" onClick=${lift}>Lift the override …</button>`}`;
}

function BindingForm({ view: { clientIdKey, binding }, propose }: ByHandProps) {
  const set = sent(({ lastDay, acceptors = '', ...body }) => {
    const acceptorKeys = acceptors
      .split(',')
      .map((key) => key.trim())
      .filter((key) => key !== '');
    const { expires, howLong } = endAfter(lastDay, 'until somebody removes it');
    const bound = { ...body, acceptorKeys, ...expires };
    propose({
      title: `Bind ${clientIdKey}?`,
      action: 'Bind the client',
      act: () => ask('PUT', clientMember(clientIdKey, 'binding'), bound),
      children: html`<p>
        When no wait is due, the client is shown the requisite <b>${body['requisiteRef']}</b> again${howLong}.
      </p>`,
    });
  });
  const lift = () =>
    propose({
      title: `Unbind ${clientIdKey}?`,
      action: 'Remove the binding',
      act: () => ask('DELETE', clientMember(clientIdKey, 'binding')),
      children: html`<p>The next attempt gets a new requisite.</p>`,
    });
  return html`<details>
      <summary>${binding === null ? 'Set a binding' : 'Change it'}</summary>
      <form class="stack" onSubmit=${set}>
        <${Field} label="Requisite"><input name="requisiteRef" required maxlength="256" /><//>
        <${Field} label="Acceptors" hint="One or more keys, separated by commas">
          <input name="acceptors" required />
        <//>
        <${Field} label="Method" hint="Empty: it fits all methods"><input name="method" maxlength="256" /><//>
        <${LastDay} otherwise="until it is removed" />
        <button type="submit" class="button-accent">Set the binding …</button>
      </form>
    </details>
    ${binding !== null && html`<button type="button" onClick=${lift}>Remove the binding …</button>`}`;
}

const ENTRIES_AT_FIRST = 100;
/** How many Back shows again. */
const limits: Left<number> = new Left();
const ENTRIES_MAX = 500;

/** What happened, newest first; more of it is asked for only when somebody wants it. */
function Past({ view, changes, session }: { view: ClientView; changes: number; session: Session }) {
  const [limit, setLimit] = useState(() => limits.get() ?? ENTRIES_AT_FIRST);
  const answer = useAnswer(clientHistory(view.clientIdKey, limit));
  const shown = useRef<ClientHistory | null>(null);
  useEffect(() => {
    if (changes > 0) answer.reload();
  }, [changes]);
  // While more is on its way the shorter line stays, so that the page does not jump.
  if (answer.data !== null) shown.current = answer.data;
  const mayLook = may(session, 'decisions');
  const showMore = () => {
    limits.set(ENTRIES_MAX);
    setLimit(ENTRIES_MAX);
  };
  const line = answered({ ...answer, data: shown.current }, ({ entries, complete }) => {
    if (entries.length === 0) return html`<${NoEntries} view=${view} mayLook=${mayLook} />`;
    // Repeats of outcomes are left out: fewer entries than were asked for do not mean that there are no more.
    const older = { view, entries, mayLook, more: limit < ENTRIES_MAX };
    return html`<${TimeLine} entries=${entries} mayLook=${mayLook} />
      ${!complete && html`<${Older} ...${older} showMore=${showMore} />`}`;
  });
  return html`<section class="card history"><h2>History</h2>${line}</section>`;
}

function NoEntries({ view, mayLook }: { view: ClientView; mayLook: boolean }) {
  return html`<${Empty} title="No entry is kept any more">
    The journal keeps the newest million entries of all clients, and this one has been away for longer.${' '}
    ${mayLook && html`<${DecisionsLink} view=${view} /> have a page of their own.`}
  <//>`;
}

function Older({
  view,
  entries,
  mayLook,
  more,
  showMore,
}: {
  view: ClientView;
  entries: readonly HistoryEntry[];
  mayLook: boolean;
  more: boolean;
  showMore: () => void;
}) {
  const ends = `The line ends at ${dateTime(entries.at(-1)?.at)}`;
  const beyond = 'What is older than this line is not kept in the journal, or beyond what one page shows.';
  return html`<div class="notice">
    <strong>Older entries are not shown</strong>
    <p>
      ${ends}; the client is known since ${dateTime(view.firstSeenAt)}. ${!more && `${beyond} `}
      ${mayLook && html`<${DecisionsLink} view=${view} /> have a page of their own.`}
    </p>
    ${more && html`<button type="button" onClick=${showMore}>Show up to ${ENTRIES_MAX}</button>`}
  </div>`;
}

function DecisionsLink({ view }: { view: ClientView }) {
  const href = `#/decisions?clientIdKey=${encodeURIComponent(view.clientIdKey)}`;
  return html`<a href=${href}>Its decisions</a>`;
}
