import { WhatIfThenSchema, whatIfThen } from '../../../analysis/explain/what-if.ts';
import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import type { Records } from '../../../service/records.ts';
import { DECISION_EXAMPLE, DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { BAD_PARAMETER } from '../../operation/parameters.ts';
import { soundVersion, UNKNOWN_VERSION, UNSOUND_VERSION, versionInQuery } from '../rules/rule-version.ts';
import { DECISION_ID, DECISION_REFUSALS, namedDecision } from './named-decision.ts';

export interface DecisionWhatIfParts {
  readonly records: Records;
  readonly loadedRules: LoadedRules;
}

const VERSION = versionInQuery('version', 'The rule set to ask, like p2.v11');

/** On the recorded facts, with the ladder as it was then: what came afterwards does not count. */
export const askDecisionWhatIf = operation<DecisionWhatIfParts>({
  method: 'get',
  path: '/v1/platform/decisions/{decisionId}/what-if',
  operationId: 'askDecisionWhatIf',
  summary: 'What another version would have answered then',
  description:
    'The same question on the recorded facts, the client as it was then. Null when the record lacks facts that the version asks; `missing` names them. The key needs both operations.',
  tag: 'Decisions',
  grant: ['decisions', 'rules'],
  parameters: [DECISION_ID, VERSION],
  answers: jsonAnswer('The answer of that version; nothing is written', WhatIfThenSchema, {
    version: 'p2.v11',
    digest: DIGEST_EXAMPLE,
    missing: [],
    decision: DECISION_EXAMPLE,
    rules: null,
  }),
  refusals: [BAD_PARAMETER, ...DECISION_REFUSALS, UNSOUND_VERSION, UNKNOWN_VERSION],
  answer: async (asked, { records, loadedRules }) => {
    const rules = soundVersion(VERSION.read(asked.ctx), 'version', loadedRules);
    return whatIfThen(rules, await namedDecision(asked, records));
  },
});
