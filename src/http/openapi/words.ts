import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { CLIENT_GROUPS } from '../../client/client-group.ts';
import type { FactValue } from '../../facts/fact.ts';
import { VERDICTS } from '../../rules/rule-set.ts';
import { choice } from '../request/schemas.ts';

/** The words that the shapes of answers are written in. */

/** What a pointer into the document stands for: the schema of that name among its components. */
export function ref<S extends TSchema>(name: string, _schema: S) {
  return Type.Unsafe<Static<S>>({ $ref: `#/components/schemas/${name}` });
}

export function nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

export function shape<P extends TProperties>(description: string, properties: P) {
  return Type.Object(properties, { description });
}

export function list<S extends TSchema>(schema: S, description: string) {
  return Type.Array(schema, { description });
}

export const word = (description: string) => Type.String({ description });
export const yesNo = (description: string) => Type.Boolean({ description });
export const count = (description: string) => Type.Integer({ minimum: 0, description });
export const epochMs = (description: string) =>
  Type.Integer({ minimum: 0, description: `${description}; milliseconds since 1970` });
export const ruleVersion = Type.String({
  pattern: '^p[0-9]{1,6}\\.v[0-9]{1,6}$',
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
