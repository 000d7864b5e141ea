import { ProposalRefused } from '../../../access/proposals.ts';
import { lostCasesMember } from '../../../authoring/desk/release-version.ts';
import { Type } from '../../../json-schema.ts';
import { DraftRefused } from '../../../rules/folder/draft.ts';
import { DIGEST_PATTERN, isRuleVersion, ruleVersion } from '../../../rules/rule-set.ts';
import type { Approvals } from '../../../service/approvals.ts';
import { named, type Shape, shape, text, word } from '../../../shapes.ts';
import { DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { type Asked, jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody } from '../../operation/request-body.ts';
import { HttpProblem, refusal } from '../../request/problems.ts';
import { UNKNOWN_FOLDER, VERSION_IN_PATH } from './rule-folders.ts';
import { withinLimits } from './rule-version.ts';

export interface ReleaseParts {
  readonly approvals: Approvals;
}

const ReleaseBodySchema = Type.Object({
  digest: Type.String({ pattern: DIGEST_PATTERN, description: 'Of the files that were looked at' }),
  reason: text(1000, 'Why, for the audit log'),
});

const ReleasedVersionSchema = named(
  'ReleasedVersion',
  shape('A version that may decide, and never changes', {
    version: ruleVersion,
    digest: word('SHA-256 over its files'),
    lostCases: lostCasesMember,
  }),
);

const RELEASE_REFUSED = refusal(
  'releaseRefused',
  'Something stands in the way: it has findings, failed cases or none, is released already, or was changed meanwhile.',
  (detail: string) => new HttpProblem(409, 'release refused', detail),
  '2 cases of p2.v11 failed; mend them, or what they expect, first',
);

export const releaseVersion = operation({
  method: 'post',
  path: '/v1/platform/rules/versions/{version}/release',
  operationId: 'releaseVersion',
  summary: 'Fixes a version for good',
  description:
    'As the command "rules release": when nothing is found in it and all its cases pass. From then on it may decide, once somebody rolls it out, and its files never change.',
  tag: 'Rules',
  grant: 'operate',
  parameters: [VERSION_IN_PATH],
  body: jsonBody('ReleaseBody', ReleaseBodySchema, { digest: DIGEST_EXAMPLE, reason: 'longer first wait' }),
  answers: jsonAnswer('It is released', ReleasedVersionSchema, {
    version: 'p2.v11',
    digest: DIGEST_EXAMPLE,
    lostCases: null,
  }),
  refusals: [UNKNOWN_FOLDER, RELEASE_REFUSED],
  gate: async (asked) => releaseOf(asked),
  answer: async (asked, { approvals }: ReleaseParts) => {
    const change = await releaseOf(asked);
    const { platform, actor } = asked.caller;
    const lost = await orRefused(() => approvals.release({ platform, who: actor.text }, change));
    return { version: change.version, digest: change.digest, lostCases: lost };
  },
});

async function releaseOf({ ctx, body }: Asked<Shape<typeof ReleaseBodySchema>>) {
  const version = VERSION_IN_PATH.read(ctx);
  if (!isRuleVersion(version)) throw UNKNOWN_FOLDER.problem();
  return { what: 'release', version, ...(await body()) } as const;
}

async function orRefused<T>(release: () => Promise<T>): Promise<T> {
  try {
    return await withinLimits(release);
  } catch (error) {
    const isRefused = error instanceof DraftRefused || error instanceof ProposalRefused;
    throw isRefused ? RELEASE_REFUSED.problem(error.message) : error;
  }
}
