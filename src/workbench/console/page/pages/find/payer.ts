import { useAnswer } from '#workbench/console/page/api.ts';
import { type Html, h, html, useState } from '#workbench/console/page/html.ts';
import { useConfirmedChange } from '#workbench/console/page/parts/confirm.ts';
import { formatCount, formatDateTime } from '#workbench/console/page/parts/format.ts';
import { renderSafeName, renderSafeNames } from '#workbench/console/page/parts/name.ts';
import { renderAnswer, renderEmpty } from '#workbench/console/page/parts/notice.ts';
import { renderFactsTable } from '#workbench/console/page/parts/trace.ts';
import { chooseGroupTone, renderDetails, renderPill } from '#workbench/console/page/parts/verdict.ts';
import { type ClientView, clientQuestion, type Session } from '#workbench/console/page/questions.ts';
import { ExportAndEraseButtons, renderActionButtons } from './payer-actions.ts';
import { PayerHistory } from './payer-history.ts';
import { PayerLinks } from './payer-links.ts';
import { findDecisionOfRunningWait, NextAnswerNotice } from './payer-status.ts';

/** One payer: the next answer, the decisions that a person may make, and the history. */
export function PayerDetails({ clientIdKey, session }: { clientIdKey: string; session: Session }) {
  const answer = useAnswer(clientQuestion(clientIdKey));
  const [changes, setChanges] = useState(0);
  const { propose, dialog } = useConfirmedChange(() => {
    setChanges((number) => number + 1);
    answer.reload();
  });
  const [erased, setErased] = useState<readonly Html[] | null>(null);
  const told = (traces: string | null) =>
    setErased([renderErased(clientIdKey, answer.data), ...(traces === null ? [] : [traces])]);
  const acts = { clientIdKey, session, propose };
  if (erased !== null)
    return html`<div class="notice notice-good" role="status">
        ${erased.map((line) => html`<p>${line}</p>`)}
      </div>
      ${dialog}`;
  if (answer.error?.status === 404)
    return html`${renderEmpty('Nothing is known of this payer', KNOWN_BY_NAME)}
      <div class="buttons">${h(ExportAndEraseButtons, { ...acts, onErased: told })}</div>
      ${dialog}`;
  return renderAnswer(
    answer,
    (view) => html`<section class="card">
        <h2>
          <span>${renderSafeName(clientIdKey)}</span>${' '}
          ${renderPill(view.clientGroup, chooseGroupTone(view.clientGroup))}
          ${view.isBot && renderPill('bot', 'bad')}
        </h2>
        ${h(NextAnswerNotice, { view, reload: answer.reload })}
        <div class="buttons">
          ${renderActionButtons(view, findDecisionOfRunningWait(view), acts)}
          ${h(ExportAndEraseButtons, { ...acts, onErased: told })}
        </div>
      </section>
      <div class="split">
        ${h(PayerHistory, { view, changes, session })}
        <section class="panel">
          <h2 class="only-read">About the payer</h2>
          ${renderDetails(renderPayerFigures(view))}
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

/**
 * Describes what was erased. If the store did not know the payer, entries may still have been erased
 * elsewhere.
 */
function renderErased(clientIdKey: string, view: ClientView | null) {
  const rest = 'The audit still says that a payer was erased, by whom and when.';
  const places = 'the store, the shared lists, the archive and the audit';
  const name = renderSafeName(clientIdKey);
  if (view === null) return html`Erased: all that ${places} held of ${name}. ${rest}`;
  const { decisionCount, outcomes, binding, override } = view;
  const parts = [
    formatCount(decisionCount, 'decision'),
    formatCount(outcomes.paidCount + outcomes.unpaidCount, 'outcome'),
    ...(binding === null ? [] : ['the binding']),
    ...(override === null ? [] : [`the override ${override.group}`]),
  ];
  return html`Erased: ${name} with ${parts.join(', ')}, from ${places}. ${rest}`;
}

function renderPayerFigures(view: ClientView) {
  const { outcomes, override, binding } = view;
  const until = (expiresAt: string | null) =>
    expiresAt === null ? '' : `, until ${formatDateTime(expiresAt)}`;
  const figures: [string, Html][] = [
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
    const methods = method === null ? 'all methods' : renderSafeName(method);
    const fits = html`${renderSafeName(requisiteRef)} for ${methods}${until(expiresAt)}`;
    figures.push(['binding', html`${fits}, acceptors ${renderSafeNames(acceptorKeys)}`]);
  }
  return figures;
}
