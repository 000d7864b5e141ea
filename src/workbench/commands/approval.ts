import { readConfig } from '#config.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { createUserActor, formatUserActor } from '#workbench/access/actors.ts';
import { ProposalRefused, type ProposedChange, type StoredProposal } from '#workbench/approvals/proposals.ts';
import { FindingsError } from './exit.ts';
import { print } from './print.ts';

/** `--without-approval` of the commands that would make a proposal. */
export const WITHOUT_APPROVAL = [
  '--without-approval',
  'change it at once in spite of APPROVALS=required; the audit shows it',
] as const;

export interface ApprovalOption {
  readonly withoutApproval?: true;
}

/** The proposal that a command makes instead of a change; null when the command may make the change itself. */
export async function proposedBy(
  platform: PlatformName,
  change: ProposedChange,
  { withoutApproval }: ApprovalOption,
): Promise<StoredProposal | null> {
  if (!readConfig().requiresApproval || withoutApproval === true) return null;
  // Loaded only when used: most commands need nothing of approvals.
  const { withApprovals } = await import('./with-approvals.ts');
  return orFindings(() =>
    withApprovals((approvals) => approvals.propose(platform, change, createUserActor())),
  );
}

/** Who made a change by a command, and whether it skipped the approval. */
export function whoChanges({ withoutApproval }: ApprovalOption): string {
  const isPast = withoutApproval === true && readConfig().requiresApproval;
  return isPast ? `${formatUserActor()}, without approval` : formatUserActor();
}

export function printProposed(
  platform: PlatformName,
  { proposalId, lines, expiresAt }: StoredProposal,
  json: boolean,
): void {
  if (json) {
    print(JSON.stringify({ proposalId, expiresAt }));
    return;
  }
  print(
    `Nothing was changed: somebody else has to approve it.\n${lines.map((line) => `  ${line}`).join('\n')}`,
  );
  print(`To approve: proposals approve ${proposalId} --platform '${platform}' --reason ...`);
}

export async function orFindings<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof ProposalRefused ? new FindingsError(error.message) : error;
  }
}
