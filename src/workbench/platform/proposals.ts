import { Type } from '#base/json-schema.ts';
import { list, named, nextPageCursorSchema, shape, text } from '#base/shapes.ts';
import { isGranted } from '#checkout/access/access-keys.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import { ANY_CONSOLE_OPERATION } from '#checkout/http/request/authenticate.ts';
import {
  createNotFoundProblem,
  declareRefusal,
  HttpProblem,
  runRefusingKnownErrors,
} from '#checkout/http/request/problems.ts';
import {
  findReleasedDraft,
  isProposedBy,
  PROPOSAL_STATE_DESCRIPTIONS,
  ProposalRefused,
  ProposalSchema,
  type ProposalState,
  toProposalView,
  UnknownProposal,
} from '#workbench/approvals/proposals.ts';
import * as query from './parameters.ts';
import type { PlatformOperationParts } from './parts.ts';

const STATES = [
  'open',
  'approved',
  'failed',
  'rejected',
  'expired',
  'replaced',
] as const satisfies ProposalState[];

const STATE = query.choiceParameter(
  'state',
  STATES,
  `Only proposals in this state: ${STATES.map((one) => `${one} ${PROPOSAL_STATE_DESCRIPTIONS[one]}`).join('; ')}`,
);

const PROPOSAL_IN_PATH = query.pathParameter('proposalId', 'The proposalId of the answer that made it');

const BODY = declareJsonBody(
  'ProposalDecisionBody',
  Type.Object({
    reason: text(1000, 'Why; the proposer sees it, and the audit keeps it', 'looked at the difference'),
  }),
);

export const PROPOSAL_REFUSED = declareRefusal(
  'proposal-refused',
  'The proposal is not open, is your own, or its basis has changed.',
  (detail: string) => new HttpProblem(409, 'proposal refused', detail),
  'ann proposed it; somebody else approves it',
);

const UNKNOWN_PROPOSAL = declareRefusal(
  'unknown-proposal',
  'The platform of the key has no such proposal.',
  (detail: string) => createNotFoundProblem(detail),
  'There is no proposal "5f0c1d2e3a4b" here; the list of proposals has the ids.',
);

export const ProposalListSchema = named(
  'ProposalList',
  shape('Proposals', { proposals: list(ProposalSchema, 'Newest first'), next: nextPageCursorSchema }),
);

export const listProposals = declareOperation({
  route: 'get /v1/platform/proposals',
  command: {
    name: 'proposals list',
    summary: 'list open and decided proposals, newest first',
    description: '',
  },
  summary: 'List proposals',
  description:
    'Lists proposals of the platform, newest first; where APPROVALS is off, only proposed drafts. A key without `approve` sees what its owner proposed; with `rules` also the drafts of its platform, with `operate` all drafts.',
  grant: ANY_CONSOLE_OPERATION,
  parameters: [STATE, ...query.NEWEST_PAGE_PARAMETERS],
  answers: declareJsonAnswer('With what each would change', ProposalListSchema),
  answer: async ({ ctx, caller }, { approvals }: PlatformOperationParts) => {
    const wanted = STATE.read(ctx);
    const all = await approvals.list(caller.platform);
    const seesDrafts = isGranted(caller, 'operate') || isGranted(caller, 'rules');
    const seen = all.filter(
      (one) =>
        isGranted(caller, 'approve') ||
        isProposedBy(one, caller.actor) ||
        (seesDrafts && findReleasedDraft(one.change) !== undefined),
    );
    const { page, next } = query.cutNewestPage(
      ctx,
      seen.filter(({ state }) => wanted === null || state === wanted),
      ({ proposedAt, proposalId }) => [proposedAt, proposalId],
    );
    return { proposals: page.map(toProposalView), next };
  },
});

const WAYS = {
  approve: {
    command: {
      name: 'proposals approve',
      summary: "approve and carry out somebody else's proposal, if its basis has not changed",
      words: ['proposalId'],
    },
    summary: 'Approve a proposal and carry it out',
    description:
      'Works once, and only while the basis of the proposal has not changed. The approver must have another owner than the proposer; for drafts this holds only where APPROVALS is required.',
  },
  reject: {
    command: {
      name: 'proposals reject',
      summary: 'reject a proposal; nothing is changed',
      words: ['proposalId'],
    },
    summary: 'Reject a proposal',
    description: 'Nothing is changed; the proposer sees the reason.',
  },
} as const;

const decide = (way: keyof typeof WAYS) =>
  declareOperation({
    route: `post /v1/platform/proposals/{proposalId}/${way}`,
    ...WAYS[way],
    grant: 'approve',
    parameters: [PROPOSAL_IN_PATH],
    body: BODY,
    answers: declareJsonAnswer('As it stands now', ProposalSchema),
    refusals: [UNKNOWN_PROPOSAL, PROPOSAL_REFUSED],
    answer: async ({ ctx, caller, body }, { approvals }: PlatformOperationParts) => {
      const { platform, actor } = caller;
      const { reason } = await body();
      const decided = () => approvals[way](platform, PROPOSAL_IN_PATH.read(ctx), actor, reason);
      const ofKnown = () => runRefusingKnownErrors(decided, UNKNOWN_PROPOSAL.problem, UnknownProposal);
      return toProposalView(await runRefusingKnownErrors(ofKnown, PROPOSAL_REFUSED.problem, ProposalRefused));
    },
  });

export const approveProposal = decide('approve');
export const rejectProposal = decide('reject');

export const PROPOSAL_OPERATIONS = createTaggedOperations('Approvals', {
  listProposals,
  approveProposal,
  rejectProposal,
});
