import type { Command } from 'commander';
import type { ValueOf, WithMomentsAsText } from '#base/shapes.ts';
import type { ProposalSchema } from '#workbench/approvals/proposals.ts';
import {
  approveProposal,
  listProposals,
  type ProposalListSchema,
  rejectProposal,
} from '#workbench/platform/proposals.ts';
import { addOperationCommand } from './operation-command.ts';

type Proposal = WithMomentsAsText<ValueOf<typeof ProposalSchema>>;

/** Adds `proposals list`, `approve` and `reject`, for changes that another person has to approve. */
export function addProposalsCommands(program: Command): void {
  const proposals = program
    .command('proposals')
    .description('changes that somebody else must approve first (APPROVALS=required)');

  addOperationCommand<WithMomentsAsText<ValueOf<typeof ProposalListSchema>>>(proposals, {
    operation: listProposals,
    platform: 'any',
    formatAnswer: (list) =>
      list.proposals.length === 0
        ? 'There is no such proposal.'
        : list.proposals.map(formatProposal).join('\n\n'),
    jsonHelp: 'print a JSON array',
  });

  for (const operation of [approveProposal, rejectProposal]) {
    addOperationCommand<Proposal>(proposals, {
      operation,
      platform: 'any',
      needs: { lists: true, rules: true, archive: true },
      formatAnswer: formatProposal,
    });
  }
}

function formatProposal(proposal: Proposal): string {
  const { proposalId, what, subject, lines, proposedBy, expiresAt, state, decidedBy, note } = proposal;
  return [
    `${proposalId}  ${what} ${subject}: ${state}, proposed by ${proposedBy}`,
    ...lines.map((line) => `  ${line}`),
    state === 'open'
      ? `  open until ${expiresAt}: proposals approve ${proposalId} --reason ...`
      : `  ${decidedBy ?? 'no decision'}${note === null ? '' : `: ${note}`}`,
  ].join('\n');
}
