import type { Audit } from '../../../access/audit.ts';
import type { DeskObstacle, RuleDesk } from '../../../authoring/desk/rule-desk.ts';
import { Type } from '../../../json-schema.ts';
import { isTakenUp, type LoadedRules } from '../../../rollout/loaded-rules.ts';
import { DraftRefused } from '../../../rules/folder/draft.ts';
import { draftNameRefusal } from '../../../rules/folder/release.ts';
import { formatProblem } from '../../../rules/problem.ts';
import { DIGEST_PATTERN, isRuleVersion, type RuleVersion, ruleVersion } from '../../../rules/rule-set.ts';
import { named, shape, text, word } from '../../../shapes.ts';
import { DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody } from '../../operation/request-body.ts';
import { HttpProblem, refusal } from '../../request/problems.ts';
import { UNKNOWN_FOLDER, VERSION_IN_PATH } from './rule-folders.ts';
import { withinLimits } from './rule-version.ts';

export interface ReleaseParts {
  readonly desk: RuleDesk;
  readonly loadedRules: LoadedRules;
  readonly audit: Audit;
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
  }),
  refusals: [UNKNOWN_FOLDER, RELEASE_REFUSED],
  answer: async ({ ctx, caller, body }, { desk, loadedRules, audit }: ReleaseParts) => {
    const version = VERSION_IN_PATH.read(ctx);
    if (!isRuleVersion(version)) throw UNKNOWN_FOLDER.problem();
    const { digest, reason } = await body();
    const obstacle = await orRefused(() => desk.release(caller.platform, version, digest));
    if (obstacle !== null) throw RELEASE_REFUSED.problem(obstacleText(version, obstacle));
    await audit.note({
      who: caller.actor.text,
      action: 'release',
      platform: null,
      subject: version,
      before: null,
      after: { digest },
      reason,
    });
    await isTakenUp(() => loadedRules.get(version)?.released === true);
    return { version, digest };
  },
});

async function orRefused<T>(release: () => Promise<T>): Promise<T> {
  try {
    return await withinLimits(release);
  } catch (error) {
    throw error instanceof DraftRefused ? RELEASE_REFUSED.problem(error.message) : error;
  }
}

function obstacleText(version: RuleVersion, obstacle: DeskObstacle): string {
  switch (obstacle.is) {
    case 'draft name':
      return draftNameRefusal(version);
    case 'released':
      return `${version} is released already`;
    case 'other files':
      return `${version} is not there any more as you saw it; open it again`;
    case 'findings':
      return `${version} has findings; mend them first:\n${obstacle.problems.map(formatProblem).join('\n')}`;
    case 'no cases':
      return `${version} has no cases; write first what it must answer, or copy the cases of the version before it`;
    case 'failed cases': {
      const cases = obstacle.failed === 1 ? '1 case' : `${obstacle.failed} cases`;
      return `${cases} of ${version} failed; mend them, or what they expect, first`;
    }
    default:
      return obstacle satisfies never;
  }
}
