import { Type } from '../../../json-schema.ts';
import { jsonBody } from '../../operation/request-body.ts';
import { versionText } from '../rules/rule-version.ts';
import { evidenceQuestion, SPAN_MEMBERS } from './evidence-question.ts';

const DriftBodySchema = Type.Object({
  version: Type.Optional(versionText('Only decisions of this rule set; absent: of all')),
  ...SPAN_MEMBERS,
});

export const askDrift = evidenceQuestion({
  kind: 'drift',
  operationId: 'askDrift',
  summary: 'What has changed from the earlier to the later part of the time',
  asksFor: 'what "rules drift" prints',
  body: jsonBody('DriftBody', DriftBodySchema, { from: '2026-11-01T00:00:00Z' }),
  example: { rules: null },
  task: ({ version }, rulesNamed) => ({
    kind: 'drift',
    rules: version === undefined ? null : rulesNamed(version, 'version'),
  }),
});
