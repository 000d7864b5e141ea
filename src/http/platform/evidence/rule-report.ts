import { SLICE_NAMES } from '../../../evidence/report/rule-report.ts';
import { Type } from '../../../json-schema.ts';
import { choice } from '../../../shapes.ts';
import { jsonBody } from '../../operation/request-body.ts';
import { versionText } from '../rules/rule-version.ts';
import { evidenceQuestion, SPAN_MEMBERS } from './evidence-question.ts';

const RuleReportBodySchema = Type.Object({
  version: versionText('A rule set, like p2.v11'),
  ...SPAN_MEMBERS,
  by: Type.Optional(choice(SLICE_NAMES, 'Besides all decisions, each rule by')),
});

export const askRuleReport = evidenceQuestion({
  kind: 'report',
  operationId: 'askRuleReport',
  summary: 'What each rule was worth',
  asksFor: 'what "rules report" prints',
  body: jsonBody('RuleReportBody', RuleReportBodySchema, {
    version: 'p2.v11',
    from: '2026-11-01T00:00:00Z',
    by: 'day',
  }),
  example: { by: 'day' },
  task: ({ version, by = null }, rulesNamed) => ({
    kind: 'report',
    rules: rulesNamed(version, 'version'),
    by,
  }),
});
