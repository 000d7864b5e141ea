import { Type } from 'typebox';
import { instant, text } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { UNKNOWN_VERSION, UNSOUND_VERSION } from '../rules/rule-version.ts';
import { asked, DESK_BUSY, type EvidenceParts, NO_ARCHIVE, namedRules, spanOf } from './evidence-jobs.ts';
import { EvidenceJobSchema, JOB_EXAMPLE } from './evidence-shapes.ts';

export const askCalibration = operation({
  method: 'post',
  path: '/v1/platform/evidence/calibration',
  operationId: 'askCalibration',
  summary: 'Whether paymentScore can be taken at its word',
  description:
    'Asks for what "rules calibrate" prints, worked out from the archive in a process of its own. The same question within ten minutes leads to the same job.',
  tag: 'Evidence',
  grant: 'rules',
  body: jsonBody(
    'CalibrationBody',
    Type.Object({
      version: text(32, 'A rule set, like p2.v11'),
      from: Type.Optional(instant),
      to: Type.Optional(instant),
    }),
    { version: 'p2.v11' },
  ),
  answers: jsonAnswer('The job, new or already under way or done', EvidenceJobSchema, {
    ...JOB_EXAMPLE,
    kind: 'calibration',
    by: null,
  }),
  refusals: [malformed('/to', 'must be after from'), UNSOUND_VERSION, UNKNOWN_VERSION, NO_ARCHIVE, DESK_BUSY],
  answer: async ({ key, body }, parts: EvidenceParts) => {
    const { version, ...span } = await body();
    const rules = namedRules(version, 'version', parts);
    return asked(key, { kind: 'calibration', ...spanOf(key, span), rules }, parts);
  },
});
