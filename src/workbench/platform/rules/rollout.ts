import { Type } from '#base/json-schema.ts';
import { meaning, type Shape, text } from '#base/shapes.ts';
import { isInstallation } from '#checkout/access/access-keys.ts';
import {
  createChapter,
  declareJsonAnswer,
  declareJsonBody,
  declareOperation,
  type GrantedRequest,
} from '#checkout/http/operation/operation.ts';
import {
  declareRefusal,
  HttpProblem,
  MALFORMED_BODY,
  refuseKnownErrors,
} from '#checkout/http/request/problems.ts';
import { objectiveMembers, pickObjective } from '#decision/objective.ts';
import { versionTextSchema } from '#decision/rules/rule-set.ts';
import { declareGatedOperation } from '#workbench/platform/gated-operation.ts';
import type { RolloutParts } from '#workbench/platform/parts.ts';
import type { Goal } from '#workbench/rollout/advance.ts';
import {
  FollowingSchema,
  RolloutRefused,
  RolloutStatusSchema,
  readRolloutStatus,
  rollBack,
} from '#workbench/rollout/change-rollout.ts';
import { ALSO_MAX, BadGoal, CANARY_MEMBERS, parseGoal } from '#workbench/rollout/goal.ts';
import { parseBodyVersion } from './rule-version.ts';

const percentage = Type.Number({ exclusiveMinimum: 0, maximum: 100 });

const ReasonSchema = Type.Object({
  reason: text(1000, 'Why, for the history', 'longer first wait'),
  revision: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'The revision that was looked at: refused when it is another by now, so that nothing is taken back or replaced that nobody saw. Absent: whatever it is',
    }),
  ),
});

const RollbackBodySchema = Type.Object({
  version: Type.Optional(versionTextSchema('The one candidate to take back; absent: all of them')),
  ...ReasonSchema.properties,
});

const RolloutBodySchema = Type.Object(
  {
    version: versionTextSchema('The rule set, like p2.v11'),
    mode: meaning(
      {
        shadow: 'decides on a copy and is only compared',
        canary: 'decides for `percent` of the clients',
        active: 'decides for all',
      },
      'Where to bring it',
    ),
    percent: Type.Optional(percentage),
    guard: Type.Optional({
      ...percentage,
      description: 'So many points worse than the active version, and a canary is taken back by itself',
    }),
    acceptDifference: Type.Optional(
      Type.Boolean({
        description:
          'True: it may decide for more than 20 % although it answers very differently from the active version; without it that is refused, with figures',
      }),
    ),
    also: Type.Optional(
      Type.Array(Type.Object({ version: versionTextSchema('Another candidate'), percent: percentage }), {
        maxItems: ALSO_MAX,
        description: 'Candidates beside `version`, in one draw with it: no client is in two of them',
      }),
    ),
    emergency: Type.Optional(
      Type.Boolean({
        description:
          'True: one person alone makes a version active again that was active before; the history says so, and metrics raise an alert',
      }),
    ),
    ...objectiveMembers,
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
          ...Object.keys(objectiveMembers).map((name) => ({
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
  'The state of the fleet is in the way; nothing was changed.',
  (detail: string) => new HttpProblem(409, 'rollout refused', detail),
  'p2.v10 is active already',
);

const FOLLOWING = declareJsonAnswer('The changed rollout, and which nodes follow it', FollowingSchema);

export const readRollout = declareOperation({
  route: 'get /v1/platform/rules',
  command: {
    name: 'rules status',
    summary: 'which version decides, what is on trial, and what each node has loaded',
    description: '',
  },
  summary: 'Which version decides',
  description:
    'The rollout, and what was seen of a trial under way. A key of a platform sees the figures and orders of that platform; the nodes, and the figures of all, are shown to keys of the whole installation.',
  grant: 'rules:read',
  answers: declareJsonAnswer('As it stands', RolloutStatusSchema),
  answer: ({ caller: { platform } }, { fleet, store, records }: RolloutParts) =>
    readRolloutStatus(fleet, store.tallies, {
      platform: isInstallation(platform) ? null : platform,
      decisionOf: async (decisionId) =>
        isInstallation(platform)
          ? store.decision(decisionId)
          : (await records.decision(platform, decisionId)).decision,
    }),
});

export const changeRollout = declareGatedOperation({
  route: 'post /v1/platform/rules/rollout',
  command: {
    name: 'rules rollout',
    summary: 'bring a version into shadow, canary or active',
    description:
      'Returns when every node follows. A draft may only be shadowed. Candidates of more than 20 % in all are compared with what the active version answered in the last day. A guard takes a canary back by itself when its share of clients with BLOCK, WAIT or the bot flag is that many points above that of the active version, or its share of clients who pay that many below.',
    words: ['version'],
  },
  summary: 'Brings a version to shadow, canary or active',
  description: `${CANARY_MEMBERS.join(', ')} and what a trial is judged by go only with a canary, which needs a percent, and a guard shares below 100 in all. What is on trial and not named ends. A draft may only be shadowed. Candidates of more than 20 % in all are compared with what the active version answered in the last day.`,
  grant: 'operate',
  body: declareJsonBody('RolloutBody', RolloutBodySchema),
  answers: FOLLOWING,
  refusals: [ROLLOUT_REFUSED],
  gate: (asked) => rolloutOf(asked),
  answer: async (asked, { approvals }: RolloutParts) => {
    const { platform, actor } = asked.caller;
    const change = await rolloutOf(asked);
    const rollOut = () => approvals.rollOut({ platform, who: actor.text }, change);
    return refuseKnownErrors(rollOut, ROLLOUT_REFUSED.problem, RolloutRefused);
  },
});

async function rolloutOf({ body }: GrantedRequest<Shape<typeof RolloutBodySchema>>) {
  const given = await body();
  const { reason, revision = null, acceptDifference = false, emergency = false } = given;
  const [version, goal] = [parseBodyVersion('version', given.version), goalInBody(given)];
  return { what: 'rollout', version, goal, reason, revision, acceptDifference, emergency } as const;
}

export const takeBack = declareOperation({
  route: 'post /v1/platform/rules/rollback',
  command: {
    name: 'rules rollback',
    summary: 'take one candidate back, or all; without any, return to the version before',
    words: ['version'],
  },
  summary: 'Takes the last step back',
  description:
    'Takes the candidate back that `version` names, or all; or without any returns to the version that was active before, never to one that was taken back since. Send `revision` where two people may do so at the same time.',
  grant: 'operate',
  body: declareJsonBody('RollbackBody', RollbackBodySchema),
  answers: FOLLOWING,
  refusals: [ROLLOUT_REFUSED],
  answer: async ({ caller, body }, { fleet, loadedRules, clock }: RolloutParts) => {
    const { reason, revision = null, version: named } = await body();
    // Who did it is the key, never what the body says.
    const change = { who: caller.actor.text, at: clock(), reason, revision };
    const version = named === undefined ? null : parseBodyVersion('version', named);
    const rollback = () => rollBack(fleet, loadedRules.rulesDir, change, version);
    return refuseKnownErrors(rollback, ROLLOUT_REFUSED.problem, RolloutRefused);
  },
});

function goalInBody(body: Shape<typeof RolloutBodySchema>): Goal {
  const { mode, percent, guard } = body;
  const also = body.also?.map((one) => ({ ...one, version: parseBodyVersion('also', one.version) }));
  const version = parseBodyVersion('version', body.version);
  try {
    return parseGoal({ version, mode, percent, guard, also, judged: pickObjective(body) });
  } catch (error) {
    throw error instanceof BadGoal ? MALFORMED_BODY.problem(`/${error.member}`, error.message) : error;
  }
}

export const ROLLOUT_OPERATIONS = createChapter('Rules', {
  readRollout,
  rollOut: changeRollout,
  rollBack: takeBack,
});
