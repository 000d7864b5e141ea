import { Type } from 'typebox';
import { COMPARED_SHARES } from '../../../rollout/guard.ts';
import { ruleVersion } from '../../../rules/rule-set.ts';
import {
  choice,
  count,
  epochMs,
  list,
  meaning,
  named,
  nullable,
  percent,
  shape,
  word,
  yesNo,
} from '../../../shapes.ts';
import { AT_EXAMPLE, DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';

/** The rollout and the fleet as they are answered; a test holds them equal to the types of the code. */

const arm = shape('What one version answered', {
  verdicts: count('All'),
  blocks: count('BLOCK'),
  waits: count('WAIT'),
  bots: count('isBot true'),
  clients: shape('By client, each counted once by its first verdict since the canary has this percent', {
    seen: count('All'),
    blocked: count('Answered BLOCK'),
    waited: count('Answered WAIT'),
    bots: count('isBot true'),
    paid: count('Of those who asked since then: paid an order'),
    unpaid: count('Of the same: paid none, and an order ended unpaid; of the others nothing is known'),
  }),
});

const interval = nullable(
  shape(
    'A share of the clients, for paid of those with an outcome, with its 95 % interval, 0 to 1; null without one',
    {
      value: Type.Number(),
      low: Type.Number(),
      high: Type.Number(),
    },
  ),
);

export const TrialSchema = named(
  'TrialCounts',
  shape('What was seen of a trial since it began', {
    trial: word('Names the trial'),
    arms: shape('By version', { active: arm, candidate: arm }),
    shares: list(
      shape('A share of the clients of both versions', {
        name: choice(
          COMPARED_SHARES.map(({ name }) => name),
          'Of what',
        ),
        active: interval,
        candidate: interval,
      }),
      'Of a canary',
    ),
    breach: nullable(
      word(
        'Why the guard takes the canary back, by the clients of all platforms; null while it does not, and for a key of one platform',
      ),
    ),
    shadow: shape('Answers of a shadow compared with those given', {
      compared: count('Verdicts that both decided'),
      different: count('Of these, answered otherwise'),
      differences: list(
        shape('A kind of difference', {
          change: word('Like "WAIT/attempt-unpaid -> BLOCK/bot-blocked"'),
          count: count('How often'),
          sampleOrders: list(Type.String(), 'Some orderRefs to look at'),
        }),
        'By kind',
      ),
    }),
    candidateErrors: count('Decisions for which the candidate threw'),
  }),
);

export const NodeSchema = named(
  'Node',
  shape('One node, as it reports itself', {
    nodeId: word('New at every start'),
    host: word('Its machine'),
    pid: count('Its process'),
    startedAt: epochMs('Start'),
    seenAt: epochMs('Last report'),
    revision: count('Of the rollout that it follows'),
    active: shape('The version that decides on it', { version: ruleVersion, digest: word('Over its files') }),
    versions: list(
      shape('A loaded version', {
        version: word('Like p2.v10'),
        digest: word('Over its files'),
        released: yesNo('False for a draft'),
      }),
      'What it has loaded',
    ),
    refused: list(
      shape('A folder that is not sound', {
        version: ruleVersion,
        problems: list(Type.String(), 'With file, line and column'),
      }),
      'What it refuses',
    ),
    trouble: nullable(word('Why it does not follow the newest revision; null when it does')),
    hasStaleLists: yesNo(
      'It could not ask the store for the shared lists for more than 10 s; changes since then do not count there',
    ),
  }),
);

export const RolloutSchema = named(
  'Rollout',
  shape('Which version decides', {
    revision: Type.Integer({ minimum: 1, description: 'One more for every change' }),
    active: shape('The version that decides', { version: ruleVersion, digest: word('Over its files') }),
    candidate: nullable(
      shape('A version on trial', {
        version: ruleVersion,
        digest: word('Over its files'),
        mode: choice(['shadow', 'canary'], 'shadow: compared only; canary: decides for `percent`'),
        percent: percent('Of the clients'),
        trial: word('Names the trial'),
        since: epochMs('Start of the trial'),
        stageSince: epochMs('Since when it decides for this percent, beside this active version'),
        guardPoints: nullable(percent('Ends the trial when a share is off by more points than this')),
      }),
    ),
    history: list(
      shape('One change', {
        at: epochMs('When'),
        who: word('Who'),
        action: meaning(
          {
            start: 'the first version of the store',
            shadow: 'a candidate is compared',
            canary: 'a candidate decides for a share',
            active: 'a version decides for all',
            rollback: 'somebody took it back',
            guard: 'the guard of a canary took it back',
            repair: 'a rollout that could not be read was rewritten',
          },
          'What',
        ),
        from: nullable(ruleVersion),
        to: ruleVersion,
        digest: word('Over the files of `to`'),
        percent: Type.Optional(percent('Only of a canary')),
        reason: word('Why'),
      }),
      'Newest last',
    ),
  }),
);

export const RolloutStatusSchema = named(
  'RolloutStatus',
  shape('The rollout and the fleet', {
    rollout: nullable(RolloutSchema),
    unreadable: yesNo('What is stored as the rollout is damaged; nodes continue, and a rollback rewrites it'),
    nodes: nullable(list(NodeSchema, 'Those heard of in the last 10 s; null for a key of one platform')),
    trial: nullable(TrialSchema),
    previous: nullable(
      shape('Where a rollback leads when nothing is on trial; null: nowhere', {
        version: ruleVersion,
        digest: word('Over its files'),
      }),
    ),
  }),
);

export const FollowingSchema = named(
  'Following',
  shape('A change of the rollout, and who follows it', {
    rollout: RolloutSchema,
    following: list(NodeSchema, 'Nodes that follow it'),
    lagging: list(NodeSchema, 'Nodes that do not yet'),
  }),
);

export const ROLLOUT_EXAMPLE = {
  revision: 2,
  active: { version: 'p2.v10', digest: DIGEST_EXAMPLE },
  candidate: {
    version: 'p2.v11',
    digest: DIGEST_EXAMPLE.replace('4', '5'),
    mode: 'canary',
    percent: 5,
    trial: `p2.v11@${AT_EXAMPLE}`,
    since: AT_EXAMPLE,
    stageSince: AT_EXAMPLE,
    guardPoints: 2,
  },
  history: [
    {
      at: AT_EXAMPLE,
      who: 'ann',
      action: 'canary',
      from: 'p2.v10',
      to: 'p2.v11',
      digest: DIGEST_EXAMPLE.replace('4', '5'),
      percent: 5,
      reason: 'longer first wait',
    },
  ],
} as const;
