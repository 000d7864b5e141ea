import { type FirstSteps, TRAFFIC, TRIED_DECISIONS_MAX } from '../../service/first-steps.ts';
import { choice, named, nullable, shape, word } from '../../shapes.ts';
import { jsonAnswer, operation } from '../operation/operation.ts';
import { HttpProblem, refusal } from '../request/problems.ts';

export const FirstStepsSchema = named(
  'FirstSteps',
  shape('What a new store leads through', {
    traffic: choice(
      TRAFFIC,
      'possible: made-up traffic may be asked for; made: it was; used: it would mix with decisions that are there already; none: the store is for real traffic',
    ),
    waiting: nullable(word('The decisionId of the newest WAIT; null before there is made-up traffic')),
    blocked: nullable(word('The decisionId of the newest BLOCK; null before there is made-up traffic')),
    ruleVersion: nullable(word('The version that decided; null before there is made-up traffic')),
  }),
);

const EXAMPLE = {
  traffic: 'made',
  waiting: '019b1f3c7a5e7d21b0c4f2e83a9d6c01',
  blocked: '019b1f3c7a5e7d21b0c4f2e83a9d6c02',
  ruleVersion: 'p2.v10',
} as const;

const ANSWERS = jsonAnswer('As it stands', FirstStepsSchema, EXAMPLE);

interface FirstStepsParts {
  readonly firstSteps: FirstSteps;
}

export const readFirstSteps = operation({
  method: 'get',
  path: '/v1/platform/first-steps',
  operationId: 'readFirstSteps',
  summary: 'What a new store leads through',
  description:
    'For the platform `demo` of a store whose first start printed a key, as long as no other platform has one.',
  tag: 'Console',
  grant: 'decisions',
  answers: ANSWERS,
  refusals: [],
  answer: ({ caller }, { firstSteps }: FirstStepsParts) => firstSteps.view(caller.platform),
});

const NO_TRAFFIC = refusal(
  'no-made-up-traffic',
  'The store is for real traffic, or has made-up traffic already.',
  () =>
    new HttpProblem(
      409,
      'no made-up traffic',
      `Traffic is made up once, on the platform demo of a store with fewer than ${TRIED_DECISIONS_MAX} decisions that no other platform uses. Start the service on an empty DATA_DIR.`,
    ),
);

export const makeUpTraffic = operation({
  method: 'post',
  path: '/v1/platform/first-steps',
  operationId: 'makeUpTraffic',
  summary: 'Makes up a day of traffic to look at',
  description:
    'Scores, verdicts and outcomes of payers who do not exist, dated within the day before, on the platform `demo` of a new store.',
  tag: 'Console',
  grant: 'outcomes',
  answers: ANSWERS,
  refusals: [NO_TRAFFIC],
  answer: async ({ caller }, { firstSteps }: FirstStepsParts) => {
    if (!(await firstSteps.makeTraffic(caller.platform, caller.actor))) throw NO_TRAFFIC.problem();
    return firstSteps.view(caller.platform);
  },
});
