import { Type } from 'typebox';
import { BACKTEST_MODES } from '../../../evidence/backtest/backtest.ts';
import { OUTCOME_ASSUMPTIONS } from '../../../evidence/backtest/lives.ts';
import { choice, instant, text } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { UNKNOWN_VERSION, UNSOUND_VERSION } from '../rules/rule-version.ts';
import { asked, DESK_BUSY, type EvidenceParts, NO_ARCHIVE, namedRules, spanOf } from './evidence-jobs.ts';
import { EvidenceJobSchema, JOB_EXAMPLE } from './evidence-shapes.ts';

export const askBacktest = operation({
  method: 'post',
  path: '/v1/platform/evidence/backtest',
  operationId: 'askBacktest',
  summary: 'What a version would have decided',
  description:
    'Asks for what "rules backtest" prints, worked out from the archive in a process of its own. The same question within ten minutes leads to the same job.',
  tag: 'Evidence',
  grant: 'rules',
  body: jsonBody(
    'BacktestBody',
    Type.Object({
      version: text(32, 'The candidate, draft or released, like p2.v11'),
      against: Type.Optional(text(32, 'Compare with this version instead of with what was recorded')),
      mode: Type.Optional(choice(BACKTEST_MODES, 'Absent: recorded')),
      outcomes: Type.Optional(
        choice(OUTCOME_ASSUMPTIONS, 'In closed-loop, which recorded outcomes happen; absent: granted'),
      ),
      from: Type.Optional(instant),
      to: Type.Optional(instant),
    }),
    { version: 'p2.v11', mode: 'closed-loop', from: '2026-11-01T00:00:00Z' },
  ),
  answers: jsonAnswer('The job, new or already under way or done', EvidenceJobSchema, {
    ...JOB_EXAMPLE,
    kind: 'backtest',
    mode: 'closed-loop',
    by: null,
  }),
  refusals: [malformed('/to', 'must be after from'), UNSOUND_VERSION, UNKNOWN_VERSION, NO_ARCHIVE, DESK_BUSY],
  answer: async ({ key, body }, parts: EvidenceParts) => {
    const { version, against, mode = 'recorded', outcomes = 'granted', ...span } = await body();
    const rules = namedRules(version, 'version', parts);
    const base = against === undefined ? null : namedRules(against, 'against', parts);
    return asked(
      key,
      { kind: 'backtest', ...spanOf(key, span), rules, against: base, mode, outcomes },
      parts,
    );
  },
});
