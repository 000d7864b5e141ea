import { FACTS } from '../../facts/catalogue.ts';
import type { Fact, FactDomain } from '../../facts/fact.ts';
import { formatDuration } from '../../rules/duration.ts';
import { OPERATORS, operatorsFor } from '../../rules/operators.ts';
import type { RuleStage } from '../../rules/parse/comparison.ts';
import { DURATION_TEXT, type JsonSchema, LIST_NAME, mappingOf } from './json-schema.ts';

/** What a rule's conditions may be. */
export const TOP_LEVEL: JsonSchema = { $ref: '#/definitions/conditions' };

const CONDITION: JsonSchema = { $ref: '#/definitions/condition' };

const STAGES: readonly RuleStage[] = ['groups', 'bot-signals', 'verdicts'];

/** The definitions that the schema of a rule file needs for its conditions, with the facts known by then. */
export function conditionDefinitions(stage: RuleStage): Readonly<Record<string, JsonSchema>> {
  const facts = [...FACTS].filter(([, fact]) => isKnownIn(stage, fact));
  return {
    conditions: {
      allOf: [CONDITION, { type: 'object', properties: { fact: false } }],
      description: 'all, any, not or condition; a comparison stands inside of them.',
    },
    condition: condition(facts),
    comparison: { allOf: byKind(facts).map(comparison) },
  };
}

function isKnownIn(stage: RuleStage, fact: Fact): boolean {
  return fact.kind !== 'concluded' || STAGES.indexOf(stage) >= STAGES.indexOf(fact.from);
}

type NamedFact = readonly [name: string, fact: Fact];

/** One mapping for all kinds of conditions, so that an editor offers every member and marks the wrong one. */
function condition(facts: readonly NamedFact[]): JsonSchema {
  const parts = { type: 'array', items: CONDITION, minItems: 1 };
  const ofFact = { required: ['fact'] };
  const own = mappingOf(
    {
      all: { ...parts, description: 'Every one must hold.' },
      any: { ...parts, description: 'At least one must hold.' },
      not: { ...CONDITION },
      condition: { type: 'string', description: 'A condition of this name under "conditions:".' },
      fact: {
        type: 'string',
        enum: facts.map(([name]) => name),
        enumDescriptions: facts.map(([, fact]) => describe(fact)),
        description: 'What is known about the payer and the request.',
      },
      params: {
        type: 'object',
        description:
          'How far a counting fact looks back: { window: 10m }; which shared list is meant: { list: blocked-devices }.',
      },
      operator: { type: 'string', enum: OPERATORS, description: 'How the fact is compared.' },
      value: { description: 'What the fact is compared with.' },
    },
    [],
    'A condition: all, any, not, condition or a comparison of a fact.',
  );
  return {
    ...own,
    oneOf: ['all', 'any', 'not', 'condition', 'fact'].map((name) => ({ required: [name] })),
    dependencies: { params: ['fact'], operator: ['fact'], value: ['fact'], fact: ['operator', 'value'] },
    if: ofFact,
    // biome-ignore lint/suspicious/noThenProperty: a JSON Schema names it so.
    then: { $ref: '#/definitions/comparison' },
  };
}

/** `Orders whose final outcome is PAID. Unit: orders.` */
function describe({ description, unit }: Fact): string {
  return unit === null ? description : `${description} Unit: ${unit}.`;
}

interface FactKind {
  readonly names: readonly string[];
  readonly domain: FactDomain;
  /** Null for a fact without a window. */
  readonly longestWindowMs: number | null;
  readonly ofSharedList: boolean;
}

/** Facts that are compared alike need to be described once. */
function byKind(facts: readonly NamedFact[]): readonly FactKind[] {
  const kinds = new Map<string, FactKind>();
  for (const [name, fact] of facts) {
    const { domain } = fact;
    const longestWindowMs = fact.kind === 'windowed' ? fact.longestWindowMs : null;
    const ofSharedList = fact.kind === 'listed';
    const key = JSON.stringify([domain, longestWindowMs, ofSharedList]);
    const names = [...(kinds.get(key)?.names ?? []), name];
    kinds.set(key, { names, domain, longestWindowMs, ofSharedList });
  }
  return [...kinds.values()];
}

function comparison({ names, domain, longestWindowMs, ofSharedList }: FactKind): JsonSchema {
  const scalar = scalarOf(domain);
  const operators = operatorsFor(domain);
  const lists = operators.filter((operator) => operator === 'in' || operator === 'notIn');
  const value =
    lists.length === 0
      ? { properties: { value: scalar } }
      : {
          if: { properties: { operator: { enum: lists } }, required: ['operator'] },
          // biome-ignore lint/suspicious/noThenProperty: a JSON Schema names it so.
          then: { properties: { value: valuesOf(scalar) } },
          else: { properties: { value: scalar } },
        };
  return {
    if: { properties: { fact: { enum: names } }, required: ['fact'] },
    // biome-ignore lint/suspicious/noThenProperty: a JSON Schema names it so.
    then: {
      allOf: [
        { properties: { operator: { enum: operators } } },
        ofSharedList ? LIST_PARAMS : params(longestWindowMs),
        value,
      ],
    },
  };
}

/** Values in the condition itself, or those of a list of the rule set. */
function valuesOf(scalar: JsonSchema): JsonSchema {
  const list = { ...LIST_NAME, description: 'The list in lists/NAME.yaml, without the ending.' };
  return {
    if: { type: 'object' },
    // biome-ignore lint/suspicious/noThenProperty: a JSON Schema names it so.
    then: mappingOf({ list }, ['list'], 'A list of the rule set.'),
    else: { type: 'array', items: scalar, minItems: 1 },
  };
}

const LIST_PARAMS: JsonSchema = {
  required: ['params'],
  properties: {
    params: mappingOf(
      { list: { ...LIST_NAME, description: 'The shared list, which changes without a release.' } },
      ['list'],
      'Which shared list is asked about.',
    ),
  },
};

function params(longestWindowMs: number | null): JsonSchema {
  if (longestWindowMs === null) return { properties: { params: false } };
  const window = {
    ...DURATION_TEXT,
    description: `How far to look back: ${formatDuration(longestWindowMs)} at most, like 10m.`,
  };
  return {
    required: ['params'],
    properties: { params: mappingOf({ window }, ['window'], 'How far the fact looks back.') },
  };
}

function scalarOf(domain: FactDomain): JsonSchema {
  switch (domain.type) {
    case 'number': {
      const { integer, min, max } = domain;
      return { type: integer ? 'integer' : 'number', minimum: min, maximum: max };
    }
    case 'boolean':
      return { type: 'boolean' };
    case 'enum':
      return { type: 'string', enum: domain.values };
    case 'text':
      return { type: 'string', pattern: '\\S' };
    default:
      return domain satisfies never;
  }
}
