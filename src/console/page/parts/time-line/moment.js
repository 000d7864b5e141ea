import { html } from '../../html.js';
import { clockSeconds, dateTime, duration } from '../format.js';
import { toDecision, toOrder } from '../links.js';
import { groupTone, Pill, Verdict } from '../verdict.js';
import { earlyMs } from './history.js';
import { outcomeTone, whyNeither } from './sign.js';

/**
 * @import { Binding, HistoryEntry, Override } from '../../answers.d.ts'
 * @import { EntryRow, OutcomeEntry, Row, Wait } from './history.js'
 */

/**
 * What a row of the time line says.
 * @param {{ row: Row, mayLook: boolean }} props
 */
export function MomentBody({ row, mayLook }) {
  if (row.kind === 'over') return html`<p class="faint">wait of level ${row.level} over</p>`;
  if (row.kind === 'running') {
    const until = html`<b class="when">${clockSeconds(row.end)}</b>`;
    return html`<p>waits until ${until}, ${duration(row.end - row.at)} from now</p>`;
  }
  return html`<${EntryMoment} row=${row} mayLook=${mayLook} />`;
}

/** @param {{ row: EntryRow, mayLook: boolean }} props */
function EntryMoment({ row: { entry, wait, corrects }, mayLook }) {
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
    default:
      return entry;
  }
}

/**
 * @param {{
 *   entry: Extract<HistoryEntry, { kind: 'verdict' }>, wait: Wait | null, mayLook: boolean,
 * }} props
 */
function VerdictMoment({ entry, wait, mayLook }) {
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

/** @param {{ orderRef: string, mayLook: boolean }} props */
function OrderLink({ orderRef, mayLook }) {
  if (!mayLook) return html`<b>${orderRef}</b>`;
  return html`<a href=${toOrder(orderRef)}>${orderRef}</a>`;
}

/**
 * A wait from its start to its end, with a mark for each request that came inside.
 * @param {{ wait: Wait }} props
 */
function WaitBar({ wait }) {
  const { at, end, requests, cut } = wait;
  const part = (/** @type {number} */ moment) => `${Math.min(100, (100 * (moment - at)) / (end - at))}%`;
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

/** @param {{ wait: Wait }} props */
function RequestsInside({ wait: { at, requests, cut } }) {
  if (requests.length === 0) return null;
  const times = requests.map((moment) => fineDuration(moment - at)).join(', ');
  const then = cut?.why === 'longer' ? ', so a longer wait began' : '';
  return html`<p><span class="bad" aria-hidden="true">▲ </span>asked again after ${times}${then}</p>`;
}

/**
 * Programs ask again within a second.
 * @param {number} ms
 */
export function fineDuration(ms) {
  return ms < 1000 ? `${ms} ms` : duration(ms);
}

/** @param {Extract<HistoryEntry, { kind: 'score' }>} entry */
function ScoreMoment({ request, answer, ruleVersion }) {
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

/** @param {{ entry: OutcomeEntry, corrects: OutcomeEntry | null, mayLook: boolean }} props */
function OutcomeMoment({ entry, corrects, mayLook }) {
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

/**
 * `PAID`, `UNPAID EXPIRED`.
 * @param {Pick<OutcomeEntry, 'outcome' | 'cause'>} entry
 */
export function outcomeText({ outcome, cause }) {
  return cause === null ? outcome : `${outcome} ${cause}`;
}

/** @param {{ binding: Binding | null }} props */
function BindingMoment({ binding }) {
  if (binding === null) return html`<p class="moment-head"><b>binding</b> <${Pill}>removed<//></p>`;
  const fits = binding.method === null ? 'fits every method' : `fits ${binding.method} only`;
  return html`<p class="moment-head">
      <b>binding</b> <${Pill} tone="good">set<//> <span>requisite <b>${binding.requisiteRef}</b></span>
    </p>
    <p class="faint">acceptors ${binding.acceptorKeys.join(', ')}; ${fits}${untilWords(binding)}</p>`;
}

/** @param {{ override: Override | null }} props */
function OverrideMoment({ override }) {
  if (override === null)
    return html`<p class="moment-head"><b>override</b> <${Pill}>lifted<//></p>
      <p class="faint">the rules decide the group again</p>`;
  return html`<p class="moment-head">
      <b>override</b> <${Pill} tone=${groupTone(override.group)}>${override.group}<//>
      <span>set by <b>${override.by}</b></span>
    </p>
    <p>${override.reason}<span class="faint">${untilWords(override)}</span></p>`;
}

/** @param {{ expiresAt: number | null }} set */
function untilWords({ expiresAt }) {
  return expiresAt === null ? '' : `; until ${dateTime(expiresAt)}`;
}
