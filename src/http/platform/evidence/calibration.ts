import { Type } from '../../../json-schema.ts';
import { jsonBody } from '../../operation/request-body.ts';
import { versionText } from '../rules/rule-version.ts';
import { evidenceQuestion, SPAN_MEMBERS } from './evidence-question.ts';

const CalibrationBodySchema = Type.Object({
  version: versionText('A rule set, like p2.v11'),
  ...SPAN_MEMBERS,
});

export const askCalibration = evidenceQuestion({
  kind: 'calibration',
  operationId: 'askCalibration',
  summary: 'Whether paymentScore can be taken at its word',
  asksFor: 'what "rules calibrate" prints',
  body: jsonBody('CalibrationBody', CalibrationBodySchema, { version: 'p2.v11' }),
  example: {},
  task: ({ version }, rulesNamed) => ({ kind: 'calibration', rules: rulesNamed(version, 'version') }),
});
