import { askService, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html } from '#workbench/console/page/html.ts';
import {
  type PlannedChange as Change,
  renderReasonField,
  useConfirmedChange,
} from '#workbench/console/page/parts/confirm.ts';
import { formatCount, formatDateTime } from '#workbench/console/page/parts/format.ts';
import { formatSafeName, renderSafeName } from '#workbench/console/page/parts/name.ts';
import { renderAnswer } from '#workbench/console/page/parts/notice.ts';
import { renderPill, type Tone } from '#workbench/console/page/parts/verdict.ts';
import {
  PROPOSALS,
  type Proposal,
  proposalDecisionQuestion,
  type Session,
} from '#workbench/console/page/questions.ts';
import { ProposedVersionReview } from './proposed-rules.ts';

/** How often the page looks for proposals of others. */
const EVERY_MS = 15_000;

/** Shows the open proposals and what each would change, and the decided ones in a closed section. */
export function ProposalsSection({ session }: { session: Session }) {
  const answer = useAnswer(PROPOSALS, EVERY_MS);
  const { propose, dialog } = useConfirmedChange(answer.reload);
  const card = (proposal: Proposal) => renderProposal(proposal, session, propose);
  return html`${renderAnswer(answer, ({ proposals }) => {
    const open = proposals.filter(({ state }) => state === 'open');
    const decided = proposals.filter(({ state }) => state !== 'open');
    return html`${open.map(card)}
      ${open.length === 0 && html`<p class="faint">Nothing waits for approval.</p>`}
      ${
        decided.length > 0 &&
        html`<details>
          <summary>${formatCount(decided.length, 'proposal')} decided</summary>
          <article>${decided.map(card)}</article>
        </details>`
      }`;
  })}${dialog}`;
}

function renderProposal(proposal: Proposal, session: Session, propose: (change: Change<Proposal>) => void) {
  const { proposalId, what, subject, state, versions, proposedBy, proposedAt } = proposal;
  const { expiresAt, decidedBy, note } = proposal;
  const decide = (way: 'approve' | 'reject', verb: string, tone: 'accent' | 'bad') =>
    propose({
      title: { before: verb, name: subject, after: '?' },
      action: `${verb} ${formatSafeName(subject)}`,
      tone,
      act: ({ reason }) => askService('POST', proposalDecisionQuestion(proposalId, way), { reason }),
      children: renderReasonField(undefined, 'Note to the proposer'),
    });
  const approve = () => decide('approve', 'Approve', 'accent');
  return html`<section class="card" key=${proposalId}>
    <h2>${what}: ${renderSafeName(subject)} ${renderPill(state, TONES[state])}</h2>
    <ul class="notes">
      ${listOwnLines(proposal, session).map((line) => html`<li>${line.replaceAll(' -> ', ' → ')}</li>`)}
    </ul>
    ${
      versions !== null &&
      isAllowed(session, 'rules:read') &&
      h(ProposedVersionReview, { proposal, versions, session })
    }
    <p class="faint">
      Proposed by ${proposedBy}, ${formatDateTime(proposedAt)};
      ${decidedBy === null ? ` open until ${formatDateTime(expiresAt)}` : ` decided by ${decidedBy}`}
      ${note !== null && `: ${note}`}
    </p>
    ${
      state === 'open' &&
      (isAllowed(session, 'approve')
        ? html`<div class="buttons">
            <button type="button" class="button-accent" onClick=${approve}>Approve …</button>
            <button type="button" onClick=${() => decide('reject', 'Return', 'bad')}>Return …</button>
          </div>`
        : html`<p>Somebody else who may approve decides.</p>`)
    }
  </section>`;
}

/** Returns the lines of a proposal without the differences that its card shows below in full. */
function listOwnLines({ lines, versions, draft, state }: Proposal, session: Session) {
  const isCompared = state === 'open' && draft?.platform !== session.platform;
  if (versions === null || !isCompared || !isAllowed(session, 'rules')) return lines;
  return lines.filter((line) => !line.startsWith(`against ${versions.before}: `));
}

const TONES: Readonly<Record<Proposal['state'], Tone>> = {
  open: 'note',
  approved: 'good',
  failed: 'bad',
  rejected: 'bad',
  expired: 'bad',
  replaced: 'note',
};
