import { parseDuration } from '#base/duration.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import {
  ConstantNotFound,
  requireWrittenConstant,
  rewriteConstantValues,
  type WrittenConstant,
} from '#decision/rules/text/constant.ts';
import { compileDraft } from '#decision/rules/text/draft-text.ts';
import { BadQuestion } from '#history/evidence/question.ts';
import type { TriedRuleSet } from './backtest.ts';

/** A constant and the values to try for it, as a rule file would write them. */
interface Variation {
  readonly constant: WrittenConstant;
  readonly values: readonly string[];
}

/** The most rule sets that one backtest tries. */
const COMBINATIONS_MAX = 200;

const VARY_FORM =
  'PATH=VALUES, like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s';

/**
 * Creates the unchanged version and a variation for every combination of the values in `PATH=VALUES`. Throws
 * `BadQuestion`.
 */
export function createVariedRuleSets(
  { version }: RuleSet,
  files: RuleFiles,
  vary: readonly string[],
): readonly [TriedRuleSet, ...TriedRuleSet[]] {
  try {
    const variations = vary.map((text) => parseVariation(files, text));
    return createCombinations(version, files, variations);
  } catch (error) {
    throw error instanceof ConstantNotFound ? new BadQuestion(error.message) : error;
  }
}

/** Parses `PATH=2..8`, `PATH=2..8:2` (every second value) or `PATH=15s,30s`. */
function parseVariation(files: RuleFiles, text: string): Variation {
  const at = text.indexOf('=');
  const [path, list] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (at < 1 || list === '') throw new BadQuestion(`--vary is ${VARY_FORM}, unlike "${text}"`);
  const constant = requireWrittenConstant(files, path);
  const values = parseValues(list, text);
  return { constant, values: [...new Set(values)] };
}

function parseValues(list: string, text: string): readonly string[] {
  const range = /^(-?\d+)\.\.(-?\d+)(?::(\d+))?$/.exec(list);
  if (range === null) {
    const values = list.split(',').map((value) => value.trim());
    const bad = values.find((value) => !/^[\w.+-]+$/.test(value));
    if (bad === undefined) return values;
    throw new BadQuestion(`"${bad}" in "${text}" is not a number, duration or word; --vary is ${VARY_FORM}`);
  }
  const [first, last, step] = [Number(range[1]), Number(range[2]), Number(range[3] ?? 1)];
  if (last < first || step === 0)
    throw new BadQuestion(
      `"${list}" in "${text}" is not a range; the smaller number comes first, like 2..8 or 2..8:2`,
    );
  const count = Math.floor((last - first) / step) + 1;
  if (count > COMBINATIONS_MAX)
    throw new BadQuestion(
      `"${list}" in "${text}" has ${count} values; at most ${COMBINATIONS_MAX} are tried`,
    );
  return Array.from({ length: count }, (_, index) => String(first + index * step));
}

/**
 * Creates the rule set of each combination. Throws `BadQuestion` with the problems of the first combination that is
 * not a valid rule set.
 */
function createCombinations(
  version: string,
  files: RuleFiles,
  variations: readonly Variation[],
): readonly [TriedRuleSet, ...TriedRuleSet[]] {
  const count = variations.reduce((product, { values }) => product * values.length, 1);
  if (count > COMBINATIONS_MAX)
    throw new BadQuestion(`${count} combinations are asked for; at most ${COMBINATIONS_MAX} are tried`);
  const paths = variations.map(({ constant }) => constant.path);
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice !== undefined)
    throw new BadQuestion(`${twice} is varied twice; give all its values in one --vary`);
  const choices = variations.reduce<readonly Choice[]>(
    (known, { constant, values }) =>
      known.flatMap((choice) => values.map((value) => [...choice, [constant, value] as const])),
    [[]],
  );
  const asItStands = variations.map(({ constant }) => [constant, constant.text] as const);
  const others = choices.filter((choice) => !choice.every(([constant, value]) => isSame(constant, value)));
  const triedOf = (choice: Choice) => createCombination(version, files, choice);
  return [triedOf(asItStands), ...others.map(triedOf)];
}

type Choice = readonly (readonly [WrittenConstant, string])[];

/** Tells whether a value equals the present one. `60s` and `1m` are the same duration. */
function isSame({ text }: WrittenConstant, value: string): boolean {
  const [one, other] = [parseDuration(text), parseDuration(value)];
  return text === value || (one !== null && one === other);
}

function createCombination(version: string, files: RuleFiles, choice: Choice): TriedRuleSet {
  const values = Object.fromEntries(choice.map(([{ path }, value]) => [path, value]));
  const edited = rewriteConstantValues(files, choice);
  const draft = compileDraft(version, edited);
  if (draft.ok) return { values, rules: draft.ruleSet };
  throw new BadQuestion(
    `${formatValues(values)} gives a rule set with problems: ${problemText(draft.problems)}`,
  );
}

function formatValues(values: TriedRuleSet['values']): string {
  return Object.entries(values)
    .map(([path, value]) => `${path}=${value}`)
    .join(' ');
}

function problemText(problems: readonly RuleProblem[]): string {
  return problems.map(({ at, message }) => `${at.file}:${at.line}:${at.column}  ${message}`).join('; ');
}
