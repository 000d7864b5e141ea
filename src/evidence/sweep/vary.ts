import { parseDuration } from '../../rules/duration.ts';
import { type Constant, constantAtPath, withConstants } from '../../rules/folder/constant.ts';
import { draftOf } from '../../rules/folder/draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { Problem } from '../../rules/problem.ts';

/** The sweep is not possible as asked for; the message says what is wrong and what is allowed. */
export class BadVariation extends Error {
  override readonly name = 'BadVariation';
}

/** One constant and the values that it is given in turn, as they would stand in the file. */
export interface Variation {
  readonly constant: Constant;
  readonly values: readonly string[];
}

/** One choice of values: a rule set to try. */
export interface Combination {
  /** By the paths of the constants. */
  readonly values: Readonly<Record<string, string>>;
  /** The values are those of the version that is varied. */
  readonly present: boolean;
  readonly files: RuleFiles;
}

/** The most rule sets of one sweep. */
const COMBINATIONS_MAX = 200;

const VARY_FORM =
  'PATH=VALUES, like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s';

/** `PATH=2..8`, `PATH=2..8:2` (every second one) or `PATH=15s,30s`. Throws BadVariation or UnknownConstant. */
export function parseVariation(files: RuleFiles, text: string): Variation {
  const at = text.indexOf('=');
  const [path, list] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (at < 1 || list === '') throw new BadVariation(`--vary is ${VARY_FORM}, unlike "${text}"`);
  const constant = constantAtPath(files, path);
  const values = valuesOf(list, text);
  return { constant, values: [...new Set(values)] };
}

function valuesOf(list: string, text: string): readonly string[] {
  const range = /^(-?\d+)\.\.(-?\d+)(?::(\d+))?$/.exec(list);
  if (range === null) {
    const values = list.split(',').map((value) => value.trim());
    const bad = values.find((value) => !/^[\w.+-]+$/.test(value));
    if (bad === undefined) return values;
    throw new BadVariation(`"${bad}" in "${text}" is no number, duration or word; --vary is ${VARY_FORM}`);
  }
  const [first, last, step] = [Number(range[1]), Number(range[2]), Number(range[3] ?? 1)];
  if (last < first || step === 0)
    throw new BadVariation(
      `"${list}" in "${text}" is no range; the smaller number comes first, like 2..8 or 2..8:2`,
    );
  const count = Math.floor((last - first) / step) + 1;
  if (count > COMBINATIONS_MAX)
    throw new BadVariation(
      `"${list}" in "${text}" has ${count} values; a sweep tries at most ${COMBINATIONS_MAX}`,
    );
  return Array.from({ length: count }, (_, index) => String(first + index * step));
}

/**
 * Every choice of one value of each variation, the version as it stands first. Throws BadVariation with the
 * problems of the first choice that is not a sound rule set.
 */
export function combinationsOf(
  version: string,
  files: RuleFiles,
  variations: readonly Variation[],
): readonly Combination[] {
  const count = variations.reduce((product, { values }) => product * values.length, 1);
  if (count > COMBINATIONS_MAX)
    throw new BadVariation(`${count} combinations are asked for; a sweep tries at most ${COMBINATIONS_MAX}`);
  const paths = variations.map(({ constant }) => constant.path);
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice !== undefined)
    throw new BadVariation(`${twice} is varied twice; give all its values in one --vary`);
  const choices = variations.reduce<readonly Choice[]>(
    (known, { constant, values }) =>
      known.flatMap((choice) => values.map((value) => [...choice, [constant, value] as const])),
    [[]],
  );
  const asItStands = variations.map(({ constant }) => [constant, constant.text] as const);
  const others = choices.filter((choice) => !choice.every(([constant, value]) => isSame(constant, value)));
  return [asItStands, ...others].map((choice, index) => combinationOf(version, files, choice, index === 0));
}

type Choice = readonly (readonly [Constant, string])[];

/** `60s` and `1m` are the same duration. */
function isSame({ text }: Constant, value: string): boolean {
  const [one, other] = [parseDuration(text), parseDuration(value)];
  return text === value || (one !== null && one === other);
}

function combinationOf(version: string, files: RuleFiles, choice: Choice, present: boolean): Combination {
  const values = Object.fromEntries(choice.map(([{ path }, value]) => [path, value]));
  const edited = withConstants(files, choice);
  const draft = draftOf(version, edited);
  if (draft.ok) return { values, present, files: edited };
  throw new BadVariation(`${describe(values)} is no sound rule set: ${problemText(draft.problems)}`);
}

function describe(values: Combination['values']): string {
  return Object.entries(values)
    .map(([path, value]) => `${path}=${value}`)
    .join(' ');
}

function problemText(problems: readonly Problem[]): string {
  return problems.map(({ at, message }) => `${at.file}:${at.line}:${at.column}  ${message}`).join('; ');
}
