import { type Command, Option } from 'commander';
import { INSTALLATION } from '#checkout/access/access-keys.ts';
import { createUserActor } from '#workbench/access/actors.ts';
import { PROPOSAL_STATES, type Proposal, toProposalView } from '#workbench/approvals/proposals.ts';
import { orFindings } from './approval.ts';
import { parseListOwner, parseReason } from './options.ts';
import { print } from './print.ts';
import { withApprovals } from './with-approvals.ts';

interface ListOptions {
  readonly platform: string;
  readonly state?: string;
  readonly json?: true;
}

interface DecideOptions {
  readonly platform: string;
  readonly reason: string;
  readonly json?: true;
}

const PLATFORM = [
  '--platform <name>',
  'whose proposals; "*" of the whole installation',
  INSTALLATION,
] as const;

/** proposals list, approve, reject: changes that somebody else has to approve. */
export function proposalsCommands(program: Command): void {
  const proposals = program
    .command('proposals')
    .description('changes that somebody else approves before they are made (APPROVALS=required)');

  proposals
    .command('list')
    .description('what waits and what was decided, newest first')
    .option(...PLATFORM)
    .addOption(new Option('--state <state>', 'only those').choices(Object.keys(PROPOSAL_STATES)))
    .option('--json', 'print a JSON array')
    .action((options: ListOptions) => list(options));

  for (const way of ['approve', 'reject'] as const) {
    proposals
      .command(`${way} <id>`)
      .description(
        way === 'approve'
          ? "carry out somebody else's proposal, if it would still do what was proposed"
          : 'return a proposal; nothing is changed',
      )
      .option(...PLATFORM)
      .requiredOption('--reason <text>', 'why; the proposer and the audit read it')
      .option('--json', 'print one JSON object')
      .action((id: string, options: DecideOptions) => decide(way, id, options));
  }
}

async function list({ platform, state, json }: ListOptions): Promise<void> {
  const whose = parseListOwner(platform);
  const all = await orFindings(() => withApprovals((approvals) => approvals.all(whose)));
  const wanted = all.filter((one) => state === undefined || one.state === state).map(toProposalView);
  if (json === true) print(JSON.stringify(wanted));
  else print(wanted.length === 0 ? 'There is no such proposal.' : wanted.map(inWords).join('\n\n'));
}

async function decide(
  way: 'approve' | 'reject',
  id: string,
  { platform, reason, json }: DecideOptions,
): Promise<void> {
  const [whose, why] = [parseListOwner(platform), parseReason(reason)];
  const decided = await orFindings(() =>
    withApprovals((approvals) => approvals[way](whose, id, createUserActor(), why)),
  );
  print(json === true ? JSON.stringify(toProposalView(decided)) : inWords(toProposalView(decided)));
}

function inWords(proposal: Proposal): string {
  const { proposalId, what, subject, lines, proposedBy, expiresAt, state, decidedBy, note } = proposal;
  const end = new Date(expiresAt).toISOString();
  return [
    `${proposalId}  ${what} ${subject}: ${state}, proposed by ${proposedBy}`,
    ...lines.map((line) => `  ${line}`),
    state === 'open'
      ? `  open until ${end}: proposals approve ${proposalId} --reason ...`
      : `  ${decidedBy ?? 'nobody decided'}${note === null ? '' : `: ${note}`}`,
  ].join('\n');
}
