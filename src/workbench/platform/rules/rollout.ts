import { Type } from '#base/json-schema.ts';
import { describedChoice, text, type ValueOf } from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import {
  createTaggedOperations,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  type GrantedRequest,
} from '#checkout/http/operation/operation.ts';
import {
  declareRefusal,
  HttpProblem,
  MALFORMED_BODY,
  runRefusingKnownErrors,
} from '#checkout/http/request/problems.ts';
import { optionalObjectiveMembers, pickObjectiveMembers } from '#decision/objective.ts';
import { createUncheckedVersionSchema } from '#decision/rules/rule-set.ts';
import { declareApprovalOperation } from '#workbench/platform/approval-operation.ts';
import type { RolloutParts } from '#workbench/platform/parts.ts';
import type { RolloutGoal } from '#workbench/rollout/advance.ts';
import {
  FollowReportSchema,
  RolloutRefused,
  RolloutStatusSchema,
  readRolloutStatus,
  rollBack,
} from '#workbench/rollout/change-rollout.ts';
import { CANARY_MEMBERS, GoalError, OTHER_CANDIDATES_MAX, parseGoal } from '#workbench/rollout/goal.ts';
import { parseBodyVersion } from './rule-version.ts';

const percentage = Type.Number({ exclusiveMinimum: 0, maximum: 100 });

const ReasonSchema = Type.Object({
  reason: text(1000, 'The reason, which the history keeps', 'longer first wait'),
  revision: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'The revision that you looked at: the change is refused if the rollout has another one by now. Absent: any revision',
    }),
  ),
});

const RollbackBodySchema = Type.Object({
  version: Type.Optional(createUncheckedVersionSchema('The candidate to roll back; absent: all candidates')),
  ...ReasonSchema.properties,
});

const RolloutBodySchema = Type.Object(
  {
    version: createUncheckedVersionSchema('The rule set, like p2.v11'),
    mode: describedChoice(
      {
        shadow: 'decides on copies of requests, and is only compared',
        canary: 'decides for `percent` of the clients',
        active: 'decides for all',
      },
      'What the version does from then on',
    ),
    percent: Type.Optional(percentage),
    guard: Type.Optional({
      ...percentage,
      description:
        'The guard, in percentage points: a canary that is worse than the active version by more than this is rolled back automatically',
    }),
    acceptDifference: Type.Optional(
      Type.Boolean({
        description:
          'True: the version may decide for more than 20 % even if it answers very differently from the active version. False: such a change is refused, with figures',
      }),
    ),
    also: Type.Optional(
      Type.Array(
        Type.Object({ version: createUncheckedVersionSchema('Another candidate'), percent: percentage }),
        {
          maxItems: OTHER_CANDIDATES_MAX,
          description: 'Further candidates beside `version`, in the same draw: no client is in two of them',
        },
      ),
    ),
    emergency: Type.Optional(
      Type.Boolean({
        description:
          'True: one person alone makes a formerly active version active again; the history shows it, and an alert is raised',
      }),
    ),
    ...optionalObjectiveMembers,
    ...ReasonSchema.properties,
  },
  {
    told: {
      not: {
        anyOf: [
          { properties: { mode: { const: 'canary' }, percent: { type: 'null' } } },
          ...CANARY_MEMBERS.map((name) => ({
            required: [name],
            properties: { mode: { enum: ['shadow', 'active'] }, [name]: { type: ['number', 'array'] } },
          })),
          ...Object.keys(optionalObjectiveMembers).map((name) => ({
            required: [name],
            properties: { mode: { enum: ['shadow', 'active'] }, [name]: {} },
          })),
        ],
      },
    },
  },
);

const ROLLOUT_REFUSED = declareRefusal(
  'rollout-refused',
  'The state of the fleet does not allow it; nothing was changed.',
  (detail: string) => new HttpProblem(409, 'rollout refused', detail),
  'p2.v10 is active already',
);

const FOLLOWING = declareJsonAnswer('The changed rollout, and which nodes follow it', FollowReportSchema);

export const readRollout = declareOperation({
  route: 'get /v1/platform/rules',
  command: {
    name: 'rules status',
    summary: 'show which version decides, what is on trial, and what each node has loaded',
    description: '',
  },
  summary: 'Show the active version and the candidates on trial',
  description:
    'Shows the rollout, and what was seen of trials so far. A key of a platform sees the figures and orders of that platform; keys of the whole installation also see the nodes and the figures of all platforms.',
  grant: 'rules:read',
  answers: declareJsonAnswer('The current state', RolloutStatusSchema),
  answer: ({ caller: { platform } }, { fleet, store, records }: RolloutParts) =>
    readRolloutStatus(fleet, store.tallies, {
      platform: isInstallation(platform) ? null : platform,
      decisionOf: async (decisionId) =>
        isInstallation(platform)
          ? store.decision(decisionId)
          : (await records.findDecision(platform, decisionId)).decision,
    }),
});

export const changeRollout = declareApprovalOperation({
  route: 'post /v1/platform/rules/rollout',
  command: {
    name: 'rules rollout',
    summary: 'bring a version into shadow, canary or active',
    description:
      'Returns when every node follows. A draft can only be a shadow. Candidates of more than 20 % in all are compared with the answers of the active version in the last day. A guard rolls a canary back automatically when its share of clients with BLOCK, WAIT or the bot flag is that many points above the share of the active version, or its share of clients who pay is that many points below.',
    words: ['version'],
  },
  summary: 'Bring a version to shadow, canary or active',
  description: `${CANARY_MEMBERS.join(', ')} and the objective are allowed only with a canary. A canary needs a percent; a guard needs shares below 100 in all. Trials of candidates that are not named end. A draft can only be a shadow. Candidates of more than 20 % in all are compared with the answers of the active version in the last day.`,
  grant: 'operate',
  body: declareJsonBody('RolloutBody', RolloutBodySchema),
  answers: FOLLOWING,
  refusals: [ROLLOUT_REFUSED],
  readChange: (asked) => readRolloutBody(asked),
  answer: async (asked, { approvals }: RolloutParts) => {
    const { platform, actor } = asked.caller;
    const change = await readRolloutBody(asked);
    const rollOut = () => approvals.rollOut({ platform, who: actor.text }, change);
    return runRefusingKnownErrors(rollOut, ROLLOUT_REFUSED.problem, RolloutRefused);
  },
});

async function readRolloutBody({ body }: GrantedRequest<ValueOf<typeof RolloutBodySchema>>) {
  const given = await body();
  const { reason, revision = null, acceptDifference = false, emergency = false } = given;
  const [version, goal] = [parseBodyVersion('version', given.version), readGoal(given)];
  return { what: 'rollout', version, goal, reason, revision, acceptDifference, emergency } as const;
}

export const rollBackRollout = declareOperation({
  route: 'post /v1/platform/rules/rollback',
  command: {
    name: 'rules rollback',
    summary:
      'roll back one candidate, or all; without candidates, return to the version that was active before',
    words: ['version'],
  },
  summary: 'Roll back the last change',
  description:
    'Rolls back the candidate that `version` names, or all candidates. Without candidates it returns to the version that was active before, never to one that was rolled back since. Send `revision` where two people may roll back at the same time.',
  grant: 'operate',
  body: declareJsonBody('RollbackBody', RollbackBodySchema),
  answers: FOLLOWING,
  refusals: [ROLLOUT_REFUSED],
  answer: async ({ caller, body }, { fleet, loadedRules, clock }: RolloutParts) => {
    const { reason, revision = null, version: named } = await body();
    // The author of the change is always the caller, whatever the body says.
    const change = { who: caller.actor.text, at: clock(), reason, revision };
    const version = named === undefined ? null : parseBodyVersion('version', named);
    const rollback = () => rollBack(fleet, loadedRules.rulesDir, change, version);
    return runRefusingKnownErrors(rollback, ROLLOUT_REFUSED.problem, RolloutRefused);
  },
});

function readGoal(body: ValueOf<typeof RolloutBodySchema>): RolloutGoal {
  const { mode, percent, guard } = body;
  const also = body.also?.map((one) => ({ ...one, version: parseBodyVersion('also', one.version) }));
  const version = parseBodyVersion('version', body.version);
  try {
    return parseGoal({ version, mode, percent, guard, also, judged: pickObjectiveMembers(body) });
  } catch (error) {
    throw error instanceof GoalError ? MALFORMED_BODY.problem(`/${error.member}`, error.message) : error;
  }
}

export const ROLLOUT_OPERATIONS = createTaggedOperations('Rules', {
  readRollout,
  rollOut: changeRollout,
  rollBack: rollBackRollout,
});
