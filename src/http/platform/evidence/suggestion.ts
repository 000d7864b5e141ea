import { Type } from '../../../json-schema.ts';
import { jsonBody } from '../../operation/request-body.ts';
import { versionText } from '../rules/rule-version.ts';
import { evidenceQuestion, SPAN_MEMBERS } from './evidence-question.ts';

const SuggestionBodySchema = Type.Object({
  version: versionText('A rule set, like p2.v11'),
  budgetPercent: Type.Number({
    exclusiveMinimum: 0,
    exclusiveMaximum: 100,
    description: 'Share of the paid orders that may be refused besides those that the version refuses',
  }),
  ...SPAN_MEMBERS,
});

export const askSuggestion = evidenceQuestion({
  kind: 'suggestion',
  operationId: 'askSuggestion',
  summary: 'Rules and thresholds that would have stopped more unpaid orders',
  asksFor:
    'what "rules suggest" prints, and for the files that it changes, which make a draft with PUT /v1/platform/rules/drafts/{version}',
  body: jsonBody('SuggestionBody', SuggestionBodySchema, { version: 'p2.v11', budgetPercent: 0.5 }),
  example: {},
  task: ({ version, budgetPercent }, rulesNamed) => ({
    kind: 'suggestion',
    rules: rulesNamed(version, 'version'),
    budget: budgetPercent / 100,
  }),
});
