import { type FactValue, NEVER_SECONDS } from '../../facts/fact.ts';
import type { ComparisonTrace, ConditionTrace, RuleTrace } from '../../rules/evaluate/trace.ts';
import type { Location } from '../../rules/problem.ts';
import type { Condition } from '../../rules/rule-set.ts';

/** What a piece of text means, which a terminal may show in colour. */
export type Tone = 'pass' | 'fail' | 'faint' | 'strong';

export type Paint = (tone: Tone, text: string) => string;

/** For pipes and files. */
export const PLAIN: Paint = (_tone, text) => text;

/** Places stand in a column of their own, unless the text before them is longer than this. */
const WIDEST_TEXT = 84;

interface Row {
  readonly tone: Tone;
  readonly text: string;
  readonly at: Location;
}

/** Rules as aligned lines, each condition below its rule with what it saw and where it is written. */
export function ruleLines(rules: readonly RuleTrace[], paint: Paint): readonly string[] {
  const nameWidth = Math.max(0, ...rules.map(({ name }) => name.length));
  return alignPlaces(
    rules.flatMap((rule) => ruleRows(rule, nameWidth)),
    paint,
  );
}

function ruleRows(rule: RuleTrace, nameWidth: number): readonly Row[] {
  const mark = rule.asked ? (rule.matched ? '✓' : '✗') : '·';
  const tone = rule.asked ? (rule.matched ? 'pass' : 'strong') : 'faint';
  const head = {
    tone,
    text: `  ${mark} ${rule.name.padEnd(nameWidth)}  ${fate(rule)}`,
    at: rule.at,
  } as const;
  return [head, ...conditionRows(rule.condition, 6, rule.asked, true)];
}

function fate({ asked, matched, gives }: RuleTrace): string {
  const what = typeof gives === 'number' ? `weight ${gives}` : gives;
  if (asked) return matched ? `matched: ${what}` : 'did not match';
  return matched ? `not asked; it would match: ${what}` : 'not asked; it would not match';
}

/** An `all` at the top of a rule goes without saying. */
function conditionRows(
  condition: ConditionTrace,
  indent: number,
  asked: boolean,
  top: boolean,
): readonly Row[] {
  const row = (words: string): Row => ({
    tone: asked ? (condition.passed ? 'pass' : 'fail') : 'faint',
    text: `${' '.repeat(indent)}${condition.passed ? '✓' : '✗'} ${words}`,
    at: condition.at,
  });
  const below = (inner: ConditionTrace) => conditionRows(inner, indent + 2, asked, false);
  switch (condition.kind) {
    case 'all':
      return top
        ? condition.conditions.flatMap((inner) => conditionRows(inner, indent, asked, false))
        : [row('all of'), ...condition.conditions.flatMap(below)];
    case 'any':
      return [row('any of'), ...condition.conditions.flatMap(below)];
    case 'not':
      return [row('not'), ...below(condition.condition)];
    case 'reference':
      return [row(`the condition "${condition.name}"`), ...below(condition.condition)];
    case 'comparison':
      return [row(comparisonInWords(condition))];
    default:
      return condition satisfies never;
  }
}

function alignPlaces(rows: readonly Row[], paint: Paint): readonly string[] {
  const width = Math.min(WIDEST_TEXT, Math.max(0, ...rows.map(({ text }) => text.length)));
  return rows.map(({ tone, text, at }) => {
    const padding = ' '.repeat(Math.max(0, width - text.length));
    return `${paint(tone, text)}${padding}  ${paint('faint', placeInWords(at))}`;
  });
}

/** `verdicts.yaml:28`: what an editor opens. */
export function placeInWords({ file, line }: Location): string {
  return `${file}:${line}`;
}

/** Why a condition holds or does not: the comparisons that decided it, "paidCount is 2, not at least 3". */
export function reasonInWords(condition: ConditionTrace): string {
  return decisive(condition).map(comparisonInWords).join('; ');
}

function decisive(condition: ConditionTrace): readonly ComparisonTrace[] {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      // One failure is enough against "all", one success for "any"; otherwise every member had its say.
      const oneIsEnough = condition.passed === (condition.kind === 'any');
      return condition.conditions
        .filter(({ passed }) => !oneIsEnough || passed === condition.passed)
        .flatMap(decisive);
    }
    case 'not':
    case 'reference':
      return decisive(condition.condition);
    case 'comparison':
      return [condition];
    default:
      return condition satisfies never;
  }
}

/** "waitRemainingSeconds is 1, above 0"; true as it stands, whether the rule wanted that or not. */
export function comparisonInWords({ fact, operator, expected, seen, passed }: ComparisonTrace): string {
  const is = `${fact} is ${valueInWords(seen)}`;
  const limit = Array.isArray(expected) ? expected.map(valueInWords).join(', ') : valueInWords(expected);
  const unless = passed ? '' : 'not ';
  switch (operator) {
    case 'equal':
      return passed ? is : `${is}, not ${limit}`;
    case 'notEqual':
      return passed ? `${is}, not ${limit}` : `${is}, which the condition excludes`;
    case 'lessThan':
      return `${is}, ${unless}below ${limit}`;
    case 'lessThanInclusive':
      return `${is}, ${unless}at most ${limit}`;
    case 'greaterThan':
      return `${is}, ${unless}above ${limit}`;
    case 'greaterThanInclusive':
      return `${is}, ${unless}at least ${limit}`;
    case 'in':
      return `${is}, ${passed ? 'one' : 'none'} of ${limit}`;
    case 'notIn':
      return `${is}, ${passed ? 'none' : 'one'} of ${limit}`;
    default:
      return operator satisfies never;
  }
}

function valueInWords(value: FactValue | readonly FactValue[]): string {
  if (value === NEVER_SECONDS) return `${value} (never)`;
  return typeof value === 'string' ? nameInWords(value) : String(value);
}

/** A caller's text as it is when it is one plain word, otherwise quoted. */
export function nameInWords(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : quoted(text);
}

/** In quotes, and with nothing in it that could steer a terminal or turn the line around. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `paidCount greaterThanInclusive 3`: a comparison as its file writes it. */
export function comparisonAsWritten(condition: Extract<Condition, { kind: 'comparison' }>): string {
  const { fact, operator, value } = condition;
  const limit = Array.isArray(value) ? `[${value.map(valueInWords).join(', ')}]` : valueInWords(value);
  return `${fact.label} ${operator} ${limit}`;
}
