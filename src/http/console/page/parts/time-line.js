import { html, useMemo, useState } from '../html.js';
import { clockSeconds, day, duration } from './format.js';
import { earlyMs, KINDS, rowsOf } from './history.js';
import { Pill, VERDICTS, Verdict } from './verdict.js';

/**
 * All that happened to a client on one line, newest first. `mayLook` says whether the key may open
 * decisions, so that links to them lead somewhere.
 */
export function TimeLine({ entries, mayLook }) {
  const rows = useMemo(() => rowsOf(entries, Date.now()), [entries]);
  const [hidden, setHidden] = useState([]);
  const toggle = (kind) =>
    setHidden(hidden.includes(kind) ? hidden.filter((one) => one !== kind) : [...hidden, kind]);
  const shown = rows.filter(({ kind }) => !hidden.includes(kindShownWith(kind)));
  return html`
    <${Kinds} entries=${entries} hidden=${hidden} toggle=${toggle} />
    <p class="faint" role="status">${summary(rows, entries)}</p>
    ${shown.length === 0 && html`<p>All kinds are hidden. Press one of the buttons above to show it.</p>`}
    ${byDay(shown).map(
      ([date, ofDay]) => html`<section key=${date} class="day">
        <h3>${date}</h3>
        <ol class="moments" role="list">${ofDay.map((row) => html`<${Moment} row=${row} mayLook=${mayLook} />`)}</ol>
      </section>`,
    )}`;
}

/** The end of a wait goes with the verdict that began it. */
function kindShownWith(kind) {
  return kind === 'over' || kind === 'running' ? 'verdict' : kind;
}

/** Buttons that show and hide the kinds; what they show is also the key to the signs. */
function Kinds({ entries, hidden, toggle }) {
  return html`<div class="kinds" role="group" aria-label="Kinds of entries shown">
    ${KINDS.map(({ kind, many }) => {
      const count = entries.filter((entry) => entry.kind === kind).length;
      return html`<button type="button" aria-pressed=${!hidden.includes(kind)} disabled=${count === 0} onClick=${() => toggle(kind)}>
        <${Sign} kind=${kind} /><span>${many} <b class="num">${count}</b></span>
      </button>`;
    })}
  </div>`;
}

function summary(rows, entries) {
  const waits = rows.filter(({ wait }) => wait).length;
  const early = entries.filter((entry) => earlyMs(entry) > 0).length;
  const count = `${entries.length} ${entries.length === 1 ? 'entry' : 'entries'}, newest first`;
  if (waits === 0) return `${count}; no wait`;
  const asked =
    early === 0 ? 'none was cut into' : `asked too early ${early === 1 ? 'once' : `${early} times`}`;
  return `${count}; ${waits} ${waits === 1 ? 'wait' : 'waits'}, ${asked}`;
}

function byDay(rows) {
  return [...Map.groupBy(rows, ({ at }) => day(at))];
}

function Moment({ row, mayLook }) {
  const { kind, at, sinceMs, waitingBefore, waitingAfter } = row;
  const classes = ['moment', `moment-${kind}`];
  if (waitingAfter) classes.push('waits-after');
  if (waitingBefore) classes.push('waits-before');
  return html`<li class=${classes.join(' ')}>
    <span class="moment-time num"><time datetime=${new Date(at).toISOString()}>${kind === 'running' ? 'now' : clockSeconds(at)}</time>
      ${sinceMs > 0 && html`<small class="faint">+${fineDuration(sinceMs)}</small>`}</span>
    <span class="moment-sign"><${Sign} ...${signOf(row)} /></span>
    <div class="moment-body">${bodyOf(row, mayLook)}</div>
  </li>`;
}

function bodyOf(row, mayLook) {
  switch (row.kind) {
    case 'verdict':
      return html`<${VerdictMoment} ...${row} mayLook=${mayLook} />`;
    case 'score':
      return html`<${ScoreMoment} ...${row.entry} />`;
    case 'outcome':
      return html`<${OutcomeMoment} ...${row} mayLook=${mayLook} />`;
    case 'binding':
      return html`<${BindingMoment} ...${row.entry} />`;
    case 'override':
      return html`<${OverrideMoment} ...${row.entry} />`;
    case 'over':
      return html`<p class="faint">wait of level ${row.level} over</p>`;
    default:
      return html`<p>waits until <b class="when">${clockSeconds(row.end)}</b>, ${duration(row.end - row.at)} from now</p>`;
  }
}

function VerdictMoment({ entry, wait, mayLook }) {
  const { decision } = entry;
  const early = earlyMs(entry);
  return html`<p class="moment-head"><b>verdict</b> <${Verdict} ...${decision} />
      <span>order <${OrderLink} orderRef=${decision.orderRef} mayLook=${mayLook} /></span>
      ${early > 0 && html`<${Pill} tone="bad">${duration(early)} too early<//>`}
      ${decision.isBot && html`<${Pill} tone="bad">bot<//>`}
      ${decision.arm === 'candidate' && html`<${Pill} tone="note">candidate<//>`}</p>
    ${wait && html`<${WaitBar} wait=${wait} />`}
    <p>${decision.reason}</p>
    <p class="faint">${decision.clientGroup} ${decision.paymentScore}, rule ${decision.rule} of ${decision.ruleVersion}${mayLook && html`, <a href=${`#/decisions/${encodeURIComponent(decision.decisionId)}`} aria-label=${`why the verdict ${decision.verdict} fell at ${clockSeconds(entry.at)}`}>why</a>`}</p>`;
}

function OrderLink({ orderRef, mayLook }) {
  if (!mayLook) return html`<b>${orderRef}</b>`;
  return html`<a href=${`#/decisions?orderRef=${encodeURIComponent(orderRef)}`}>${orderRef}</a>`;
}

/** A wait from its start to its end, with a mark for each request that came inside. */
function WaitBar({ wait }) {
  const { at, end, requests, cut } = wait;
  const part = (moment) => `${Math.min(100, (100 * (moment - at)) / (end - at))}%`;
  const served = cut?.at ?? Math.min(end, Date.now());
  return html`<div class="wait">
    <div class=${cut === null ? 'wait-bar' : 'wait-bar wait-cut'} aria-hidden="true">
      <i class="wait-served" style=${{ width: part(served) }}></i>
      ${requests.map((moment) => html`<i class="wait-request" style=${{ left: part(moment) }}></i>`)}
    </div>
    <div class="wait-ends num"><span>${clockSeconds(at)}</span><span>${duration(end - at)}</span><span>${clockSeconds(end)}</span></div>
    <${RequestsInside} wait=${wait} />
    ${cut?.why === 'paid' && html`<p>paid after ${fineDuration(cut.at - at)}, so the wait ended</p>`}
    ${cut?.why === 'granted' && html`<p>granted before its end, so the wait ended</p>`}
  </div>`;
}

function RequestsInside({ wait: { at, requests, cut } }) {
  if (requests.length === 0) return null;
  const times = requests.map((moment) => fineDuration(moment - at)).join(', ');
  return html`<p><span class="bad" aria-hidden="true">▲ </span>asked again after ${times}${cut?.why === 'longer' && ', so a longer wait began'}</p>`;
}

/** Programs ask again within a second. */
function fineDuration(ms) {
  return ms < 1000 ? `${ms} ms` : duration(ms);
}

function ScoreMoment({ request, answer, ruleVersion }) {
  const hints = [
    request.honeypotTriggered && 'a trap field was filled in',
    request.userAgentIsAutomated && 'the User-Agent is a program',
    request.jsOk === false && 'the page ran no JavaScript',
    !request.fingerprintPresent && !request.ipPresent && 'no fingerprint or IP was sent',
  ].filter(Boolean);
  const acceptors = answer.preferredAcceptorKey ?? [];
  const limits = answer.payLimitValue ?? [];
  return html`<p class="moment-head"><b>score</b> <${Pill} tone=${groupTone(answer.clientGroup)}>${answer.clientGroup}<//> <b class="num">${answer.paymentScore}</b>
      ${answer.isBot && html`<${Pill} tone="bad">bot<//>`}</p>
    <p class="faint">${request.amount}${request.currency === null ? '' : ` ${request.currency}`} by ${request.method} at ${request.sellPointKey}, ${ruleVersion}${acceptors.length > 0 && `; acceptors ${acceptors.join(', ')}`}${limits.length > 0 && `; at most ${limits.join(', ')}`}</p>
    ${hints.length > 0 && html`<p class="faint">${hints.join('; ')}</p>`}`;
}

/** The tone in which a client group is shown. */
export function groupTone(group) {
  if (group === 'BLOCKED') return 'bad';
  return group === 'NEW' ? 'plain' : 'good';
}

function OutcomeMoment({ entry, corrects, mayLook }) {
  const { orderRef, outcome, cause, at, occurredAt } = entry;
  const late = at - occurredAt;
  return html`<p class="moment-head"><b>outcome</b> <${Pill} tone=${outcomeTone(entry)}>${outcome}${cause === null ? '' : ` ${cause}`}<//>
      <span>order <${OrderLink} orderRef=${orderRef} mayLook=${mayLook} /></span></p>
    ${cause === 'TECHNICAL' && html`<p class="faint">counts neither way</p>`}
    ${corrects !== null && html`<p class="faint">corrects ${corrects.outcome}${corrects.cause === null ? '' : ` ${corrects.cause}`}, told at <span class="when">${day(corrects.at)} ${clockSeconds(corrects.at)}</span></p>`}
    ${late >= 1000 && html`<p class="faint">happened ${duration(late)} before it was told</p>`}`;
}

function outcomeTone({ outcome, cause }) {
  if (outcome === 'PAID') return 'good';
  return cause === 'TECHNICAL' ? 'plain' : 'bad';
}

function BindingMoment({ binding }) {
  if (binding === null) return html`<p class="moment-head"><b>binding</b> <${Pill}>removed<//></p>`;
  return html`<p class="moment-head"><b>binding</b> <${Pill} tone="good">set<//> <span>requisite <b>${binding.requisiteRef}</b></span></p>
    <p class="faint">acceptors ${binding.acceptorKeys.join(', ')}; ${binding.method === null ? 'fits every method' : `fits ${binding.method} only`}${untilWords(binding)}</p>`;
}

function OverrideMoment({ override }) {
  if (override === null) {
    return html`<p class="moment-head"><b>override</b> <${Pill}>lifted<//></p><p class="faint">the rules decide the group again</p>`;
  }
  return html`<p class="moment-head"><b>override</b> <${Pill} tone=${groupTone(override.group)}>${override.group}<//> <span>set by <b>${override.by}</b></span></p>
    <p>${override.reason}<span class="faint">${untilWords(override)}</span></p>`;
}

function untilWords({ expiresAt }) {
  return expiresAt === null ? '' : `; until ${day(expiresAt)} ${clockSeconds(expiresAt)}`;
}

/** Which sign a row has: the shape tells the kind, what stands in it the answer, and hollow means lifted. */
function signOf({ kind, entry }) {
  switch (kind) {
    case 'verdict':
      return { kind, variant: entry.decision.verdict, text: signOfVerdict(entry.decision.verdict) };
    case 'outcome':
      return { kind, variant: outcomeTone(entry), text: entry.outcome === 'PAID' ? '✓' : '✗' };
    case 'override':
      return entry.override === null
        ? { kind, variant: 'lifted' }
        : { kind, variant: entry.override.group === 'BLOCKED' ? 'bad' : 'good' };
    case 'binding':
      return { kind, variant: entry.binding === null ? 'lifted' : 'set' };
    default:
      return { kind };
  }
}

function signOfVerdict(verdict) {
  return VERDICTS.find(({ name }) => name === verdict)?.sign ?? '?';
}

const SHAPES = {
  verdict: html`<circle cx="11" cy="11" r="9" />`,
  score: html`<circle cx="11" cy="11" r="6" />`,
  outcome: html`<rect x="3" y="3" width="16" height="16" rx="2" />`,
  binding: html`<path d="M11 1.5L20.5 11L11 20.5L1.5 11Z" />`,
  override: html`<path d="M11 1.5L19.5 4.5V10.5C19.5 15.5 15.5 19 11 20.5C6.5 19 2.5 15.5 2.5 10.5V4.5Z" />`,
  over: html`<path d="M4 11H18" />`,
  running: html`<path d="M5 14L11 7L17 14" />`,
};

function Sign({ kind, variant = 'plain', text = '' }) {
  return html`<svg class=${`sign sign-${kind} sign-${variant}`} viewBox="0 0 22 22" aria-hidden="true">
    ${SHAPES[kind]}${text !== '' && html`<text x="11" y="15.5" text-anchor="middle">${text}</text>`}
  </svg>`;
}
