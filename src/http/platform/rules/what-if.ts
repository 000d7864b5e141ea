import { unfitFact, WhatIfAnswerSchema, whatIf } from '../../../authoring/explain/what-if.ts';
import { VerdictBodySchema } from '../../../decision/requests.ts';
import { Type } from '../../../json-schema.ts';
import type { LoadedRules } from '../../../rollout/loaded-rules.ts';
import { versionText } from '../../../rules/rule-set.ts';
import type { Records } from '../../../service/records.ts';
import { list, named, shape } from '../../../shapes.ts';
import { DECISION_EXAMPLE, DIGEST_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { jsonAnswer, jsonBody, operation } from '../../operation/operation.ts';
import { MALFORMED_BODY } from '../../request/problems.ts';
import { soundVersion, UNKNOWN_VERSION, UNSOUND_VERSION } from './rule-version.ts';

export interface WhatIfParts {
  readonly records: Records;
  readonly loadedRules: LoadedRules;
}

const WhatIfBodySchema = Type.Object({
  versions: Type.Array(versionText('A rule set, like p2.v11'), { minItems: 1, maxItems: 2 }),
  request: VerdictBodySchema,
  facts: Type.Optional(
    Type.Record(Type.Union([Type.Number(), Type.Boolean(), Type.String()]), {
      description: 'Values to take instead of what the client shows, by label',
    }),
  ),
});

export const WhatIfAnswersSchema = named(
  'WhatIfAnswers',
  shape('What each version would answer', {
    answers: list(WhatIfAnswerSchema, 'In the order of `versions`'),
  }),
);

/** The same core decides as for callers; nothing is written, and no counter moves. */
export const askWhatIf = operation({
  method: 'post',
  path: '/v1/platform/rules/what-if',
  operationId: 'askWhatIf',
  summary: 'How one or two versions would answer',
  description:
    'A verdict request as it would be answered now, or with `facts` of your own instead of what the client shows. Nothing is written, and no counter moves. The key needs both operations.',
  tag: 'Rules',
  grant: ['rules', 'clients:read'],
  body: jsonBody('WhatIfBody', WhatIfBodySchema, {
    versions: ['p2.v10', 'p2.v11'],
    request: {
      sellPointKey: 'shop-1',
      clientIdKey: 'ann',
      method: 'card',
      amountRequested: '25.00',
      orderRef: 'order-1',
    },
    facts: { waitRemainingSeconds: 1 },
  }),
  answers: jsonAnswer(
    'An answer for each version; `rules` is null when its facts cannot be traced',
    WhatIfAnswersSchema,
    {
      answers: [
        {
          version: 'p2.v10',
          digest: DIGEST_EXAMPLE,
          decision: { ...DECISION_EXAMPLE, requestId: 'what-if' },
          rules: null,
        },
      ],
    },
  ),
  refusals: [UNSOUND_VERSION, UNKNOWN_VERSION],
  answer: async ({ caller: { platform }, body }, { records, loadedRules }: WhatIfParts) => {
    const { versions, request, facts = {} } = await body();
    const ruleSets = versions.map((version) => soundVersion(version, 'versions', loadedRules));
    for (const rules of ruleSets) {
      const unfit = unfitFact(rules, facts);
      if (unfit !== null) throw MALFORMED_BODY.problem(`/facts/${unfit.label}`, unfit.allowed);
    }
    const decisions = await records.whatIf(platform, request, ruleSets);
    const answers = ruleSets.flatMap((rules, index) => {
      const decision = decisions[index];
      return decision === undefined ? [] : [whatIf(rules, decision, facts)];
    });
    return { answers: await Promise.all(answers) };
  },
});
