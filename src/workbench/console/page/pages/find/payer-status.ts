import { h, html, useEffect, useState } from '#workbench/console/page/html.ts';
import {
  formatClock,
  formatDateTime,
  formatDay,
  formatDuration,
  formatMoney,
  parseMoment,
} from '#workbench/console/page/parts/format.ts';
import { toDecisionPath } from '#workbench/console/page/parts/links.ts';
import { type Tone, VerdictPill } from '#workbench/console/page/parts/verdict.ts';
import type { ClientView, Decision } from '#workbench/console/page/questions.ts';

type NextVerdict = ClientView['nextVerdict'];
type Expected = NextVerdict['now'];

/** The answer that the payer's next request would get, why, and until when. */
export function NextAnswerNotice({ view, reload }: { view: ClientView; reload: () => void }) {
  const { tone, title, why, until } = describeStatus(view, Date.now());
  const wait = findDecisionOfRunningWait(view);
  const last = wait ?? view.decisions[0];
  return html`<div class=${`notice notice-${tone}`} role="status">
    <strong class="standing">
      ${title} ${until !== null && h(Countdown, { key: until, until, reload })}
    </strong>
    ${why.map((line) => html`<p>${line}</p>`)}
    <p class="faint">${formatSupposedRequest(view)}</p>
    ${last && renderLastAnswer(last, wait !== null)}
  </div>`;
}

function renderLastAnswer(decision: Decision, hasBegunWait: boolean) {
  return html`<p>
    <span class="faint">${hasBegunWait ? 'The wait began with' : 'The last answer was'}</span>${' '}
    ${h(VerdictPill, decision)} ${decision.reason}${' '}
    <span class="faint">${decision.rule}, ${formatDateTime(decision.at)},</span>${' '}
    <a href=${toDecisionPath(decision.decisionId)}>rule by rule</a>
  </p>`;
}

/** Finds the decision whose wait is due. Returns null if no wait is due. */
export function findDecisionOfRunningWait({ ladder: { waitUntil }, decisions }: ClientView) {
  if (waitUntil === null || parseMoment(waitUntil) <= Date.now()) return null;
  return (
    decisions.find(({ verdict, ladderAfter }) => verdict === 'WAIT' && ladderAfter.waitUntil === waitUntil) ??
    null
  );
}

const TICK_MS = 1000;

/** The time until a moment, second by second. When the moment has come, the answer is requested again. */
function Countdown({ until, reload }: { until: number; reload: () => void }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() < until) return;
      clearInterval(timer);
      reload();
    }, TICK_MS);
    return () => clearInterval(timer);
  }, [until]);
  // The countdown is hidden from screen readers, which would read out every second.
  const left = formatDuration(until - now);
  return html`<span class="num" role="timer" aria-live="off">${left} left</span>`;
}

interface Status {
  readonly tone: Tone;
  readonly title: string;
  readonly why: readonly string[];
  /** The end of the countdown, epoch ms. Null if nothing is counted down. */
  readonly until: number | null;
}

function isGrant({ verdict }: Expected) {
  return verdict === 'GET_NEW' || verdict === 'GET_SAME_STICKY';
}

/**
 * Describes the payer's status. While a wait is due, the headline assumes that the payer asks again only
 * after the wait.
 */
function describeStatus(view: ClientView, at: number): Status {
  const { nextVerdict, ladder, override } = view;
  const { now, afterWait } = nextVerdict;
  const end = ladder.waitUntil === null ? null : parseMoment(ladder.waitUntil);
  const isDue = end !== null && end > at;
  if (isGrant(now)) return { tone: 'good', title: 'May try now', why: [formatGrant(now)], until: null };
  const followed = isDue && afterWait !== null ? afterWait : now;
  if (followed.verdict === 'BLOCK') {
    const why = override?.group === 'BLOCKED' ? formatBlockedBy(override) : followed.reason;
    return { tone: 'bad', title: formatBlockTitle(followed, override), why: [why], until: null };
  }
  if (isDue) {
    const title = `Has to wait until ${formatMoment(end, at)}:`;
    return { tone: 'note', title, why: [formatThen(followed), formatEarly(now)], until: end };
  }
  const then = afterWait === null ? [] : [formatThen(afterWait, 'After that wait')];
  const isRefused = afterWait?.verdict === 'BLOCK';
  return {
    tone: isRefused ? 'bad' : 'note',
    title: `The next request has to wait ${formatWait(now)}${isRefused ? ', and BLOCK follows' : ''}`,
    why: [formatRule(now), ...then],
    until: null,
  };
}

function formatBlockTitle({ rule }: Expected, override: ClientView['override']) {
  if (override?.group !== 'BLOCKED') return `The next request gets BLOCK, by the rule ${rule}`;
  const { expiresAt } = override;
  const end = expiresAt === null ? 'it is lifted' : formatDateTime(expiresAt);
  return `The next request gets BLOCK: blocked by a person, until ${end}`;
}

function formatBlockedBy({ by, at, reason }: NonNullable<ClientView['override']>) {
  return `By ${by} since ${formatDateTime(at)}: ${reason}`;
}

function formatGrant({ verdict, reason }: Expected) {
  const shown = verdict === 'GET_NEW' ? 'a new requisite is shown' : 'the bound requisite is shown';
  return `The answer would be ${verdict}: ${shown}. ${reason}`;
}

function formatThen(expected: Expected, then = 'Then') {
  if (isGrant(expected))
    return `${then} a requisite is shown: ${expected.verdict}, by ${nameRule(expected)}.`;
  const answer = `${expected.verdict} ${formatWait(expected)}`.trimEnd();
  return `${then} ${answer} follows, by ${nameRule(expected)}: ${expected.reason}`;
}

/** Describes the answer to a request before the wait is over. */
function formatEarly(expected: Expected) {
  if (expected.verdict === 'BLOCK') return `Asked before that, BLOCK follows, by ${nameRule(expected)}.`;
  return `Asked before that, a wait of ${formatWait(expected)} begins.`;
}

function formatRule(expected: Expected) {
  return `By ${nameRule(expected)}: ${expected.reason}`;
}

function nameRule({ rule }: Expected) {
  return rule === 'otherwise' ? 'no rule (otherwise)' : `the rule ${rule}`;
}

function formatWait({ waitSeconds = 0 }: Expected) {
  return waitSeconds === 0 ? '' : formatDuration(waitSeconds * 1000);
}

/** Formats a moment, without the date if it is today. */
function formatMoment(moment: number, now: number) {
  return formatDay(moment) === formatDay(now) ? formatClock(moment) : formatDateTime(moment);
}

/** Describes the request for which this answer is predicted. */
function formatSupposedRequest({ nextVerdict: { asked }, ruleVersion }: ClientView) {
  const { amount, currency, method, sellPointKey, like } = asked;
  const payment = `${formatMoney(amount, currency)} by ${method}`;
  if (like === 'ordinary') return `By the rules of ${ruleVersion}, for an ordinary request: ${payment}.`;
  return `By the rules of ${ruleVersion}, for ${payment} at ${sellPointKey}, as was asked last.`;
}
