import { Type } from 'typebox';
import { OUTCOME_ASSUMPTIONS } from '../../../evidence/backtest/lives.ts';
import { choice, instant, text } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { UNKNOWN_VERSION, UNSOUND_VERSION } from '../rules/rule-version.ts';
import { asked, DESK_BUSY, type EvidenceParts, NO_ARCHIVE, namedRules, spanOf } from './evidence-jobs.ts';
import { EvidenceJobSchema, JOB_EXAMPLE } from './evidence-shapes.ts';

const VARY_EXAMPLE = ['groups.blocked-by-unpaid-chain.unpaidChain=2..8'] as const;

export const askSweep = operation({
  method: 'post',
  path: '/v1/platform/evidence/sweep',
  operationId: 'askSweep',
  summary: 'What other values of a constant would have done',
  description:
    'Asks for what "rules sweep" prints, worked out from the archive in a process of its own. A constant or value that cannot be tried is told as the trouble of the job. The same question within ten minutes leads to the same job.',
  tag: 'Evidence',
  grant: 'rules',
  body: jsonBody(
    'SweepBody',
    Type.Object({
      version: text(32, 'A rule set, like p2.v11'),
      vary: Type.Array(text(200, 'PATH=VALUES, as the command takes them'), { minItems: 1, maxItems: 3 }),
      outcomes: Type.Optional(choice(OUTCOME_ASSUMPTIONS, 'Which recorded outcomes happen; absent: granted')),
      from: Type.Optional(instant),
      to: Type.Optional(instant),
    }),
    { version: 'p2.v11', vary: VARY_EXAMPLE },
  ),
  answers: jsonAnswer('The job, new or already under way or done', EvidenceJobSchema, {
    ...JOB_EXAMPLE,
    kind: 'sweep',
    vary: VARY_EXAMPLE,
    by: null,
  }),
  refusals: [malformed('/to', 'must be after from'), UNSOUND_VERSION, UNKNOWN_VERSION, NO_ARCHIVE, DESK_BUSY],
  answer: async ({ key, body }, parts: EvidenceParts) => {
    const { version, vary, outcomes = 'granted', ...span } = await body();
    const rules = namedRules(version, 'version', parts);
    return asked(key, { kind: 'sweep', ...spanOf(key, span), rules, vary, outcomes }, parts);
  },
});
