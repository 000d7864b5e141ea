import { Type } from '#base/json-schema.ts';
import { epochMs, named, plainText, shape } from '#base/shapes.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import type { Caller } from '#checkout/access/caller.ts';
import {
  type AnswerSpec,
  type DeclaredOperation,
  declareOperation,
  type GrantedRequest,
  type KeyedOperationSpec,
  type OperationSpec,
} from '#checkout/http/operation/operation.ts';
import { declareRefusal, HttpProblem, runRefusingKnownErrors } from '#checkout/http/request/problems.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { Approvals } from '#workbench/approvals/approvals.ts';
import { ProposalRefused, type ProposedChange } from '#workbench/approvals/proposals.ts';

/** A change that another person may have to approve. For a new key, `secret` is the key's secret. */
type GatedChange = ProposedChange & { readonly secret?: string };

/** The part that makes proposals of changes that need approval. */
export interface ProposerParts {
  readonly approvals: Pick<Approvals, 'propose'>;
}

export interface ApprovalOperationSpec<Parts, Body> extends KeyedOperationSpec<Parts, Body> {
  /** Returns the change that the request asks for. */
  readonly readChange: (asked: GrantedRequest<Body>, parts: Parts) => Promise<GatedChange>;
}

/**
 * Declares an operation whose change another person may have to approve. When approval is needed, it answers 202 with
 * the proposal.
 */
export function declareApprovalOperation<Parts extends ProposerParts, Body = never>({
  readChange,
  answer,
  answers,
  refusals = [],
  ...rest
}: ApprovalOperationSpec<Parts, Body>): DeclaredOperation<Parts> {
  return declareOperation<Parts, Body>({
    ...rest,
    answers: { ...answers, ...PROPOSED },
    refusals: [...refusals, NOT_PROPOSED],
    answer: async (asked, parts) => {
      const { secret: key, ...change } = await readChange(asked, parts);
      const propose = () =>
        parts.approvals.propose(getApprovingPlatform(asked.caller), change, asked.caller.actor);
      const proposal = await runRefusingKnownErrors(propose, NOT_PROPOSED.problem, ProposalRefused);
      if (proposal === null) return answer(asked, parts);
      asked.ctx.status = 202;
      return { proposalId: proposal.proposalId, expiresAt: proposal.expiresAt, ...(key && { key }) };
    },
  });
}

/**
 * Returns the platform whose approvers decide. It is the caller's platform, or the installation if the caller runs a
 * command.
 */
function getApprovingPlatform({ platform, credential }: Caller): PlatformName {
  return credential.kind === 'user' ? INSTALLATION_PLATFORM : platform;
}

/** Whether another person may have to approve the change of the operation. */
export function isSubjectToApproval({ answers }: Pick<OperationSpec, 'answers'>): boolean {
  return answers[202] === PROPOSED[202];
}

const PROPOSED: Readonly<Record<202, AnswerSpec>> = {
  202: {
    description:
      'Nothing was changed yet: somebody else has to approve the change first (APPROVALS=required)',
    content: {
      'application/json': named(
        'MadeProposal',
        shape('A change that waits for approval', {
          proposalId: plainText('Names it', '5f0c1d2e3a4b'),
          expiresAt: epochMs('Until when it can be approved'),
          key: Type.Optional(
            plainText(
              'The secret of a new key, which is shown only now and works once the proposal is approved',
            ),
          ),
        }),
      ),
    },
  },
};

const NOT_PROPOSED = declareRefusal(
  'not-proposed',
  'The change needs approval, and cannot be proposed like this.',
  (detail: string) => new HttpProblem(409, 'not proposed', detail),
  'p2.v10 is active already',
);
