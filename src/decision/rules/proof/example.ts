import type { NullableFactValue } from '#decision/facts/fact.ts';
import { type Condition, listConditionFacts } from '#decision/rules/condition.ts';
import { formatFactValue } from '#decision/rules/condition-text.ts';

/** Facts by label, such as `verdicts(10m)`. One payer can have all these values together. */
export type ExampleFacts = Readonly<Record<string, NullableFactValue>>;

/** Picks, from the facts that a proof found (`witness`), those that the conditions name. */
export function selectExampleFacts(
  witness: ReadonlyMap<string, NullableFactValue>,
  conditions: readonly Condition[],
): ExampleFacts {
  const values = listConditionFacts(conditions).map(({ label }) => [label, witness.get(label)] as const);
  return Object.fromEntries(
    values.filter((entry): entry is [string, NullableFactValue] => entry[1] !== undefined),
  );
}

/** Formats an example like `paidCount = 3, hasBinding = true`. */
export function formatExampleFacts(example: ExampleFacts): string {
  return Object.entries(example)
    .map(([label, value]) =>
      value === null ? `${label} is not known` : `${label} = ${formatFactValue(value)}`,
    )
    .join(', ');
}
