import {
  isMap,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { NamedError } from '../../named-error.ts';
import { count, type Shape, shape, word } from '../../shapes.ts';
import type { RuleFiles } from '../parse/parse.ts';
import { suggest } from '../problem.ts';

/** No constant, or not exactly one, has this path; the message says which there are. */
export class UnknownConstant extends NamedError {}

/** A number, duration or word in a rule file: where it is written, so that it can be replaced as text. */
export const ConstantSchema = shape('A constant that a sweep may vary', {
  path: word('Like ladder.levels[0]'),
  file: word('Where it is written'),
  text: word('As written'),
  from: count('Characters of the file before it'),
  to: count('Characters of the file up to its end'),
});

export type Constant = Shape<typeof ConstantSchema>;

const FILE_OF = {
  groups: 'groups.yaml',
  'bot-signals': 'bot-signals.yaml',
  verdicts: 'verdicts.yaml',
  ladder: 'ladder.yaml',
  ruleset: 'ruleset.yaml',
} as const;

/** Every constant of a rule set that can be varied, in the order of the files. */
export function constantsOf(files: RuleFiles): readonly Constant[] {
  return Object.entries(FILE_OF).flatMap(([name, file]) => {
    const root = parseDocument(files.get(file) ?? '').contents;
    if (!isMap(root)) return [];
    return named(name, root).map(({ path, scalar }) => constantAt(file, path, scalar));
  });
}

/**
 * The one constant that a path names. Throws UnknownConstant: with the nearest name, or with all that fit when
 * there are several, such as one fact that a rule compares twice.
 */
export function constantAtPath(files: RuleFiles, path: string): Constant {
  const all = constantsOf(files);
  const [found, ...others] = all.filter((constant) => constant.path === path);
  if (found !== undefined && others.length === 0) return found;
  const paths = all.map((constant) => constant.path);
  const nearest = suggest(path, paths) || '.';
  throw new UnknownConstant(
    `there is no constant ${path}${nearest} A constant is named like groups.RULE.FACT, bot-signals.RULE.weight, bot-signals.threshold, ladder.levels[0], ladder.resetAfter or ruleset.smoothing.prior`,
  );
}

/** The files with another value for some constants; all else, comments and layout, stays as it is. */
export function withConstants(files: RuleFiles, values: readonly (readonly [Constant, string])[]): RuleFiles {
  const edited = new Map(files);
  // From the end of a file to its beginning, so that no replacement moves the place of the next.
  for (const [{ file, from, to }, value] of values.toSorted(([a], [b]) => b.from - a.from)) {
    const text = edited.get(file) ?? '';
    edited.set(file, text.slice(0, from) + value + text.slice(to));
  }
  return edited;
}

interface NamedScalar {
  readonly path: string;
  readonly scalar: Scalar;
}

function constantAt(file: string, path: string, scalar: Scalar): Constant {
  const [from = 0, to = 0] = scalar.range ?? [];
  return { path, file, text: String(scalar.source ?? scalar.value), from, to };
}

function named(name: string, root: YAMLMap): readonly NamedScalar[] {
  switch (name) {
    case 'ladder':
      return below(name, root, ['levels', 'resetAfter']);
    case 'ruleset': {
      const smoothing = mapAt(mapAt(root, 'settings'), 'smoothing');
      return smoothing === null ? [] : below('ruleset.smoothing', smoothing, ['prior', 'weight']);
    }
    default:
      return [...below(name, root, ['threshold']), ...rulesOf(name, root)];
  }
}

/** The scalars under some keys of a map; for a list, each item. */
function below(prefix: string, map: YAMLMap, keys: readonly string[]): readonly NamedScalar[] {
  return keys.flatMap((key) => {
    const value = map.get(key, true);
    if (isScalar(value)) return [{ path: `${prefix}.${key}`, scalar: value }];
    return isSeq(value) ? scalarsOf(`${prefix}.${key}`, value) : [];
  });
}

function scalarsOf(path: string, list: YAMLSeq): readonly NamedScalar[] {
  return list.items.flatMap((item, index) =>
    isScalar(item) ? [{ path: `${path}[${index}]`, scalar: item }] : [],
  );
}

function rulesOf(name: string, root: YAMLMap): readonly NamedScalar[] {
  const rules = root.get('rules', true);
  if (!isSeq(rules)) return [];
  return rules.items.filter(isMap).flatMap((rule) => {
    const prefix = `${name}.${String(rule.get('name'))}`;
    const params = mapAt(mapAt(rule, 'event'), 'params');
    const weight = params === null ? [] : below(prefix, params, ['weight']);
    return [...weight, ...numbered(comparisonsIn(rule.get('conditions', true)), prefix)];
  });
}

/** A fact that a rule compares several times gets a number: `verdicts[0]`, `verdicts[1]`. */
function numbered(comparisons: readonly YAMLMap[], prefix: string): readonly NamedScalar[] {
  return comparisons.flatMap((comparison) => {
    const fact = String(comparison.get('fact'));
    const alike = comparisons.filter((other) => other.get('fact') === fact);
    const number = alike.length === 1 ? '' : `[${alike.indexOf(comparison)}]`;
    const path = `${prefix}.${fact}${number}`;
    const params = mapAt(comparison, 'params');
    const value = comparison.get('value', true);
    return [
      ...(isScalar(value) ? [{ path, scalar: value }] : []),
      ...(params === null ? [] : below(path, params, ['window'])),
    ];
  });
}

function comparisonsIn(node: unknown): readonly YAMLMap[] {
  if (isSeq(node)) return node.items.flatMap(comparisonsIn);
  if (!isMap(node)) return [];
  if (node.has('fact')) return [node];
  return node.items.flatMap((pair: Pair) => comparisonsIn(pair.value));
}

function mapAt(map: YAMLMap | null, key: string): YAMLMap | null {
  const value = map?.get(key, true);
  return isMap(value) ? value : null;
}
