import { useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useEffect, useState } from '#workbench/console/page/html.ts';
import { useProposal } from '#workbench/console/page/parts/confirm.ts';
import { dateTime, duration, readMoment } from '#workbench/console/page/parts/format.ts';
import { toDecision } from '#workbench/console/page/parts/links.ts';
import { answered, empty } from '#workbench/console/page/parts/notice.ts';
import { factsTable } from '#workbench/console/page/parts/trace.ts';
import { aboutList, groupTone, pill, type Tone, Verdict } from '#workbench/console/page/parts/verdict.ts';
import { type ClientView, client, type Session } from '#workbench/console/page/questions.ts';
import { changesByHand, KeepOrErase } from './payer-actions.ts';
import { PayerHistory } from './payer-history.ts';
import { PayerLinks } from './payer-links.ts';

/** One payer: whether he may try now, what a person may decide about him, and what happened. */
export function Payer({ clientIdKey, session }: { clientIdKey: string; session: Session }) {
  const answer = useAnswer(client(clientIdKey));
  const [changes, setChanges] = useState(0);
  const { propose, dialog } = useProposal(() => {
    setChanges((number) => number + 1);
    answer.reload();
  });
  const acts = { clientIdKey, session, propose };
  if (answer.error?.status === 404)
    return html`${empty('Nothing is known of this payer', KNOWN_BY_NAME)}
      <div class="buttons">${h(KeepOrErase, acts)}</div>
      ${dialog}`;
  return answered(
    answer,
    (view) => html`<section class="card">
        <h2>
          <span>${clientIdKey}</span> ${pill(view.clientGroup, groupTone(view.clientGroup))}
          ${view.isBot && pill('bot', 'bad')}
        </h2>
        ${h(Standing, { view, reload: answer.reload })}
        <div class="buttons">
          ${changesByHand(view, dueWait(view), acts)}
          ${h(KeepOrErase, acts)}
        </div>
      </section>
      <div class="split">
        ${h(PayerHistory, { view, changes, session })}
        <section class="panel">
          <h2 class="only-read">About the payer</h2>
          ${aboutList(figuresOf(view))}
          <details>
            <summary>Facts right now</summary>
            <p class="faint">What rules of ${view.ruleVersion} see now, before the next request.</p>
            ${factsTable(view.facts)}
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
function dueWait({ ladder: { waitUntil }, decisions }: ClientView) {
  if (waitUntil === null || readMoment(waitUntil) <= Date.now()) return null;
  return (
    decisions.find(({ verdict, ladderAfter }) => verdict === 'WAIT' && ladderAfter.waitUntil === waitUntil) ??
    null
  );
}

/** More than a browser's timer can hold. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Whether the payer may try now, why, and until when. */
function Standing({ view, reload }: { view: ClientView; reload: () => void }) {
  const { waitUntil } = view.ladder;
  useEffect(() => {
    const leftMs = waitUntil === null ? 0 : readMoment(waitUntil) - Date.now();
    if (leftMs <= 0 || leftMs > TIMER_MS_MAX) return undefined;
    const timer = setTimeout(reload, leftMs);
    return () => clearTimeout(timer);
  }, [waitUntil]);
  const { tone, title, why } = standingOf(view, Date.now());
  const decision = dueWait(view) ?? view.decisions[0];
  return html`<div class=${`notice notice-${tone}`} role="status">
    <strong class="standing">${title}</strong>
    ${why !== '' && html`<p>${why}</p>`}
    ${
      decision &&
      html`<p>
        ${h(Verdict, decision)} ${decision.reason}${' '}
        <span class="faint">${decision.rule}, ${dateTime(decision.at)},</span>${' '}
        <a href=${toDecision(decision.decisionId)}>rule by rule</a>
      </p>`
    }
  </div>`;
}

interface Stand {
  readonly tone: Tone;
  readonly title: string;
  readonly why: string;
}

/** What the state says; the rules have the last word when the payer asks. */
function standingOf({ override, clientGroup, ladder, decisions: [last] }: ClientView, now: number): Stand {
  const { waitUntil, attemptOpen } = ladder;
  if (override?.group === 'BLOCKED') {
    const until =
      override.expiresAt === null ? 'until it is lifted' : `until ${dateTime(override.expiresAt)}`;
    const why = `By ${override.by} since ${dateTime(override.at)}: ${override.reason}`;
    return { tone: 'bad', title: `May not try: blocked by a person, ${until}`, why };
  }
  if (clientGroup === 'BLOCKED')
    return { tone: 'bad', title: 'May not try: the rules count the payer to BLOCKED', why: '' };
  if (waitUntil !== null && readMoment(waitUntil) > now) {
    const left = duration(readMoment(waitUntil) - now);
    const why = override === null ? '' : `The override ${override.group} lifts no wait.`;
    return { tone: 'note', title: `Has to wait until ${dateTime(waitUntil)}, ${left} from now`, why };
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

function figuresOf(view: ClientView) {
  const { outcomes, override, binding } = view;
  const until = (expiresAt: string | null) => (expiresAt === null ? '' : `, until ${dateTime(expiresAt)}`);
  const figures: [string, string | number][] = [
    ['payment score', view.paymentScore],
    ['paid', outcomes.paidCount],
    ['unpaid', outcomes.unpaidCount],
    ['decisions', view.decisionCount],
    ['first seen', dateTime(view.firstSeenAt)],
    ['last verdict', dateTime(view.lastVerdictAt)],
    ['last paid', dateTime(outcomes.lastPaidAt)],
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
