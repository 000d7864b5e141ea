import { Type } from 'typebox';
import { CLIENT_GROUPS } from '../../client/client-group.ts';
import type { FactValue } from '../../facts/fact.ts';
import { RULE_VERSION_PATTERN, VERDICTS } from '../../rules/rule-set.ts';
import { choice, shape } from '../../shapes.ts';

/** The words that the shapes of answers are written in. */

export const word = (description: string) => Type.String({ description });
export const yesNo = (description: string) => Type.Boolean({ description });
export const count = (description: string) => Type.Integer({ minimum: 0, description });
export const epochMs = (description: string) =>
  Type.Integer({ minimum: 0, description: `${description}; milliseconds since 1970` });
export const ruleVersion = Type.String({
  pattern: RULE_VERSION_PATTERN,
  description: 'Version of the rule set, like p2.v10',
});
export const percent = (description: string) => Type.Number({ minimum: 0, maximum: 100, description });

export const clientGroup = choice(CLIENT_GROUPS, "The payer's segment");
export const verdict = choice(VERDICTS, 'What the caller is to do');
export const isBot = yesNo('Bot flag');
export const factValue = Type.Unsafe<FactValue>({
  type: ['number', 'boolean', 'string'],
  description: 'What a fact of the catalogue was',
});
export const location = shape('A place in a rule file', {
  file: word('Like verdicts.yaml'),
  line: Type.Integer({ minimum: 1, description: 'From 1' }),
  column: Type.Integer({ minimum: 1, description: 'From 1' }),
});
