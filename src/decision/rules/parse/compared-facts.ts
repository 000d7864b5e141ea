import type { FactDomain } from '#decision/facts/fact.ts';
import { type FactRef, isPseudonymFact, type OperatorName } from '#decision/rules/condition.ts';

/** Returns why two facts cannot be compared with each other. Returns null if they can. */
export function findComparisonFault(
  ref: FactRef,
  operator: OperatorName | null,
  other: FactRef,
): string | null {
  if (operator === 'multipleOf' || operator === 'notMultipleOf')
    return `operator "${operator}" takes a number, not another fact`;
  const both = [ref, other];
  const isComparable = ({ name, attribute }: FactRef) => attribute !== undefined || name === 'amount';
  const odd = both.find((one) => !isComparable(one));
  if (odd !== undefined || both.every(({ attribute }) => attribute === undefined))
    return `"${(odd ?? other).label}" cannot be compared with another fact: only attributes can, with each other and with the amount; write a value`;
  if (ref.label === other.label) return `"${ref.label}" is compared with itself`;
  const [kind, otherKind] = both.map(describeKind);
  if (kind !== otherKind)
    return `"${ref.label}" is ${kind} and "${other.label}" ${otherKind}, so they are never equal`;
  if (isPseudonymFact(ref) !== isPseudonymFact(other))
    return `one of "${ref.label}" and "${other.label}" is kept as a pseudonym, so they are never equal; declare both with pseudonym: true`;
  const [unit, otherUnit] = both.map(({ fact }) => fact.unit ?? 'no unit');
  if (unit === otherUnit) return null;
  const declared = both.find(({ attribute }) => attribute === undefined)?.fact.unit;
  const how = declared === undefined ? 'declare one unit for both' : `declare unit: ${declared}`;
  return `"${ref.label}" has ${unit} and "${other.label}" ${otherUnit}; ${how} in ruleset.yaml`;
}

/** Writes how a rule compares a fact with this attribute, or with the amount. */
function formatComparedValue({ name, attribute }: FactRef): string {
  return `value: { fact: ${name}${attribute === undefined ? '' : `, params: { name: ${attribute} }`} }`;
}

/**
 * Explains that a text, written where a value belongs, is the name of the attribute or fact `other`. If the two facts
 * can be compared, the message says how to write the comparison.
 */
export function explainFactWrittenAsText(
  ref: FactRef,
  operator: OperatorName | null,
  other: FactRef,
): string {
  const named = `${other.attribute === undefined ? `"${other.name}" is a fact` : `"${other.attribute}" is an attribute`}, and stands here as a plain text`;
  const single = SINGLE_OPERATORS.get(operator) ?? operator;
  const refusal = findComparisonFault(ref, single, other);
  if (refusal !== null) return `${named}; ${refusal}`;
  const how = single === operator ? '' : `operator: ${single}, `;
  return `${named}; to compare "${getFactNameInMessages(ref)}" with it, write ${how}${formatComparedValue(other)}`;
}

/** Maps an operator for several values to the operator that asks the same of one value. */
const SINGLE_OPERATORS: ReadonlyMap<OperatorName | null, OperatorName> = new Map([
  ['in', 'equal'],
  ['notIn', 'notEqual'],
]);

/** Returns the name of a fact in messages. For an attribute it is the name of the attribute. */
export function getFactNameInMessages({ name, label, attribute }: FactRef): string {
  return attribute === undefined ? name : label;
}

function describeKind({ fact: { domain } }: FactRef): string {
  return domain.type === 'enum' ? 'a text' : formatDomain(domain);
}

export function formatDomain(domain: FactDomain): string {
  switch (domain.type) {
    case 'number':
      return 'a number';
    case 'boolean':
      return 'true or false';
    case 'enum':
      return `one of ${domain.values.join(', ')}`;
    case 'text':
      return 'a text';
    default:
      return domain satisfies never;
  }
}
