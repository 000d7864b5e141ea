import type { Binding, HistoryEntry, Override } from '../answers.ts';
import { html, useMemo, useState } from '../html.ts';
import { clockSeconds, counted, dateTime, day, duration } from './format.ts';
import {
  type EntryRow,
  earlyMs,
  KINDS,
  type OutcomeEntry,
  outcomeTone,
  type Row,
  rowsOf,
  Sign,
  signOfRow,
  type Wait,
  whyNeither,
} from './history.ts';
import { toDecision, toOrder } from './links.ts';
import { groupTone, Pill, Verdict } from './verdict.ts';

type Kind = HistoryEntry['kind'];

/**
 * All that happened to a client on one line, newest first. `mayLook` says whether the key may open
 * decisions, so that links to them lead somewhere.
 */
export function TimeLine({ entries, mayLook }: { entries: readonly HistoryEntry[]; mayLook: boolean }) {
  const rows = useMemo(() => rowsOf(entries, Date.now()), [entries]);
  const [hidden, setHidden] = useState<readonly Kind[]>([]);
  const toggle = (kind: Kind) =>
    setHidden(hidden.includes(kind) ? hidden.filter((one) => one !== kind) : [...hidden, kind]);
  const shown = rows.filter((row) => !hidden.includes(kindShownWith(row)));
  return html`
    <${Kinds} entries=${entries} hidden=${hidden} toggle=${toggle} />
    <p class="faint" role="status">${summary(rows, entries)}</p>
    ${shown.length === 0 && html`<p>All kinds are hidden. Press one of the buttons above to show it.</p>`}
    ${[...Map.groupBy(shown, ({ at }) => day(at))].map(
      ([date, ofDay]) => html`<section key=${date} class="day">
        <h3>${date}</h3>
        <ol class="moments" role="list">
          ${ofDay.map((row) => html`<${Moment} row=${row} mayLook=${mayLook} />`)}
        </ol>
      </section>`,
    )}`;
}

/** The end of a wait goes with the verdict that began it. */
function kindShownWith(row: Row) {
  return 'entry' in row ? row.kind : 'verdict';
}

/** Buttons that show and hide the kinds; what they show is also the key to the signs. */
function Kinds({
  entries,
  hidden,
  toggle,
}: {
  entries: readonly HistoryEntry[];
  hidden: readonly Kind[];
  toggle: (kind: Kind) => void;
}) {
  return html`<div class="kinds" role="group" aria-label="Kinds of entries shown">
    ${KINDS.map(({ kind, many }) => {
      const times = entries.filter((entry) => entry.kind === kind).length;
      const state = { 'aria-pressed': !hidden.includes(kind), disabled: times === 0 };
      return html`<button type="button" ...${state} onClick=${() => toggle(kind)}>
        <${Sign} kind=${kind} /><span>${many} <b class="num">${times}</b></span>
      </button>`;
    })}
  </div>`;
}

function summary(rows: readonly Row[], entries: readonly HistoryEntry[]) {
  const waits = rows.filter((row) => 'wait' in row && row.wait !== null).length;
  const early = entries.filter((entry) => earlyMs(entry) > 0).length;
  const all = `${counted(entries.length, 'entry', 'entries')}, newest first`;
  if (waits === 0) return `${all}; no wait`;
  const asked =
    early === 0 ? 'none was cut into' : `asked too early ${early === 1 ? 'once' : `${early} times`}`;
  return `${all}; ${counted(waits, 'wait')}, ${asked}`;
}

function Moment({ row, mayLook }: { row: Row; mayLook: boolean }) {
  const { kind, at, waitingBefore, waitingAfter } = row;
  const sinceMs = 'sinceMs' in row ? (row.sinceMs ?? 0) : 0;
  const classes = ['moment', `moment-${kind}`];
  if (waitingAfter) classes.push('waits-after');
  if (waitingBefore) classes.push('waits-before');
  const time = kind === 'running' ? 'now' : clockSeconds(at);
  return html`<li class=${classes.join(' ')}>
    <span class="moment-time num">
      <time datetime=${new Date(at).toISOString()}>${time}</time>
      ${sinceMs > 0 && html`<small class="faint">+${fineDuration(sinceMs)}</small>`}
    </span>
    <span class="moment-sign"><${Sign} ...${signOfRow(row)} /></span>
    <div class="moment-body"><${MomentBody} row=${row} mayLook=${mayLook} /></div>
  </li>`;
}

/** What a row of the time line says. */
function MomentBody({ row, mayLook }: { row: Row; mayLook: boolean }) {
  if (row.kind === 'over') return html`<p class="faint">wait of level ${row.level} over</p>`;
  if (row.kind === 'running') {
    const until = html`<b class="when">${clockSeconds(row.end)}</b>`;
    return html`<p>waits until ${until}, ${duration(row.end - row.at)} from now</p>`;
  }
  return html`<${EntryMoment} row=${row} mayLook=${mayLook} />`;
}

function EntryMoment({ row: { entry, wait, corrects }, mayLook }: { row: EntryRow; mayLook: boolean }) {
  switch (entry.kind) {
    case 'verdict':
      return html`<${VerdictMoment} entry=${entry} wait=${wait} mayLook=${mayLook} />`;
    case 'score':
      return html`<${ScoreMoment} ...${entry} />`;
    case 'outcome':
      return html`<${OutcomeMoment} entry=${entry} corrects=${corrects} mayLook=${mayLook} />`;
    case 'binding':
      return html`<${BindingMoment} binding=${entry.binding} />`;
    case 'override':
      return html`<${OverrideMoment} override=${entry.override} />`;
    case 'waitEnded':
      return html`<p>the wait was ended by <b>${entry.by}</b>: ${entry.reason}</p>`;
    default:
      return entry;
  }
}

function VerdictMoment({
  entry,
  wait,
  mayLook,
}: {
  entry: Extract<HistoryEntry, { kind: 'verdict' }>;
  wait: Wait | null;
  mayLook: boolean;
}) {
  const { decision } = entry;
  const early = earlyMs(entry);
  const { clientGroup, paymentScore, rule, ruleVersion } = decision;
  const by = `${clientGroup} ${paymentScore}, rule ${rule} of ${ruleVersion}`;
  const why = {
    href: toDecision(decision.decisionId),
    'aria-label': `why the verdict ${decision.verdict} fell at ${clockSeconds(entry.at)}`,
  };
  return html`<p class="moment-head">
      <b>verdict</b> <${Verdict} ...${decision} />
      <span>order <${OrderLink} orderRef=${decision.orderRef} mayLook=${mayLook} /></span>
      ${early > 0 && html`<${Pill} tone="bad">${duration(early)} too early<//>`}
      ${decision.isBot && html`<${Pill} tone="bad">bot<//>`}
      ${decision.arm === 'candidate' && html`<${Pill} tone="note">candidate<//>`}
    </p>
    ${wait && html`<${WaitBar} wait=${wait} />`}
    <p>${decision.reason}</p>
    <p class="faint">${by}${mayLook && html`, <a ...${why}>why</a>`}</p>`;
}

function OrderLink({ orderRef, mayLook }: { orderRef: string; mayLook: boolean }) {
  if (!mayLook) return html`<b>${orderRef}</b>`;
  return html`<a href=${toOrder(orderRef)}>${orderRef}</a>`;
}

/** A wait from its start to its end, with a mark for each request that came inside. */
function WaitBar({ wait }: { wait: Wait }) {
  const { at, end, requests, cut } = wait;
  const part = (moment: number) => `${Math.min(100, (100 * (moment - at)) / (end - at))}%`;
  const served = cut?.at ?? Math.min(end, Date.now());
  return html`<div class="wait">
    <div class=${cut === null ? 'wait-bar' : 'wait-bar wait-cut'} aria-hidden="true">
      <i class="wait-served" style=${{ width: part(served) }}></i>
      ${requests.map((moment) => html`<i class="wait-request" style=${{ left: part(moment) }}></i>`)}
    </div>
    <div class="wait-ends num">
      <span>${clockSeconds(at)}</span><span>${duration(end - at)}</span><span>${clockSeconds(end)}</span>
    </div>
    <${RequestsInside} wait=${wait} />
    ${cut?.why === 'paid' && html`<p>paid after ${fineDuration(cut.at - at)}, so the wait ended</p>`}
    ${cut?.why === 'granted' && html`<p>granted before its end, so the wait ended</p>`}
  </div>`;
}

function RequestsInside({ wait: { at, requests, cut } }: { wait: Wait }) {
  if (requests.length === 0) return null;
  const times = requests.map((moment) => fineDuration(moment - at)).join(', ');
  const then = cut?.why === 'longer' ? ', so a longer wait began' : '';
  return html`<p><span class="bad" aria-hidden="true">▲ </span>asked again after ${times}${then}</p>`;
}

/** Programs ask again within a second. */
function fineDuration(ms: number) {
  return ms < 1000 ? `${ms} ms` : duration(ms);
}

function ScoreMoment({ request, answer, ruleVersion }: Extract<HistoryEntry, { kind: 'score' }>) {
  const hints = [
    request.honeypotTriggered && 'a trap field was filled in',
    request.userAgentIsAutomated && 'the User-Agent is a program',
    request.jsOk === false && 'the page ran no JavaScript',
    !request.fingerprintPresent && !request.ipPresent && 'no fingerprint or IP was sent',
  ].filter(Boolean);
  const acceptors = answer.preferredAcceptorKey ?? [];
  const limits = answer.payLimitValue ?? [];
  const amount = `${request.amount} ${request.currency ?? ''}`.trimEnd();
  const answered = [
    acceptors.length > 0 ? `; acceptors ${acceptors.join(', ')}` : '',
    limits.length > 0 ? `; at most ${limits.join(', ')}` : '',
  ].join('');
  return html`<p class="moment-head">
      <b>score</b> <${Pill} tone=${groupTone(answer.clientGroup)}>${answer.clientGroup}<//>
      <b class="num">${answer.paymentScore}</b> ${answer.isBot && html`<${Pill} tone="bad">bot<//>`}
    </p>
    <p class="faint">
      <bdi>${amount}</bdi> by <bdi>${request.method}</bdi> at <bdi>${request.sellPointKey}</bdi>,
      ${` ${ruleVersion}${answered}`}
    </p>
    ${hints.length > 0 && html`<p class="faint">${hints.join('; ')}</p>`}`;
}

function OutcomeMoment({
  entry,
  corrects,
  mayLook,
}: {
  entry: OutcomeEntry;
  corrects: OutcomeEntry | null;
  mayLook: boolean;
}) {
  const { orderRef, at, occurredAt } = entry;
  const neither = whyNeither(entry);
  const late = at - occurredAt;
  return html`<p class="moment-head">
      <b>outcome</b> <${Pill} tone=${outcomeTone(entry)}>${outcomeText(entry)}<//>
      <span>order <${OrderLink} orderRef=${orderRef} mayLook=${mayLook} /></span>
    </p>
    ${neither !== null && html`<p class="faint">${neither}</p>`}
    ${
      corrects !== null &&
      html`<p class="faint">
        corrects ${outcomeText(corrects)}, told at <span class="when">${dateTime(corrects.at)}</span>
      </p>`
    }
    ${late >= 1000 && html`<p class="faint">happened ${duration(late)} before it was told</p>`}`;
}

/** `PAID`, `UNPAID EXPIRED`. */
export function outcomeText({ outcome, cause }: Pick<OutcomeEntry, 'outcome' | 'cause'>) {
  return cause === null ? outcome : `${outcome} ${cause}`;
}

function BindingMoment({ binding }: { binding: Binding | null }) {
  if (binding === null) return html`<p class="moment-head"><b>binding</b> <${Pill}>removed<//></p>`;
  const fits = binding.method === null ? 'fits every method' : `fits ${binding.method} only`;
  return html`<p class="moment-head">
      <b>binding</b> <${Pill} tone="good">set<//> <span>requisite <b>${binding.requisiteRef}</b></span>
    </p>
    <p class="faint">acceptors ${binding.acceptorKeys.join(', ')}; ${fits}${untilWords(binding)}</p>`;
}

function OverrideMoment({ override }: { override: Override | null }) {
  if (override === null)
    return html`<p class="moment-head"><b>override</b> <${Pill}>lifted<//></p>
      <p class="faint">the rules decide the group again</p>`;
  return html`<p class="moment-head">
      <b>override</b> <${Pill} tone=${groupTone(override.group)}>${override.group}<//>
      <span>set by <b>${override.by}</b></span>
    </p>
    <p>${override.reason}<span class="faint">${untilWords(override)}</span></p>`;
}

function untilWords({ expiresAt }: { expiresAt: number | null }) {
  return expiresAt === null ? '' : `; until ${dateTime(expiresAt)}`;
}
