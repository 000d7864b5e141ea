import type { FactDomain } from '../facts/fact.ts';

/** The operators of json-rules-engine that rules may use; the meaning is the engine's. */
export const OPERATORS = [
  'equal',
  'notEqual',
  'lessThan',
  'lessThanInclusive',
  'greaterThan',
  'greaterThanInclusive',
  'in',
  'notIn',
] as const;

export type OperatorName = (typeof OPERATORS)[number];

const EQUALITY = ['equal', 'notEqual'] as const satisfies readonly OperatorName[];
const MEMBERSHIP = [...EQUALITY, 'in', 'notIn'] as const satisfies readonly OperatorName[];

/** Which operators make sense for a fact of this domain. */
export function operatorsFor(domain: FactDomain): readonly OperatorName[] {
  switch (domain.type) {
    case 'number':
      return OPERATORS;
    case 'enum':
    case 'text':
      return MEMBERSHIP;
    case 'boolean':
      return EQUALITY;
    default:
      return domain satisfies never;
  }
}
