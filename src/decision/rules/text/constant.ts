import { isMap, isScalar, isSeq, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { formatDuration, parseDuration } from '#base/duration.ts';
import { NamedError } from '#base/named-error.ts';
import { count, list, literal, named, nullable, oneOf, type Shape, shape, word } from '#base/shapes.ts';
import { createAttributeFact } from '#decision/facts/attribute.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import { DOMAINS, type Fact, setFactWindow } from '#decision/facts/fact.ts';
import { type DeclaredAttributes, NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import { findOperatorSign } from '#decision/rules/condition-text.ts';
import { ATTRIBUTES } from '#decision/rules/parse/attributes.ts';
import { MEANINGS } from '#decision/rules/parse/form.ts';
import { PRIOR_RANGE, type RuleFiles } from '#decision/rules/parse/parse.ts';
import { LADDER_MS_MAX } from '#decision/rules/parse/rule-ladders.ts';
import { WEIGHT_RANGE } from '#decision/rules/parse/rules.ts';
import { YamlFile } from '#decision/rules/parse/yaml-file.ts';
import { location, suggestName } from '#decision/rules/problem.ts';
import { EXEMPT } from '#decision/rules/rule-set.ts';

/** No constant has this path, or several have it. The message suggests paths. */
export class UnknownConstant extends NamedError {}

/**
 * A number, duration or word in a rule file, with its place, so that it can be replaced as text, and with the values
 * that it may have.
 */
export const ConstantSchema = named(
  'RuleConstant',
  shape('A constant that a backtest or a form may vary', {
    path: word('Like ladder.levels[0]'),
    owner: word('What its path begins with: a rule, a named condition, a ladder'),
    usedBy: list(word('Its name'), 'The rules that go by it; empty when all do'),
    at: location,
    text: word('As written, without the quotes of a text'),
    from: count('Characters of the file before it'),
    to: count('Characters of the file up to its end'),
    sign: nullable(word('How a fact is compared with it, like >=')),
    allowed: oneOf(
      'type',
      {
        ...DOMAINS,
        duration: named(
          'DurationDomain',
          shape('A duration', { type: literal('duration'), longest: word('Like 24h') }),
        ),
      },
      'What may stand there',
    ),
    unit: nullable(word('Of its values; null: none')),
    description: word('What it means; empty when that is not known'),
  }),
);

export type Constant = Shape<typeof ConstantSchema>;

/**
 * Lists every constant of a rule set that can be varied, in the order of the files. A file that is not YAML has none.
 */
export function listConstants(files: RuleFiles): readonly Constant[] {
  const open = (name: string) => new YamlFile(`${name}.yaml`, files.get(`${name}.yaml`) ?? '', []);
  const [ladder, ruleset] = [open('ladder'), open('ruleset')];
  const [groups, signals, verdicts] = [open('groups'), open('bot-signals'), open('verdicts')];
  const flags = open('flags');
  const attributes = mapAt(ruleset.root, 'attributes');
  const names: Names = {
    lists: [...files.keys()].flatMap((path) => /^lists\/(.*)\.yaml$/.exec(path)?.[1] ?? []),
    ladders: keysOf(mapAt(ladder.root, 'ladders')),
    attributes:
      attributes === null
        ? NO_DECLARED_ATTRIBUTES
        : (ATTRIBUTES.read(ruleset, attributes, 'attributes') ?? NO_DECLARED_ATTRIBUTES),
    waits: rulesIn(verdicts.root).filter((rule) => paramsOf(rule)?.get('verdict') === 'WAIT'),
  };
  const all: readonly (readonly [YamlFile, readonly Found[]])[] = [
    [groups, inRules('groups', groups, names)],
    [signals, inRules('bot-signals', signals, names)],
    [verdicts, inRules('verdicts', verdicts, names)],
    [flags, inRules('flags', flags, names)],
    [ladder, inLadder('ladder', ladder.root, names)],
    [ruleset, inSettings(ruleset.root, names)],
  ];
  return all.flatMap(([file, found]) =>
    found.map((one) => constantAt(file, one)).toSorted((a, b) => a.from - b.from),
  );
}

/**
 * Finds the only constant of a path. Throws UnknownConstant, which names the nearest path. When several constants
 * fit, such as one fact that a rule compares twice, it names them all.
 */
export function findConstant(files: RuleFiles, path: string): Constant {
  const all = listConstants(files);
  const [found, ...others] = all.filter((constant) => constant.path === path);
  if (found !== undefined && others.length === 0) return found;
  const paths = all.map((constant) => constant.path);
  const nearest = suggestName(path, paths) || '.';
  throw new UnknownConstant(
    `there is no constant ${path}${nearest} A constant is named like groups.RULE.FACT, bot-signals.RULE.weight, bot-signals.threshold, ladder.levels[0], ladder.resetAfter or ruleset.smoothing.prior`,
  );
}

/**
 * Replaces some constants in files. Everything else, comments and layout included, stays unchanged. Values come
 * without quotes, like `text`. A text that needs quotes gets them.
 */
export function replaceConstants(
  files: RuleFiles,
  values: readonly (readonly [Constant, string])[],
): RuleFiles {
  const edited = new Map(files);
  // From the end of a file to its beginning, so that no replacement moves the place of the next one.
  for (const [{ at, from, to, allowed }, value] of values.toSorted(([a], [b]) => b.from - a.from)) {
    const text = edited.get(at.file) ?? '';
    const written = allowed.type === 'text' || allowed.type === 'enum' ? writeText(value) : value;
    edited.set(at.file, text.slice(0, from) + written + text.slice(to));
  }
  return edited;
}

/** The names in other files that constants may use, and the rules that let a payer wait. */
interface Names {
  readonly lists: readonly string[];
  readonly ladders: readonly string[];
  readonly waits: readonly YAMLMap[];
  readonly attributes: DeclaredAttributes;
}

interface Written {
  readonly path: string;
  /** The last key of the path. */
  readonly key: string;
  readonly node: Scalar;
}

type Meaning = Pick<Constant, 'sign' | 'allowed' | 'unit' | 'description'>;
type Found = Meaning & Pick<Constant, 'path' | 'owner' | 'usedBy'> & { readonly node: Scalar };

function constantAt(file: YamlFile, { node, ...rest }: Found): Constant {
  const [from = 0, to = 0] = node.range ?? [];
  return { ...rest, at: file.at(node), text: String(node.source ?? node.value), from, to };
}

/** Writes a text for a rule file. It gets quotes when YAML would read it as something else, like `"411111"`. */
function writeText(text: string): string {
  const { contents } = parseDocument(text);
  return isScalar(contents) && contents.value === text ? text : JSON.stringify(text);
}

function inSettings(root: unknown, names: Names): readonly Found[] {
  const platforms = mapAt(root, 'platforms');
  const owners = keysOf(platforms).map(
    (name) => [`ruleset.platforms.${name}`, mapAt(platforms, name)] as const,
  );
  return [['ruleset', mapAt(root, 'settings')] as const, ...owners].flatMap(([prefix, settings]) => {
    const owner = `${prefix}.smoothing`;
    const smoothing = scalarsBelow(owner, mapAt(settings, 'smoothing')).map(({ path, key, node }) => {
      const allowed = key === 'prior' ? PRIOR : WEIGHT;
      return { path, node, owner, usedBy: [], ...meaning(allowed, MEANINGS.smoothing) };
    });
    return [...smoothing, ...inLadder(`${prefix}.ladder`, mapAt(settings, 'ladder'), names)];
  });
}

function inLadder(path: string, ladder: unknown, { waits }: Names): readonly Found[] {
  const nameOf = (rule: YAMLMap) => String(rule.get('name'));
  return scalarsBelow(path, ladder).map(({ path: written, key, node }) => {
    const named = nameAfter(`${path}.ladders.`, written);
    const owner = named === null ? path : `${path}.ladders.${named}`;
    const isReset = key === 'resetAfter';
    const isCommon = isReset && named === null;
    const using = waits.filter((rule) => isCommon || (paramsOf(rule)?.get('ladder') ?? null) === named);
    const says = meaning(durationUpTo(LADDER_MS_MAX), isReset ? MEANINGS.resetAfter : MEANINGS.levels);
    return { path: written, node, owner, usedBy: using.map(nameOf), ...says };
  });
}

/** Returns the name that follows the beginning of a path, and null when the path begins differently. */
function nameAfter(beginning: string, path: string): string | null {
  return path.startsWith(beginning) ? (/^[^.[]+/.exec(path.slice(beginning.length))?.[0] ?? null) : null;
}

function inRules(name: string, { root }: YamlFile, names: Names): readonly Found[] {
  const rules = rulesIn(root);
  const shared = mapAt(root, 'conditions');
  const threshold = scalarsBelow(`${name}.threshold`, isMap(root) ? root.get('threshold', true) : null);
  const ofRules = rules.flatMap((rule): readonly Found[] => {
    const own = { owner: `${name}.${String(rule.get('name'))}`, usedBy: [String(rule.get('name'))] };
    const params = scalarsBelow(own.owner, paramsOf(rule)).flatMap(({ path, key, node }) => {
      const says = meaningOfParam(key, names);
      return says === null ? [] : [{ path, node, ...own, ...says }];
    });
    return [...params, ...inCondition(rule.get('conditions', true), own, names)];
  });
  // The exemption is asked before every signal.
  const exempt = isMap(root) ? root.get(EXEMPT, true) : null;
  const exempting = namedIn(exempt, shared);
  const namesOf = (some: readonly YAMLMap[]) => some.map((rule) => String(rule.get('name')));
  const ofShared = keysOf(shared).flatMap((key) => {
    const using = rules.filter(
      (rule) => exempting.has(key) || namedIn(rule.get('conditions', true), shared).has(key),
    );
    const own = { owner: `${name}.conditions.${key}`, usedBy: namesOf(using) };
    return inCondition(shared?.get(key, true), own, names);
  });
  return [
    ...inCondition(exempt, { owner: `${name}.${EXEMPT}`, usedBy: namesOf(rules) }, names),
    ...threshold.map(({ path, node }) => ({
      path,
      node,
      owner: name,
      usedBy: [],
      ...meaning(WEIGHT, MEANINGS.threshold),
    })),
    ...ofRules,
    ...ofShared,
  ];
}

/**
 * Returns what a parameter of a rule means, or null when it is no constant: a group, a verdict and texts are
 * conclusions.
 */
function meaningOfParam(key: string, { ladders }: Names): Meaning | null {
  if (key === 'weight') return meaning(WEIGHT, MEANINGS.weight);
  return key === 'ladder' ? meaning(oneOfNames(ladders), MEANINGS.ladder) : null;
}

/**
 * Lists the constants of a condition. A fact that is compared several times gets a number: `verdicts[0]`,
 * `verdicts[1]`.
 */
function inCondition(
  condition: unknown,
  own: Pick<Found, 'owner' | 'usedBy'>,
  { lists, attributes }: Names,
): readonly Found[] {
  const comparisons = partsWith('fact', condition);
  return comparisons.flatMap((comparison) => {
    const name = String(comparison.get('fact'));
    const alike = comparisons.filter((other) => other.get('fact') === name);
    const number = alike.length === 1 ? '' : `[${alike.indexOf(comparison)}]`;
    const path = `${own.owner}.${name}${number}`;
    const fact = factOf(name, comparison, attributes);
    const longest = fact?.kind === 'windowed' ? fact.longestWindowMs : 0;
    // The name of the attribute is no constant: another name would ask for another fact.
    const chosen = fact?.kind === 'attribute' ? null : comparison.get('params', true);
    const params = scalarsBelow(path, chosen)
      .filter(({ key }) => key !== 'name')
      .map((one) => ({
        ...one,
        ...(one.key === 'window'
          ? meaning(durationUpTo(longest), MEANINGS.window)
          : meaning(TEXT, MEANINGS.sharedList)),
      }));
    const value = comparison.get('value', true);
    // Another fact is no constant.
    if (isMap(value) && value.has('fact')) return [];
    const compared: Meaning = {
      sign: findOperatorSign(String(comparison.get('operator'))),
      allowed: fact?.domain ?? TEXT,
      unit: fact?.unit ?? null,
      description: fact?.description ?? '',
    };
    const values = scalarsBelow(isSeq(value) ? `${path}.value` : path, value).map((one) => ({
      ...one,
      ...compared,
      ...(isMap(value) && { allowed: oneOfNames(lists), description: MEANINGS.list }),
    }));
    return [...params, ...values].map(({ key: _, ...found }) => ({ ...found, ...own }));
  });
}

/** Finds the fact of a comparison with its window, or the attribute with its declaration. */
function factOf(name: string, comparison: YAMLMap, attributes: DeclaredAttributes): Fact | undefined {
  const params = mapAt(comparison, 'params');
  const declared = attributes.get(String(params?.get('name')));
  if (name === 'attribute' && declared !== undefined) return createAttributeFact(declared);
  const fact = FACTS.get(name);
  return fact === undefined
    ? undefined
    : setFactWindow(fact, parseDuration(String(params?.get('window'))) ?? 0);
}

const WEIGHT = { type: 'number', integer: false, ...WEIGHT_RANGE } as const;
const PRIOR = { ...WEIGHT, ...PRIOR_RANGE } as const;
const TEXT = { type: 'text' } as const;

function durationUpTo(longestMs: number): Constant['allowed'] {
  return { type: 'duration', longest: formatDuration(longestMs) };
}

/** Allows one of the names. Without names it allows any text. */
function oneOfNames(values: readonly string[]): Constant['allowed'] {
  return values.length === 0 ? TEXT : { type: 'enum', values };
}

function meaning(allowed: Constant['allowed'], description: string): Meaning {
  return { sign: null, unit: null, allowed, description };
}

/** Lists the scalars below a node, each with its path. */
function scalarsBelow(path: string, node: unknown, key = ''): readonly Written[] {
  if (isScalar(node)) return [{ path, key, node }];
  if (isSeq(node)) return node.items.flatMap((item, index) => scalarsBelow(`${path}[${index}]`, item, key));
  if (!isMap(node)) return [];
  return node.items.flatMap((pair) => scalarsBelow(`${path}.${pair.key}`, pair.value, String(pair.key)));
}

/** Lists the parts of a condition that have this member: comparisons have a fact, references a condition. */
function partsWith(member: 'fact' | 'condition', node: unknown): readonly YAMLMap[] {
  if (isSeq(node)) return node.items.flatMap((item) => partsWith(member, item));
  if (!isMap(node)) return [];
  return node.has(member) ? [node] : node.items.flatMap((pair) => partsWith(member, pair.value));
}

/** Collects the names of the conditions that a condition refers to, directly or through other named conditions. */
function namedIn(condition: unknown, shared: YAMLMap | null, known: ReadonlySet<string> = new Set()) {
  let all = known;
  for (const reference of partsWith('condition', condition)) {
    const name = String(reference.get('condition'));
    if (!all.has(name)) all = namedIn(shared?.get(name, true), shared, new Set([...all, name]));
  }
  return all;
}

function rulesIn(root: unknown): readonly YAMLMap[] {
  const rules = isMap(root) ? root.get('rules', true) : null;
  return isSeq(rules) ? rules.items.filter(isMap) : [];
}

function paramsOf(rule: YAMLMap): YAMLMap | null {
  return mapAt(mapAt(rule, 'event'), 'params');
}

function mapAt(map: unknown, key: string): YAMLMap | null {
  const value = isMap(map) ? map.get(key, true) : null;
  return isMap(value) ? value : null;
}

function keysOf(map: YAMLMap | null): readonly string[] {
  return map?.items.map(({ key }) => String(key)) ?? [];
}
