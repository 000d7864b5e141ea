import type { FactValue } from '../facts/fact.ts';
import type { OperatorName } from '../rules/operators.ts';
import { formatValue } from '../rules/proof/example.ts';
import type { Condition } from '../rules/rule-set.ts';

const SIGNS: Readonly<Record<OperatorName, string>> = {
  equal: '=',
  notEqual: '!=',
  lessThan: '<',
  lessThanInclusive: '<=',
  greaterThan: '>',
  greaterThanInclusive: '>=',
  in: 'in',
  notIn: 'not in',
};

/** `unpaidChain >= 4 (line 12)`; a condition with parts is named by its place alone. */
export function conditionInWords(condition: Condition): string {
  const { line } = condition.at;
  switch (condition.kind) {
    case 'comparison':
      return `${condition.fact.label} ${SIGNS[condition.operator]} ${expected(condition.value)} (line ${line})`;
    case 'reference':
      return `"${condition.name}" (line ${line})`;
    case 'all':
    case 'any':
    case 'not':
      return `the "${condition.kind}" of line ${line}`;
    default:
      return condition satisfies never;
  }
}

/** `a, b and c` */
export function inWords(items: readonly string[], last: 'and' | 'or'): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} ${last} ${items.at(-1)}`;
}

function expected(value: FactValue | readonly FactValue[]): string {
  return typeof value === 'object' ? `[${value.map(formatValue).join(', ')}]` : formatValue(value);
}
