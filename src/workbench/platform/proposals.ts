import { Type } from '#base/json-schema.ts';
import { list, named, nextPlace, shape, text } from '#base/shapes.ts';
import { isGranted } from '#checkout/access/access-keys.ts';
import {
  createChapter,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
} from '#checkout/http/operation/operation.ts';
import { ANY_OF_THE_PLATFORM } from '#checkout/http/request/authenticate.ts';
import { declareRefusal, HttpProblem, refuseKnownErrors } from '#checkout/http/request/problems.ts';
import {
  findProposedDraft,
  isProposedBy,
  PROPOSAL_STATES,
  ProposalRefused,
  ProposalSchema,
  type ProposalState,
  toProposalView,
} from '#workbench/approvals/proposals.ts';
import * as query from './parameters.ts';
import type { PlatformParts } from './parts.ts';

const STATES = [
  'open',
  'approved',
  'failed',
  'rejected',
  'expired',
  'replaced',
] as const satisfies ProposalState[];

const STATE = query.choice(
  'state',
  STATES,
  `Only those that stand so: ${STATES.map((one) => `${one} ${PROPOSAL_STATES[one]}`).join('; ')}`,
);

const PROPOSAL_IN_PATH = query.pathText('proposalId', 'As the answer that made it names it');

const BODY = declareJsonBody(
  'ProposalDecisionBody',
  Type.Object({ reason: text(1000, 'Why; the proposer and the audit read it', 'looked at the difference') }),
);

export const PROPOSAL_REFUSED = declareRefusal(
  'proposal-refused',
  'It is not open, is your own, or what it was made on has changed.',
  (detail: string) => new HttpProblem(409, 'proposal refused', detail),
  'ann proposed it; somebody else approves it',
);

export const ProposalListSchema = named(
  'ProposalList',
  shape('Proposals', { proposals: list(ProposalSchema, 'Newest first'), next: nextPlace }),
);

export const listProposals = declareOperation({
  route: 'get /v1/platform/proposals',
  command: {
    name: 'proposals list',
    summary: 'what waits and what was decided, newest first',
    description: '',
  },
  summary: 'What waits for somebody else, or did',
  description:
    'Of the platform of the key, newest first; where APPROVALS is off, drafts alone. Without `approve` a key sees what its owner proposed, with `rules` the drafts of its platform, with `operate` all drafts.',
  grant: ANY_OF_THE_PLATFORM,
  parameters: [STATE, ...query.PAGE_IN_TIME],
  answers: declareJsonAnswer('With what each would change', ProposalListSchema),
  answer: async ({ ctx, caller }, { approvals }: PlatformParts) => {
    const wanted = STATE.read(ctx);
    const all = await approvals.all(caller.platform);
    const seesDrafts = isGranted(caller, 'operate') || isGranted(caller, 'rules');
    const seen = all.filter(
      (one) =>
        isGranted(caller, 'approve') ||
        isProposedBy(one, caller.actor) ||
        (seesDrafts && findProposedDraft(one.change) !== undefined),
    );
    const { page, next } = query.cutPageInTime(
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
      summary: "carry out somebody else's proposal, if it would still do what was proposed",
      words: ['proposalId'],
    },
    summary: 'Approves a proposal and carries it out',
    description:
      'Once, and only if it would still do what it was proposed for. Whoever approves has another owner than whoever proposed; of a draft only where APPROVALS is required.',
  },
  reject: {
    command: {
      name: 'proposals reject',
      summary: 'return a proposal; nothing is changed',
      words: ['proposalId'],
    },
    summary: 'Returns a proposal',
    description: 'Nothing is changed; the reason says why not.',
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
    refusals: [PROPOSAL_REFUSED],
    answer: async ({ ctx, caller, body }, { approvals }: PlatformParts) => {
      const { platform, actor } = caller;
      const { reason } = await body();
      const decided = () => approvals[way](platform, PROPOSAL_IN_PATH.read(ctx), actor, reason);
      return toProposalView(await refuseKnownErrors(decided, PROPOSAL_REFUSED.problem, ProposalRefused));
    },
  });

export const approveProposal = decide('approve');
export const rejectProposal = decide('reject');

export const PROPOSAL_OPERATIONS = createChapter('Approvals', {
  listProposals,
  approveProposal,
  rejectProposal,
});
