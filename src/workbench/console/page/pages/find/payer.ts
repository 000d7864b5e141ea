import { useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useEffect, useState } from '#workbench/console/page/html.ts';
import { useProposal } from '#workbench/console/page/parts/confirm.ts';
import { formatDateTime, formatDuration, readMoment } from '#workbench/console/page/parts/format.ts';
import { toDecisionPath } from '#workbench/console/page/parts/links.ts';
import { renderAnswer, renderEmpty } from '#workbench/console/page/parts/notice.ts';
import { renderFactsTable } from '#workbench/console/page/parts/trace.ts';
import {
  chooseGroupTone,
  renderFacts,
  renderPill,
  type Tone,
  Verdict,
} from '#workbench/console/page/parts/verdict.ts';
import { type ClientView, clientQuestion, type Session } from '#workbench/console/page/questions.ts';
import { KeepOrErase, renderChangesByHand } from './payer-actions.ts';
import { PayerHistory } from './payer-history.ts';
import { PayerLinks } from './payer-links.ts';

/** One payer: whether he may try now, what a person may decide about him, and what happened. */
export function Payer({ clientIdKey, session }: { clientIdKey: string; session: Session }) {
  const answer = useAnswer(clientQuestion(clientIdKey));
  const [changes, setChanges] = useState(0);
  const { propose, dialog } = useProposal(() => {
    setChanges((number) => number + 1);
    answer.reload();
  });
  const acts = { clientIdKey, session, propose };
  if (answer.error?.status === 404)
    return html`${renderEmpty('Nothing is known of this payer', KNOWN_BY_NAME)}
      <div class="buttons">${h(KeepOrErase, acts)}</div>
      ${dialog}`;
  return renderAnswer(
    answer,
    (view) => html`<section class="card">
        <h2>
          <span>${clientIdKey}</span> ${renderPill(view.clientGroup, chooseGroupTone(view.clientGroup))}
          ${view.isBot && renderPill('bot', 'bad')}
        </h2>
        ${h(PayerStatus, { view, reload: answer.reload })}
        <div class="buttons">
          ${renderChangesByHand(view, findDueWait(view), acts)}
          ${h(KeepOrErase, acts)}
        </div>
      </section>
      <div class="split">
        ${h(PayerHistory, { view, changes, session })}
        <section class="panel">
          <h2 class="only-read">About the payer</h2>
          ${renderFacts(renderPayerFigures(view))}
          <details>
            <summary>Facts right now</summary>
            <p class="faint">What rules of ${view.ruleVersion} see now, before the next request.</p>
            ${renderFactsTable(view.facts)}
          </details>
        </section>
      </div>
      ${h(PayerLinks, acts)}
      ${dialog}`,
  );
}

const KNOWN_BY_NAME = html`Names are compared exactly, capital letters too. A payer is known from the first
  score, verdict or outcome on, until 400 days after the last; decisions may be kept for longer.`;

/** The decision whose wait is due; null when none is. */
function findDueWait({ ladder: { waitUntil }, decisions }: ClientView) {
  if (waitUntil === null || readMoment(waitUntil) <= Date.now()) return null;
  return (
    decisions.find(({ verdict, ladderAfter }) => verdict === 'WAIT' && ladderAfter.waitUntil === waitUntil) ??
    null
  );
}

/** More than a browser's timer can hold. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Whether the payer may try now, why, and until when. */
function PayerStatus({ view, reload }: { view: ClientView; reload: () => void }) {
  const { waitUntil } = view.ladder;
  useEffect(() => {
    const leftMs = waitUntil === null ? 0 : readMoment(waitUntil) - Date.now();
    if (leftMs <= 0 || leftMs > TIMER_MS_MAX) return undefined;
    const timer = setTimeout(reload, leftMs);
    return () => clearTimeout(timer);
  }, [waitUntil]);
  const { tone, title, why } = describeStanding(view, Date.now());
  const decision = findDueWait(view) ?? view.decisions[0];
  return html`<div class=${`notice notice-${tone}`} role="status">
    <strong class="standing">${title}</strong>
    ${why !== '' && html`<p>${why}</p>`}
    ${
      decision &&
      html`<p>
        ${h(Verdict, decision)} ${decision.reason}${' '}
        <span class="faint">${decision.rule}, ${formatDateTime(decision.at)},</span>${' '}
        <a href=${toDecisionPath(decision.decisionId)}>rule by rule</a>
      </p>`
    }
  </div>`;
}

interface StatusWords {
  readonly tone: Tone;
  readonly title: string;
  readonly why: string;
}

/** What the state says; the rules have the last word when the payer asks. */
function describeStanding(
  { override, clientGroup, ladder, decisions: [last] }: ClientView,
  now: number,
): StatusWords {
  const { waitUntil, attemptOpen } = ladder;
  if (override?.group === 'BLOCKED') {
    const until =
      override.expiresAt === null ? 'until it is lifted' : `until ${formatDateTime(override.expiresAt)}`;
    const why = `By ${override.by} since ${formatDateTime(override.at)}: ${override.reason}`;
    return { tone: 'bad', title: `May not try: blocked by a person, ${until}`, why };
  }
  if (clientGroup === 'BLOCKED')
    return { tone: 'bad', title: 'May not try: the rules count the payer to BLOCKED', why: '' };
  if (waitUntil !== null && readMoment(waitUntil) > now) {
    const left = formatDuration(readMoment(waitUntil) - now);
    const why = override === null ? '' : `The override ${override.group} lifts no wait.`;
    return { tone: 'note', title: `Has to wait until ${formatDateTime(waitUntil)}, ${left} from now`, why };
  }
  if (last?.verdict === 'BLOCK')
    return { tone: 'bad', title: 'No wait is due, but the last answer was BLOCK', why: '' };
  if (attemptOpen)
    return {
      tone: 'note',
      title: 'An attempt is open',
      why: 'A requisite was granted and is not reported as paid. Whoever asks again may be told to wait.',
    };
  return { tone: 'good', title: 'May try now', why: '' };
}

function renderPayerFigures(view: ClientView) {
  const { outcomes, override, binding } = view;
  const until = (expiresAt: string | null) =>
    expiresAt === null ? '' : `, until ${formatDateTime(expiresAt)}`;
  const figures: [string, string | number][] = [
    ['payment score', view.paymentScore],
    ['paid', outcomes.paidCount],
    ['unpaid', outcomes.unpaidCount],
    ['decisions', view.decisionCount],
    ['first seen', formatDateTime(view.firstSeenAt)],
    ['last verdict', formatDateTime(view.lastVerdictAt)],
    ['last paid', formatDateTime(outcomes.lastPaidAt)],
    ['bot signals', view.signals.length === 0 ? 'none' : view.signals.join(', ')],
  ];
  if (override !== null) {
    const { group, by, expiresAt, reason } = override;
    figures.push(['override', `${group} by ${by}${until(expiresAt)}: ${reason}`]);
  }
  if (binding !== null) {
    const { requisiteRef, method, expiresAt, acceptorKeys } = binding;
    const fits = `${requisiteRef} for ${method ?? 'all methods'}${until(expiresAt)}`;
    figures.push(['binding', `${fits}, acceptors ${acceptorKeys.join(', ')}`]);
  }
  return figures;
}
