import { Type } from 'typebox';
import { instant, text } from '../../../shapes.ts';
import { jsonAnswer, operation } from '../../operation/operation.ts';
import { jsonBody, malformed } from '../../operation/request-body.ts';
import { UNKNOWN_VERSION, UNSOUND_VERSION } from '../rules/rule-version.ts';
import { asked, DESK_BUSY, type EvidenceParts, NO_ARCHIVE, namedRules, spanOf } from './evidence-jobs.ts';
import { EvidenceJobSchema, JOB_EXAMPLE } from './evidence-shapes.ts';

export const askSuggestion = operation({
  method: 'post',
  path: '/v1/platform/evidence/suggestion',
  operationId: 'askSuggestion',
  summary: 'Rules and thresholds that would have stopped more unpaid orders',
  description:
    'Asks for what "rules suggest" prints, and for the files that it changes, which make a draft with PUT /v1/platform/rules/drafts/{version}. Worked out from the archive in a process of its own. The same question within ten minutes leads to the same job.',
  tag: 'Evidence',
  grant: 'rules',
  body: jsonBody(
    'SuggestionBody',
    Type.Object({
      version: text(32, 'A rule set, like p2.v11'),
      budgetPercent: Type.Number({
        exclusiveMinimum: 0,
        exclusiveMaximum: 100,
        description: 'Share of the paid orders that may be refused besides those that the version refuses',
      }),
      from: Type.Optional(instant),
      to: Type.Optional(instant),
    }),
    { version: 'p2.v11', budgetPercent: 0.5 },
  ),
  answers: jsonAnswer('The job, new or already under way or done', EvidenceJobSchema, {
    ...JOB_EXAMPLE,
    kind: 'suggestion',
    by: null,
  }),
  refusals: [malformed('/to', 'must be after from'), UNSOUND_VERSION, UNKNOWN_VERSION, NO_ARCHIVE, DESK_BUSY],
  answer: async ({ key, body }, parts: EvidenceParts) => {
    const { version, budgetPercent, ...span } = await body();
    const rules = namedRules(version, 'version', parts);
    return asked(
      key,
      { kind: 'suggestion', ...spanOf(key, span), rules, budget: budgetPercent / 100 },
      parts,
    );
  },
});
