import { formatDuration } from '#base/duration.ts';
import { MONEY_DOMAIN } from '#decision/facts/fact.ts';
import {
  type Comparison,
  type Condition,
  type FactRef,
  foldCondition,
  isFactRef,
  listComparisons,
} from '#decision/rules/condition.ts';
import { formatComparisonTest, joinWords } from '#decision/rules/condition-text.ts';
import { createComparisonMatcher } from '#decision/rules/matcher.ts';
import { explainFactWrittenAsText, findComparisonFault } from '#decision/rules/parse/compared-facts.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { locateMember, locateValue } from '#decision/rules/parse/places.ts';
import { YamlFile } from '#decision/rules/parse/yaml-file.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import { allOf, createComparison } from '#decision/rules/proof/built-conditions.ts';
import type { Reasoner } from '#decision/rules/proof/reasoner.ts';
import { listConditions, type ParsedRules, type Rule } from '#decision/rules/rule-set.ts';

/**
 * Finds a holdout without a limit of amounts. If a client is held out, an order that the rule would have stopped may
 * cost any amount.
 */
export function listHoldoutLimitRemarks({ name, holdout }: Rule<unknown>): readonly RuleProblem[] {
  if (holdout === undefined || holdout.maxAmounts !== null) return [];
  const message = `"${name}" skips clients whatever their amount; limit what that may cost, like holdoutMaxAmount: { EUR: "100.00" }`;
  return [{ at: holdout.at, message }];
}

/**
 * Finds comparisons of amounts without the currency. An amount is a number of currency units, so a limit means
 * nothing before the currency is known.
 */
export function listMissingCurrencyRemarks({ name, condition }: Rule<unknown>): readonly RuleProblem[] {
  const comparisons = listComparisons([condition]);
  if (comparisons.some(({ fact }) => fact.name === 'currency')) return [];
  // Zero is zero in every currency.
  const amounts = comparisons.filter(
    ({ fact, value }) => fact.fact.domain === MONEY_DOMAIN && value !== 0 && !isFactRef(value),
  );
  return amounts.map((comparison) => ({
    at: comparison.at,
    message: `"${name}" asks for ${formatConditionPart(comparison)} in any currency; add { fact: currency, operator: equal, value: EUR }, or the currency that you mean`,
  }));
}

/**
 * Finds comparisons that look as if they were meant for payers without a value, but never hold for them. People often
 * think of a missing value as some number: of "never paid" as "paid long ago". Such a comparison would hold for that
 * number. A rule that asks whether the value is known has considered payers without one. Comparisons that miss the
 * same payers are reported once.
 */
export function listMissingValueRemarks(
  { name, condition }: Rule<unknown>,
  reasoner: Reasoner,
): readonly RuleProblem[] {
  const comparisons = listComparisons([condition]);
  const payersOf = ({ fact }: Comparison) => fact.fact.absence?.of;
  const thoughtOf = new Set(comparisons.filter(({ operator }) => operator === 'known').map(payersOf));
  const unseeing = comparisons.filter((comparison) => {
    if (thoughtOf.has(payersOf(comparison)) || !seemsMeantForMissing(comparison)) return false;
    const others = removeComparison(condition, comparison);
    // Another part of the rule may exclude these payers anyway.
    return reasoner.find([others, createComparison(comparison.fact, 'known', false)]).kind !== 'none';
  });
  return [...Map.groupBy(unseeing, payersOf)].flatMap(([payers, parts]) => {
    const [first] = parts;
    if (first === undefined || payers === undefined) return [];
    const hold = parts.length === 1 ? 'holds' : 'hold';
    const message = `in "${name}", ${joinWords(parts.map(formatConditionPart), 'and')} never ${hold} for ${payers}; if the rule is meant for these payers too, ask for "any" of it and ${formatKnownTest(first, false)}, and if not, for "all" of it and ${formatKnownTest(first, true)}`;
    return [{ at: first.at, message }];
  });
}

/** Tells whether the comparison holds for the value that people think a missing value has. */
function seemsMeantForMissing({ fact: { fact, attribute }, operator, value }: Comparison): boolean {
  const { absence, domain } = fact;
  if (absence === undefined || isFactRef(value)) return false;
  // A condition like "an e-mail address less than 7 days old" is not meant for payers about whom the caller says
  // nothing.
  const asksForLess = domain.type === 'number' && operator.startsWith('lessThan') && value !== 0;
  if (attribute !== undefined && asksForLess) return false;
  return createComparisonMatcher(0, operator, value)([absence.mistakenFor]);
}

/** Returns a condition in which one comparison is taken as true. */
function removeComparison(condition: Condition, gone: Comparison): Condition {
  return foldCondition(condition, {
    group: (kind, conditions): Condition => ({ kind, conditions, at: condition.at }),
    not: (part) => ({ kind: 'not', condition: part, at: condition.at }),
    reference: (_name, part) => part,
    comparison: (comparison) => (comparison === gone ? allOf() : comparison),
  });
}

/** Formats a comparison like `{ fact: clientsOnIp, params: { window: 1h }, operator: known, value: false }`. */
function formatKnownTest({ fact: { name, windowMs, attribute } }: Comparison, value: boolean): string {
  const window = windowMs === 0 ? '' : `, params: { window: ${formatDuration(windowMs)} }`;
  const params = attribute === undefined ? window : `, params: { name: ${attribute} }`;
  return `{ fact: ${name}${params}, operator: known, value: ${value} }`;
}

/**
 * Finds texts that name a fact or an attribute but are compared as texts, like `ipCountry` if the value of that
 * attribute is meant.
 */
export function listFactNameTextRemarks(rules: ParsedRules, files: RuleFiles): readonly RuleProblem[] {
  return listComparisons(listConditions(rules)).flatMap(({ fact, operator, value, list, at }) => {
    if (list !== undefined || isFactRef(value) || fact.fact.domain.type !== 'text') return [];
    const meant = [value]
      .flat()
      .flatMap((text) => rules.facts.filter((other) => (other.attribute ?? other.name) === text));
    return meant
      .filter((other) => isMeant(fact, other))
      .map((other) => ({
        at: locateValue(files, at, 'value'),
        message: explainFactWrittenAsText(fact, operator, other),
      }));
  });
}

/**
 * Tells whether a text that equals the name of a fact or attribute is probably a mistake. A method may have the same
 * name as an attribute, so a name of an attribute is taken as a mistake only if the fact can be compared with that
 * attribute.
 */
function isMeant(fact: FactRef, other: FactRef): boolean {
  return other.attribute === undefined || findComparisonFault(fact, 'equal', other) === null;
}

/** Matches the paths of files that have values with which facts are compared. */
const COMPARING_FILE = /^(groups|bot-signals|verdicts|flags|lists\/.*)\.yaml$/;

/** Words for personal data, if the name of an attribute ends with them. */
const PERSONAL_WORDS = [
  'email',
  'mail',
  'phone',
  'telephone',
  'mobile',
  'msisdn',
  'iban',
  'pan',
  'card',
  'passport',
  'ssn',
];
const NUMBER_WORDS = ['number', 'no', 'nr', 'id'];
const NUMBERED_WORDS = ['card', 'account', 'bank', 'passport', 'tax', 'phone'];

/** Finds attributes whose names look like personal data and that would be kept in clear. */
export function listPersonalAttributeRemarks(
  { attributes }: ParsedRules,
  files: RuleFiles,
): readonly RuleProblem[] {
  const declared = [...attributes.values()].filter(({ type, oneOf, pseudonym, name }) => {
    return type === 'text' && oneOf === null && !pseudonym && isPersonal(name);
  });
  return declared.map(({ name }) => ({
    at: locateMember(files, 'ruleset.yaml', 'attributes', name),
    message: `the attribute "${name}" seems to identify a payer, and is kept in clear in records, the archive and the feed; declare it with pseudonym: true, or let callers send less, like a domain or a country`,
  }));
}

function isPersonal(name: string): boolean {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split('_')
    .filter(Boolean);
  const [before = '', last = ''] = words.slice(-2);
  if (words.length === 1) return PERSONAL_WORDS.includes(before);
  return PERSONAL_WORDS.includes(last) || (NUMBER_WORDS.includes(last) && NUMBERED_WORDS.includes(before));
}

/** The number of digits that every double holds exactly. */
const EXACT_DIGITS = 15;

/** Finds numbers with so many digits that rules compare a rounded number instead of the written one. */
export function listRoundedNumberRemarks(files: RuleFiles): readonly RuleProblem[] {
  const comparing = [...files].filter(([path]) => COMPARING_FILE.test(path));
  const numbers = comparing.flatMap(([path, text]) =>
    new YamlFile(path, text, []).listWrittenNumbers('holdoutMaxAmount'),
  );
  return numbers.flatMap(({ at, source, value }) => {
    if (countSignificantDigits(source) <= EXACT_DIGITS) return [];
    const message = `${source} has more than ${EXACT_DIGITS} digits, and rules compare numbers as doubles: it counts as ${value}, and values that differ only after the ${EXACT_DIGITS}th digit may be equal`;
    return [{ at, message }];
  });
}

/**
 * Counts the significant digits of a plain number. Zeros at the start, and at the end of a fraction, are not counted.
 */
function countSignificantDigits(source: string): number {
  const digits = source.replace(/^-/, '').replace(/^(\d*)\.(\d*?)0*$/, '$1$2');
  return digits.replace(/^0+/, '').length;
}

/** Formats a part like `unpaidChain >= 4 (line 12)`. A condition with parts is named by its line only. */
export function formatConditionPart(condition: Condition): string {
  const { kind, at } = condition;
  if (condition.kind === 'comparison')
    return `${condition.fact.label} ${formatComparisonTest(condition.operator, condition.value, condition.list)} (line ${at.line})`;
  return condition.kind === 'reference'
    ? `"${condition.name}" (line ${at.line})`
    : `the "${kind}" of line ${at.line}`;
}
