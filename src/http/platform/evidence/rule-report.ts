import { Type } from 'typebox';
import { SLICE_NAMES } from '../../../evidence/report/rule-report.ts';
import { choice, instant, text } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { UNKNOWN_VERSION, UNSOUND_VERSION } from '../rules/rule-version.ts';
import { asked, DESK_BUSY, type EvidenceParts, NO_ARCHIVE, namedRules, spanOf } from './evidence-jobs.ts';
import { EvidenceJobSchema, JOB_EXAMPLE } from './evidence-shapes.ts';

export const askRuleReport = operation({
  method: 'post',
  path: '/v1/platform/evidence/report',
  operationId: 'askRuleReport',
  summary: 'What each rule was worth',
  description:
    'Asks for what "rules report" prints, worked out from the archive in a process of its own. The same question within ten minutes leads to the same job.',
  tag: 'Evidence',
  grant: 'rules',
  body: jsonBody(
    'RuleReportBody',
    Type.Object({
      version: text(32, 'A rule set, like p2.v11'),
      from: Type.Optional(instant),
      to: Type.Optional(instant),
      by: Type.Optional(choice(SLICE_NAMES, 'Besides all decisions, each rule by')),
    }),
    { version: 'p2.v11', from: '2026-11-01T00:00:00Z', by: 'day' },
  ),
  answers: jsonAnswer('The job, new or already under way or done', EvidenceJobSchema, JOB_EXAMPLE),
  refusals: [malformed('/to', 'must be after from'), UNSOUND_VERSION, UNKNOWN_VERSION, NO_ARCHIVE, DESK_BUSY],
  answer: async ({ key, body }, parts: EvidenceParts) => {
    const { version, by = null, ...span } = await body();
    const rules = namedRules(version, 'version', parts);
    return asked(key, { kind: 'report', ...spanOf(key, span), rules, by }, parts);
  },
});
