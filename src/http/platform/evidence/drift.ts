import { Type } from 'typebox';
import { instant, text } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { UNKNOWN_VERSION, UNSOUND_VERSION } from '../rules/rule-version.ts';
import { asked, DESK_BUSY, type EvidenceParts, NO_ARCHIVE, namedRules, spanOf } from './evidence-jobs.ts';
import { EvidenceJobSchema, JOB_EXAMPLE } from './evidence-shapes.ts';

export const askDrift = operation({
  method: 'post',
  path: '/v1/platform/evidence/drift',
  operationId: 'askDrift',
  summary: 'What has changed from the earlier to the later part of the time',
  description:
    'Asks for what "rules drift" prints, worked out from the archive in a process of its own. The same question within ten minutes leads to the same job.',
  tag: 'Evidence',
  grant: 'rules',
  body: jsonBody(
    'DriftBody',
    Type.Object({
      version: Type.Optional(text(32, 'Only decisions of this rule set; absent: of all')),
      from: Type.Optional(instant),
      to: Type.Optional(instant),
    }),
    { from: '2026-11-01T00:00:00Z' },
  ),
  answers: jsonAnswer('The job, new or already under way or done', EvidenceJobSchema, {
    ...JOB_EXAMPLE,
    kind: 'drift',
    rules: null,
    by: null,
  }),
  refusals: [malformed('/to', 'must be after from'), UNSOUND_VERSION, UNKNOWN_VERSION, NO_ARCHIVE, DESK_BUSY],
  answer: async ({ key, body }, parts: EvidenceParts) => {
    const { version, ...span } = await body();
    const rules = version === undefined ? null : namedRules(version, 'version', parts);
    return asked(key, { kind: 'drift', ...spanOf(key, span), rules }, parts);
  },
});
