import { CURRENCY_PATTERN } from '../../client/amount.ts';
import { DURATION } from '../../rules/duration.ts';
import { NAME_CHARACTERS_MAX, NAME_PATTERN } from '../../rules/name.ts';

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export const DURATION_TEXT = {
  type: 'string',
  pattern: DURATION.source,
  description: 'A whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d.',
} as const;

export const CURRENCY_TEXT = { type: 'string', pattern: CURRENCY_PATTERN } as const;

export const LIST_NAME = { type: 'string', pattern: NAME_PATTERN, maxLength: NAME_CHARACTERS_MAX } as const;

export const RULE_NAME = { ...LIST_NAME, not: { const: 'otherwise' } } as const;

/** A text that is not blank. */
export function text(description: string): JsonSchema {
  return { type: 'string', pattern: '\\S', description };
}

export function choice(values: readonly string[], description: string): JsonSchema {
  return { type: 'string', enum: values, description };
}

export function listOf(items: JsonSchema, description: string): JsonSchema {
  return { type: 'array', items, minItems: 1, description };
}

/** A mapping with these members and no others. */
export function mappingOf(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  description: string,
): JsonSchema {
  return {
    type: 'object',
    description,
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}
