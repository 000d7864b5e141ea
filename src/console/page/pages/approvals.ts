import type { Proposal, Session } from '../answers.ts';
import { ask, may, useAnswer } from '../api.ts';
import { html } from '../html.ts';
import type { PageProps } from '../page-props.ts';
import { type Proposal as Question, useProposal } from '../parts/confirm.ts';
import { ChangedSince } from '../parts/differences.ts';
import { Choice, Field, sent } from '../parts/form.ts';
import { dateTime } from '../parts/format.ts';
import { answered, Empty } from '../parts/notice.ts';
import { Pill } from '../parts/verdict.ts';
import { decideProposal, PROPOSALS } from '../questions.ts';

/** How often the page looks for proposals of others. */
const EVERY_MS = 15_000;

/** What waits for somebody else, with what it would change, and what was decided. */
export function ApprovalsPage({ session }: PageProps) {
  const answer = useAnswer(PROPOSALS, EVERY_MS);
  const { propose, dialog } = useProposal(answer.reload);
  const listed = answered(answer, ({ proposals }) =>
    proposals.length === 0
      ? html`<${Empty} title="Nothing waits for approval">
          Where APPROVALS is required, what reaches most payers is proposed here before it is done.
        <//>`
      : proposals.map(
          (proposal) =>
            html`<${OneProposal} key=${proposal.proposalId} ...${{ proposal, session, propose }} />`,
        ),
  );
  return html`${listed}${dialog}`;
}

function OneProposal({
  proposal,
  session,
  propose,
}: {
  proposal: Proposal;
  session: Session;
  propose: (question: Question<Proposal>) => void;
}) {
  const { proposalId, what, subject, state, lines, versions, proposedBy, proposedAt } = proposal;
  const { expiresAt, decidedBy, note } = proposal;
  return html`<section class="card">
    <h2>${what}: ${subject} <${Pill} tone=${TONES[state]}>${state}<//></h2>
    <ul class="notes">${lines.map((line) => html`<li>${line}</li>`)}</ul>
    ${versions !== null && may(session, 'rules:read') && html`<${ChangedSince} ...${versions} />`}
    <p class="faint">
      Proposed by ${proposedBy}, ${dateTime(proposedAt)};
      ${decidedBy === null ? ` open until ${dateTime(expiresAt)}` : ` decided by ${decidedBy}`}
      ${note !== null && `: ${note}`}
    </p>
    ${
      state === 'open' &&
      (may(session, 'approve')
        ? html`<${Decide} id=${proposalId} subject=${subject} propose=${propose} />`
        : html`<p>Somebody else decides, who may approve.</p>`)
    }
  </section>`;
}

const TONES: Readonly<Record<Proposal['state'], 'good' | 'bad' | 'note'>> = {
  open: 'note',
  approved: 'good',
  failed: 'bad',
  rejected: 'bad',
  expired: 'bad',
};

const WAYS = [
  ['approve', 'Approve'],
  ['reject', 'Return'],
] as const;

function Decide({
  id,
  subject,
  propose,
}: {
  id: string;
  subject: string;
  propose: (question: Question<Proposal>) => void;
}) {
  const submit = sent(({ reason = '', way }) => {
    const returns = way === 'reject';
    const action = returns ? `Return ${subject}` : `Approve ${subject}`;
    const act = () => ask('POST', decideProposal(id, returns ? 'reject' : 'approve'), { reason });
    const tone = returns ? 'bad' : 'accent';
    propose({ title: `${action}?`, action, tone, act, children: html`<p>Reason: ${reason}</p>` });
  });
  return html`<form class="filters" onSubmit=${submit}>
    <${Choice} label="What to do" name="way" values=${WAYS} />
    <${Field} label="Note to the proposer"><input name="reason" required maxlength="1000" /><//>
    <div class="buttons"><button type="submit" class="button-accent">Decide …</button></div>
  </form>`;
}
