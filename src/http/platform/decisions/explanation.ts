import { ExplanationSchema, explain, explainWithout } from '../../../analysis/explain/explain.ts';
import { searchSteps } from '../../../state/paced-steps.ts';
import { DECISION_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import type { DecisionParts } from './decisions.ts';
import { DECISION_ID, DECISION_REFUSALS, namedDecision } from './named-decision.ts';

const EXPLANATION_EXAMPLE = {
  decision: DECISION_EXAMPLE,
  rules: null,
  ladder: {
    before: { ...DECISION_EXAMPLE.ladderBefore, words: 'no wait so far' },
    after: { ...DECISION_EXAMPLE.ladderAfter, words: 'a requisite was granted and is not paid yet' },
  },
  sharedLists: [],
  reproduced: false,
  differences: [],
  verification: 'The rule set that decided is not here.',
};

/** A decision whose rule set is kept nowhere is answered too, without its rules and as not reproduced. */
export const explainDecision = operation<DecisionParts>({
  method: 'get',
  path: '/v1/platform/decisions/{decisionId}/explanation',
  operationId: 'explainDecision',
  summary: 'Why a decision fell as it did',
  description:
    'Every rule with its conditions and the values they saw, and whether the verdict is reproduced.',
  tag: 'Decisions',
  grant: 'decisions',
  isSearch: true,
  parameters: [DECISION_ID],
  answers: jsonAnswer(
    'The explanation; without rules when neither this node nor its archive has the rule set that decided',
    ExplanationSchema,
    EXPLANATION_EXAMPLE,
  ),
  refusals: DECISION_REFUSALS,
  answer: async (asked, { records }) => {
    const decision = await namedDecision(asked, records);
    return searchSteps.run(async () => {
      const rules = records.rulesBehind(decision);
      if (rules !== null) return explain(rules, decision);
      return explainWithout(decision, 'neither has this node loaded it nor does its archive keep it');
    });
  },
});
