import type { FactDomain } from '../facts/fact.ts';

const EQUALITY = ['equal', 'notEqual'] as const;
const ORDER = ['lessThan', 'lessThanInclusive', 'greaterThan', 'greaterThanInclusive'] as const;
const MEMBERSHIP = ['in', 'notIn'] as const;

/** The operators of json-rules-engine that rules may use; the meaning is the engine's. */
export const OPERATORS = [...EQUALITY, ...ORDER, ...MEMBERSHIP] as const;

export type OperatorName = (typeof OPERATORS)[number];

/** Which operators make sense for a fact of this domain. */
export function operatorsFor(domain: FactDomain): readonly OperatorName[] {
  switch (domain.type) {
    case 'number':
      return [...EQUALITY, ...ORDER, ...MEMBERSHIP];
    case 'enum':
    case 'text':
      return [...EQUALITY, ...MEMBERSHIP];
    case 'boolean':
      return EQUALITY;
    default:
      return domain satisfies never;
  }
}
