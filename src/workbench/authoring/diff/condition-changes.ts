import {
  type Comparison,
  type Condition,
  type FactRef,
  foldCondition,
  isFactRef,
} from '#decision/rules/condition.ts';
import { formatComparisonTest } from '#decision/rules/condition-text.ts';
import type { ReasonPart } from '#decision/rules/rule-set.ts';

/**
 * A condition without everything that makes no difference: its location in the file, its sequence, and needless
 * nesting.
 */
type PlainCondition =
  | { readonly kind: 'all' | 'any'; readonly conditions: readonly PlainCondition[]; readonly text: string }
  | { readonly kind: 'not'; readonly condition: PlainCondition; readonly text: string }
  | { readonly kind: 'named'; readonly text: string }
  | { readonly kind: 'comparison'; readonly fact: FactRef; readonly test: string; readonly text: string };

/**
 * Simplifies a condition. Equal conditions get equal texts. With `expand`, named conditions and lists are written in
 * full.
 */
export function toPlainCondition(condition: Condition, expand: boolean): PlainCondition {
  return foldCondition(condition, {
    group: (kind, parts) => joinConditions(kind, parts),
    not: (part): PlainCondition => ({ kind: 'not', condition: part, text: `not (${part.text})` }),
    reference: (name, part) => (expand ? part : { kind: 'named', text: `condition "${name}"` }),
    comparison: (comparison) => toPlainComparison(comparison, expand),
  });
}

/** Formats a condition. Two conditions of the same form give the same text, whatever names they use. */
export function formatCondition(condition: Condition): string {
  return toPlainCondition(condition, true).text;
}

function joinConditions(kind: 'all' | 'any', conditions: readonly PlainCondition[]): PlainCondition {
  const flat = conditions.flatMap((inner) =>
    inner.kind !== 'comparison' && inner.kind === kind ? inner.conditions : [inner],
  );
  const sorted = [...new Map(flat.map((inner) => [inner.text, inner])).values()].toSorted((a, b) =>
    a.text < b.text ? -1 : 1,
  );
  const [only] = sorted;
  if (only !== undefined && sorted.length === 1) return only;
  const text = sorted
    .map((inner) => (inner.kind === 'all' || inner.kind === 'any' ? `(${inner.text})` : inner.text))
    .join(kind === 'all' ? ' and ' : ' or ');
  return { kind, conditions: sorted, text };
}

function toPlainComparison({ fact, operator, value, list }: Comparison, expand: boolean): PlainCondition {
  // The sequence of a list makes no difference.
  const expected = typeof value !== 'object' || isFactRef(value) ? value : [...new Set(value)].toSorted();
  const test = formatComparisonTest(operator, expected, expand ? undefined : list);
  return { kind: 'comparison', fact, test, text: `${fact.label} ${test}` };
}

/**
 * Lists the changes between two conditions in as few words as possible, like `waitRemainingSeconds > 0 -> > 2`. The
 * list is empty if both have the same form.
 */
export function listConditionChanges(before: PlainCondition, after: PlainCondition): readonly string[] {
  if (before.text === after.text) return [];
  const kind = before.kind === 'any' || after.kind === 'any' ? 'any' : 'all';
  if (isOther(before, kind) || isOther(after, kind)) return [`${before.text} -> ${after.text}`];
  const gone = listParts(before).filter(({ text }) => !listParts(after).some((other) => other.text === text));
  const come = listParts(after).filter(({ text }) => !listParts(before).some((other) => other.text === text));
  const pairs = pairParts(gone, come);
  const word =
    kind === 'any' && listParts(before).length + listParts(after).length > 2 ? 'alternative' : 'condition';
  return [
    ...pairs.flatMap(([from, to]) => listPairChanges(from, to)),
    ...gone
      .filter((part) => !pairs.some(([from]) => from === part))
      .map(({ text }) => `${word} removed: ${text}`),
    ...come
      .filter((part) => !pairs.some(([, to]) => to === part))
      .map(({ text }) => `${word} added: ${text}`),
  ];
}

/** Tells whether a condition cannot be compared part by part, because one side is "all" and the other "any". */
function isOther(condition: PlainCondition, kind: 'all' | 'any'): boolean {
  return condition.kind !== kind && (condition.kind === 'all' || condition.kind === 'any');
}

function listParts(condition: PlainCondition): readonly PlainCondition[] {
  return condition.kind === 'all' || condition.kind === 'any' ? condition.conditions : [condition];
}

/**
 * Pairs each removed part with the added part that replaces it. Comparisons are paired if they are about the same
 * fact, and other parts if they are of the same kind.
 */
function pairParts(
  gone: readonly PlainCondition[],
  come: readonly PlainCondition[],
): readonly (readonly [PlainCondition, PlainCondition])[] {
  const free = new Set(come);
  return gone.flatMap((from) => {
    const to =
      [...free].find((candidate) => isSamePart(from, candidate, 'label')) ??
      [...free].find((candidate) => isSamePart(from, candidate, 'name'));
    if (to === undefined) return [];
    free.delete(to);
    return [[from, to] as const];
  });
}

/**
 * Tells whether a part may be a changed form of another. If `by` is `name`, facts that differ only in their window
 * are taken as the same.
 */
function isSamePart(a: PlainCondition, b: PlainCondition, by: 'label' | 'name'): boolean {
  if (a.kind === 'comparison') return b.kind === 'comparison' && a.fact[by] === b.fact[by];
  return a.kind === b.kind && a.kind !== 'named';
}

function listPairChanges(from: PlainCondition, to: PlainCondition): readonly string[] {
  if (from.kind === 'comparison' && to.kind === 'comparison')
    return [`${from.text} -> ${from.fact.label === to.fact.label ? to.test : to.text}`];
  if (from.kind === 'not' && to.kind === 'not')
    return listConditionChanges(from.condition, to.condition).map((change) => `in not: ${change}`);
  return listConditionChanges(from, to);
}

export function formatReasonPart(part: ReasonPart): string {
  switch (part.kind) {
    case 'words':
      return part.words;
    case 'fact':
      return `{${part.fact.label}}`;
    case 'answer':
      return `{${part.name}}`;
    default:
      return part satisfies never;
  }
}
