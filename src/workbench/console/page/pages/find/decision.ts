import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import {
  chooseOutcomeTone,
  formatAmount,
  formatMethod,
  formatOutcome,
} from '#workbench/console/page/parts/decision-table.ts';
import { CopyButton, renderChoice } from '#workbench/console/page/parts/form.ts';
import { formatDateTime, shortenDigest } from '#workbench/console/page/parts/format.ts';
import { describeLadderPosition } from '#workbench/console/page/parts/ladder.ts';
import {
  toDecisionPath,
  toOrderDecisionsPath,
  toPayerPath,
  toVersionPath,
} from '#workbench/console/page/parts/links.ts';
import { renderSafeName } from '#workbench/console/page/parts/name.ts';
import { renderAnswer, renderEmpty } from '#workbench/console/page/parts/notice.ts';
import { renderTable } from '#workbench/console/page/parts/table.ts';
import { renderFactsTable, renderRulesTrace } from '#workbench/console/page/parts/trace.ts';
import {
  renderFigures,
  renderFlagPill,
  renderPill,
  VerdictPill,
} from '#workbench/console/page/parts/verdict.ts';
import type {
  Decision,
  Explanation,
  OtherVersionAnswer,
  Session,
} from '#workbench/console/page/questions.ts';
import {
  clientHistoryQuestion,
  decisionWhatIfQuestion,
  explanationQuestion,
  RULE_FOLDERS,
} from '#workbench/console/page/questions.ts';

/**
 * A decision as a person needs it in a dispute: the answer and its reasons, the outcome of the order, the
 * texts that support may send, and the answer that another version would have given then.
 */
export function OpenedDecision({ decisionId, session }: { decisionId: string; session: Session }) {
  return renderAnswer(useAnswer(explanationQuestion(decisionId)), (found) =>
    h(Explained, { explanation: found, session }),
  );
}

function Explained({ explanation, session }: { explanation: Explanation; session: Session }) {
  const { decision, rules, ladder, sharedLists, reproduced, differences, verification } = explanation;
  const { payerText, integratorText } = explanation;
  const traced = isAllowed(session, 'rules') ? decision.ruleVersion : undefined;
  const stood = [
    ['waits before', describeLadderPosition(ladder.before, decision.at)],
    ['waits after', describeLadderPosition(ladder.after, decision.at)],
  ] as const;
  return html`<article>
    <section class="card">
      <h2>${h(VerdictPill, decision)} <span class="reason">${decision.reason}</span></h2>
      ${renderFigures([...renderDecisionFigures(decision), ...stood])}
      ${isAllowed(session, 'clients:read') && h(OrderOutcome, { decision })}
      <p>
        ${sharedLists.map((list) => html`${renderPill(`on the shared list ${list}`)} `)}
        ${renderPill(reproduced ? '✓ reproduced' : '✗ not reproduced', reproduced ? 'good' : 'bad')}
        ${` ${verification}`}
      </p>
      ${
        differences.length > 0 &&
        renderTable(
          { name: 'Differences', columns: ['member', 'on record', 'asked again'] },
          differences,
          ({ member, recorded, rerun }) => [...[member, JSON.stringify(recorded), JSON.stringify(rerun)]],
        )
      }
    </section>
    <div class="two">
      <section class="card">
        <h2>What to say</h2>
        ${h(CopyButton, { label: 'Words for the payer', text: payerText })}
        ${rules === null && html`<p class="faint">Its rule cannot be shown; it may have had other words.</p>`}
        ${h(CopyButton, { label: 'Words for the integrator', text: integratorText })}
        ${h(CopyButton, {
          label: 'Link',
          text: new URL(toDecisionPath(decision.decisionId), location.href).href,
        })}
      </section>
      <section class="card">
        <h2>Rule by rule</h2>
        ${
          rules === null
            ? renderEmpty('The rules cannot be shown', verification)
            : renderRulesTrace(rules, traced)
        }
        ${isAllowed(session, 'rules') && h(OtherVersion, { decision })}
      </section>
    </div>
    <details class="card">
      <summary><h2>Facts</h2></summary>
      ${renderFactsTable(decision.facts)}
    </details>
  </article>`;
}

function renderDecisionFigures(decision: Decision) {
  const { orderRef, clientIdKey, ruleVersion, digest, isBot, clientGroup, flags } = decision;
  return [
    ['order', html`<a href=${toOrderDecisionsPath(orderRef)}>${renderSafeName(orderRef)}</a>`],
    ['payer', html`<a href=${toPayerPath(clientIdKey)}>${renderSafeName(clientIdKey)}</a>`],
    ['time', formatDateTime(decision.at)],
    ['amount', formatAmount(decision)],
    ['method', formatMethod(decision)],
    ['point of sale', renderSafeName(decision.sellPointKey)],
    ['rule', decision.rule],
    [
      'version',
      html`<a href=${toVersionPath(ruleVersion)}>${ruleVersion}</a> <code>${shortenDigest(digest)}</code>`,
    ],
    ['group', isBot ? `${clientGroup}, bot` : clientGroup],
    ['payment score', decision.paymentScore],
    ...(flags === undefined ? [] : [['flags', flags.map(renderFlagPill)] as const]),
    ['request', decision.requestId],
  ] as const;
}

const ENTRIES_LOOKED_AT = 500;

/**
 * The reported outcomes of the order, newest first, as far as the payer's history is kept. The newest one
 * is valid.
 */
function OrderOutcome({ decision: { orderRef, clientIdKey } }: { decision: Decision }) {
  return renderAnswer(
    useAnswer(clientHistoryQuestion(clientIdKey, ENTRIES_LOOKED_AT)),
    ({ entries, complete }) => {
      const outcomes = entries.flatMap((entry) =>
        entry.kind === 'outcome' && entry.orderRef === orderRef ? [entry] : [],
      );
      return html`<p class="outcomes">
      Outcome of the order:${' '}
      ${outcomes.map(
        (entry) => html`${renderPill(formatOutcome(entry), chooseOutcomeTone(entry))}${' '}
          <span class="when">${formatDateTime(entry.occurredAt)}</span>${' '}`,
      )}
      ${
        outcomes.length === 0 &&
        `UNKNOWN: nothing was reported${complete ? '' : ' in what is kept of its history'}.`
      }
    </p>`;
    },
  );
}

/**
 * A menu of other versions. Below it stands what the chosen version answers on the recorded facts and the
 * state that the payer had then.
 */
function OtherVersion({ decision }: { decision: Decision }) {
  const folders = useAnswer(RULE_FOLDERS);
  const [version, setVersion] = useState('');
  const answer = useAnswer(version === '' ? null : decisionWhatIfQuestion(decision.decisionId, version));
  const others = (folders.data?.versions ?? [])
    .filter((one) => one.sound && one.version !== decision.ruleVersion)
    .map((one) => one.version);
  if (others.length === 0) return null;
  return html`${renderChoice('Answer of another version', others, { any: 'choose', go: setVersion })}
    <div role="status">
      ${version !== '' && renderAnswer(answer, (then) => h(Then, { then, was: decision }))}
    </div>`;
}

function Then({ then: { version, decision, missing }, was }: { then: OtherVersionAnswer; was: Decision }) {
  if (decision === null)
    return html`<p class="faint">
      ${version} cannot say: the record does not hold ${missing.join(', ')}, which it asks for.
    </p>`;
  const isAlike = decision.verdict === was.verdict && decision.waitSeconds === was.waitSeconds;
  return html`<p>${h(VerdictPill, decision)} by ${decision.rule}${isAlike && ', the same answer'}</p>
    <p>${decision.reason}</p>`;
}
