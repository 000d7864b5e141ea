import { isMap, isScalar, isSeq, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { formatDuration, parseDuration } from '#base/duration.ts';
import { NamedError } from '#base/named-error.ts';
import {
  count,
  list,
  literal,
  named,
  nullable,
  oneOf,
  plainText,
  shape,
  type ValueOf,
} from '#base/shapes.ts';
import { createAttributeFact } from '#decision/facts/attribute.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import { FACT_DOMAIN_SCHEMAS, type Fact, toFactOverWindow } from '#decision/facts/fact.ts';
import { type DeclaredAttributes, NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import { getOperatorSign } from '#decision/rules/condition-text.ts';
import { ATTRIBUTES_FORM } from '#decision/rules/parse/attributes.ts';
import { CONSTANT_DESCRIPTIONS } from '#decision/rules/parse/form.ts';
import { PRIOR_RANGE, type RuleFiles } from '#decision/rules/parse/parse.ts';
import { LADDER_MS_MAX } from '#decision/rules/parse/rule-ladders.ts';
import { WEIGHT_RANGE } from '#decision/rules/parse/rules.ts';
import { YamlFile } from '#decision/rules/parse/yaml-file.ts';
import { formatNameHint, locationSchema } from '#decision/rules/problem.ts';
import { EXEMPTION_NAME } from '#decision/rules/rule-set.ts';

/** No constant has this path, or several have it. The message suggests paths. */
export class ConstantNotFound extends NamedError {}

/**
 * A number, duration or word written in a rule file. The constant has its place in the file, so that it can be
 * replaced as text, and the values that are allowed in this place.
 */
export const WrittenConstantSchema = named(
  'RuleConstant',
  shape('A constant that a backtest or a form may vary', {
    path: plainText('Like ladder.levels[0]'),
    owner: plainText('What its path begins with: a rule, a named condition, a ladder'),
    usedBy: list(plainText('Its name'), 'The rules that go by it; empty when all do'),
    at: locationSchema,
    text: plainText('As written, without the quotes of a text'),
    from: count('Characters of the file before it'),
    to: count('Characters of the file up to its end'),
    sign: nullable(plainText('How a fact is compared with it, like >=')),
    allowed: oneOf(
      'type',
      {
        ...FACT_DOMAIN_SCHEMAS,
        duration: named(
          'DurationDomain',
          shape('A duration', { type: literal('duration'), longest: plainText('Like 24h') }),
        ),
      },
      'What may stand there',
    ),
    unit: nullable(plainText('The unit of its values; null: none')),
    description: plainText('What it means; empty when that is not known'),
  }),
);

export type WrittenConstant = ValueOf<typeof WrittenConstantSchema>;

/**
 * Lists every constant of a rule set that can be varied, in the sequence of the files. A file that is not YAML has no
 * constants.
 */
export function listWrittenConstants(files: RuleFiles): readonly WrittenConstant[] {
  const open = (name: string) => new YamlFile(`${name}.yaml`, files.get(`${name}.yaml`) ?? '', []);
  const [ladder, ruleset] = [open('ladder'), open('ruleset')];
  const [groups, signals, verdicts] = [open('groups'), open('bot-signals'), open('verdicts')];
  const flags = open('flags');
  const attributes = getMap(ruleset.root, 'attributes');
  const names: AvailableNames = {
    lists: [...files.keys()].flatMap((path) => /^lists\/(.*)\.yaml$/.exec(path)?.[1] ?? []),
    ladders: listKeys(getMap(ladder.root, 'ladders')),
    attributes:
      attributes === null
        ? NO_DECLARED_ATTRIBUTES
        : (ATTRIBUTES_FORM.read(ruleset, attributes, 'attributes') ?? NO_DECLARED_ATTRIBUTES),
    waits: listRules(verdicts.root).filter((rule) => getParams(rule)?.get('verdict') === 'WAIT'),
  };
  const all: readonly (readonly [YamlFile, readonly FoundConstant[]])[] = [
    [groups, listInRules('groups', groups, names)],
    [signals, listInRules('bot-signals', signals, names)],
    [verdicts, listInRules('verdicts', verdicts, names)],
    [flags, listInRules('flags', flags, names)],
    [ladder, listInLadder('ladder', ladder.root, names)],
    [ruleset, listInSettings(ruleset.root, names)],
  ];
  return all.flatMap(([file, found]) =>
    found.map((one) => locateConstant(file, one)).toSorted((a, b) => a.from - b.from),
  );
}

/**
 * Finds the constant with this path. If there is none or several, throws ConstantNotFound, whose message suggests
 * paths.
 */
export function requireWrittenConstant(files: RuleFiles, path: string): WrittenConstant {
  const all = listWrittenConstants(files);
  const [found, ...others] = all.filter((constant) => constant.path === path);
  if (found !== undefined && others.length === 0) return found;
  const paths = all.map((constant) => constant.path);
  const nearest = formatNameHint(path, paths) || '.';
  throw new ConstantNotFound(
    `there is no constant ${path}${nearest} A constant is named like groups.RULE.FACT, bot-signals.RULE.weight, bot-signals.threshold, ladder.levels[0], ladder.resetAfter or ruleset.smoothing.prior`,
  );
}

/**
 * Replaces some constants in files. Everything else, comments and layout included, stays unchanged. `value` has no
 * quotes, like the member `text` of a constant. A text that needs quotes in YAML gets them.
 */
export function rewriteConstantValues(
  files: RuleFiles,
  values: readonly (readonly [WrittenConstant, string])[],
): RuleFiles {
  const edited = new Map(files);
  // The replacements run from the end of a file to its beginning, so that none moves the position of the next one.
  for (const [{ at, from, to, allowed }, value] of values.toSorted(([a], [b]) => b.from - a.from)) {
    const text = edited.get(at.file) ?? '';
    const written = allowed.type === 'text' || allowed.type === 'enum' ? writeText(value) : value;
    edited.set(at.file, text.slice(0, from) + written + text.slice(to));
  }
  return edited;
}

/** The names in other files that constants may use, and the rules that let a payer wait. */
interface AvailableNames {
  readonly lists: readonly string[];
  readonly ladders: readonly string[];
  readonly waits: readonly YAMLMap[];
  readonly attributes: DeclaredAttributes;
}

interface WrittenScalar {
  readonly path: string;
  /** The last key of the path. */
  readonly key: string;
  readonly node: Scalar;
}

type ConstantMeaning = Pick<WrittenConstant, 'sign' | 'allowed' | 'unit' | 'description'>;
type FoundConstant = ConstantMeaning &
  Pick<WrittenConstant, 'path' | 'owner' | 'usedBy'> & { readonly node: Scalar };

function locateConstant(file: YamlFile, { node, ...rest }: FoundConstant): WrittenConstant {
  const [from = 0, to = 0] = node.range ?? [];
  return { ...rest, at: file.locate(node), text: String(node.source ?? node.value), from, to };
}

/** Writes a text for a rule file. The text gets quotes if YAML would read it as something else, like `"411111"`. */
function writeText(text: string): string {
  const { contents } = parseDocument(text);
  return isScalar(contents) && contents.value === text ? text : JSON.stringify(text);
}

function listInSettings(root: unknown, names: AvailableNames): readonly FoundConstant[] {
  const platforms = getMap(root, 'platforms');
  const owners = listKeys(platforms).map(
    (name) => [`ruleset.platforms.${name}`, getMap(platforms, name)] as const,
  );
  return [['ruleset', getMap(root, 'settings')] as const, ...owners].flatMap(([prefix, settings]) => {
    const owner = `${prefix}.smoothing`;
    const smoothing = listScalars(owner, getMap(settings, 'smoothing')).map(({ path, key, node }) => {
      const allowed = key === 'prior' ? PRIOR : WEIGHT;
      return { path, node, owner, usedBy: [], ...createMeaning(allowed, CONSTANT_DESCRIPTIONS.smoothing) };
    });
    return [...smoothing, ...listInLadder(`${prefix}.ladder`, getMap(settings, 'ladder'), names)];
  });
}

function listInLadder(path: string, ladder: unknown, { waits }: AvailableNames): readonly FoundConstant[] {
  const nameOf = (rule: YAMLMap) => String(rule.get('name'));
  return listScalars(path, ladder).map(({ path: written, key, node }) => {
    const named = parseNameAfter(`${path}.ladders.`, written);
    const owner = named === null ? path : `${path}.ladders.${named}`;
    const isReset = key === 'resetAfter';
    const isCommon = isReset && named === null;
    const using = waits.filter((rule) => isCommon || (getParams(rule)?.get('ladder') ?? null) === named);
    const paramMeaning = createMeaning(
      allowDuration(LADDER_MS_MAX),
      isReset ? CONSTANT_DESCRIPTIONS.resetAfter : CONSTANT_DESCRIPTIONS.levels,
    );
    return { path: written, node, owner, usedBy: using.map(nameOf), ...paramMeaning };
  });
}

/** Returns the name that follows the beginning of a path. Returns null if the path begins differently. */
function parseNameAfter(beginning: string, path: string): string | null {
  return path.startsWith(beginning) ? (/^[^.[]+/.exec(path.slice(beginning.length))?.[0] ?? null) : null;
}

function listInRules(name: string, { root }: YamlFile, names: AvailableNames): readonly FoundConstant[] {
  const rules = listRules(root);
  const shared = getMap(root, 'conditions');
  const threshold = listScalars(`${name}.threshold`, isMap(root) ? root.get('threshold', true) : null);
  const ofRules = rules.flatMap((rule): readonly FoundConstant[] => {
    const own = { owner: `${name}.${String(rule.get('name'))}`, usedBy: [String(rule.get('name'))] };
    const params = listScalars(own.owner, getParams(rule)).flatMap(({ path, key, node }) => {
      const paramMeaning = findParamMeaning(key, names);
      return paramMeaning === null ? [] : [{ path, node, ...own, ...paramMeaning }];
    });
    return [...params, ...listInCondition(rule.get('conditions', true), own, names)];
  });
  // The exemption is asked before every signal.
  const exempt = isMap(root) ? root.get(EXEMPTION_NAME, true) : null;
  const exempting = collectNamed(exempt, shared);
  const namesOf = (some: readonly YAMLMap[]) => some.map((rule) => String(rule.get('name')));
  const ofShared = listKeys(shared).flatMap((key) => {
    const using = rules.filter(
      (rule) => exempting.has(key) || collectNamed(rule.get('conditions', true), shared).has(key),
    );
    const own = { owner: `${name}.conditions.${key}`, usedBy: namesOf(using) };
    return listInCondition(shared?.get(key, true), own, names);
  });
  return [
    ...listInCondition(exempt, { owner: `${name}.${EXEMPTION_NAME}`, usedBy: namesOf(rules) }, names),
    ...threshold.map(({ path, node }) => ({
      path,
      node,
      owner: name,
      usedBy: [],
      ...createMeaning(WEIGHT, CONSTANT_DESCRIPTIONS.threshold),
    })),
    ...ofRules,
    ...ofShared,
  ];
}

/**
 * Returns what a parameter of a rule means. Returns null for a group, a verdict or a text, because these are the
 * result of the rule and no constants.
 */
function findParamMeaning(key: string, { ladders }: AvailableNames): ConstantMeaning | null {
  if (key === 'weight') return createMeaning(WEIGHT, CONSTANT_DESCRIPTIONS.weight);
  return key === 'ladder' ? createMeaning(allowNames(ladders), CONSTANT_DESCRIPTIONS.ladder) : null;
}

/**
 * Lists the constants of a condition. A fact that is compared several times gets a number: `verdicts[0]`,
 * `verdicts[1]`.
 */
function listInCondition(
  condition: unknown,
  own: Pick<FoundConstant, 'owner' | 'usedBy'>,
  { lists, attributes }: AvailableNames,
): readonly FoundConstant[] {
  const comparisons = listPartsWith('fact', condition);
  return comparisons.flatMap((comparison) => {
    const name = String(comparison.get('fact'));
    const alike = comparisons.filter((other) => other.get('fact') === name);
    const number = alike.length === 1 ? '' : `[${alike.indexOf(comparison)}]`;
    const path = `${own.owner}.${name}${number}`;
    const fact = findFact(name, comparison, attributes);
    const longest = fact?.kind === 'windowed' ? fact.longestWindowMs : 0;
    // The name of the attribute is no constant, because another name would ask for another fact.
    const chosen = fact?.kind === 'attribute' ? null : comparison.get('params', true);
    const params = listScalars(path, chosen)
      .filter(({ key }) => key !== 'name')
      .map((one) => ({
        ...one,
        ...(one.key === 'window'
          ? createMeaning(allowDuration(longest), CONSTANT_DESCRIPTIONS.window)
          : createMeaning(TEXT, CONSTANT_DESCRIPTIONS.sharedList)),
      }));
    const value = comparison.get('value', true);
    // Another fact on the right side is no constant.
    if (isMap(value) && value.has('fact')) return [];
    const compared: ConstantMeaning = {
      sign: getOperatorSign(String(comparison.get('operator'))),
      allowed: fact?.domain ?? TEXT,
      unit: fact?.unit ?? null,
      description: fact?.description ?? '',
    };
    const values = listScalars(isSeq(value) ? `${path}.value` : path, value).map((one) => ({
      ...one,
      ...compared,
      ...(isMap(value) && { allowed: allowNames(lists), description: CONSTANT_DESCRIPTIONS.list }),
    }));
    return [...params, ...values].map(({ key: _, ...found }) => ({ ...found, ...own }));
  });
}

/** Finds the fact of a comparison with its window, or the attribute with its declaration. */
function findFact(name: string, comparison: YAMLMap, attributes: DeclaredAttributes): Fact | undefined {
  const params = getMap(comparison, 'params');
  const declared = attributes.get(String(params?.get('name')));
  if (name === 'attribute' && declared !== undefined) return createAttributeFact(declared);
  const fact = FACTS.get(name);
  return fact === undefined
    ? undefined
    : toFactOverWindow(fact, parseDuration(String(params?.get('window'))) ?? 0);
}

const WEIGHT = { type: 'number', integer: false, ...WEIGHT_RANGE } as const;
const PRIOR = { ...WEIGHT, ...PRIOR_RANGE } as const;
const TEXT = { type: 'text' } as const;

function allowDuration(longestMs: number): WrittenConstant['allowed'] {
  return { type: 'duration', longest: formatDuration(longestMs) };
}

/** Allows one of the names. If there are no names, any text is allowed. */
function allowNames(values: readonly string[]): WrittenConstant['allowed'] {
  return values.length === 0 ? TEXT : { type: 'enum', values };
}

function createMeaning(allowed: WrittenConstant['allowed'], description: string): ConstantMeaning {
  return { sign: null, unit: null, allowed, description };
}

/** Lists the scalars below a node, each with its path. */
function listScalars(path: string, node: unknown, key = ''): readonly WrittenScalar[] {
  if (isScalar(node)) return [{ path, key, node }];
  if (isSeq(node)) return node.items.flatMap((item, index) => listScalars(`${path}[${index}]`, item, key));
  if (!isMap(node)) return [];
  return node.items.flatMap((pair) => listScalars(`${path}.${pair.key}`, pair.value, String(pair.key)));
}

/** Lists the parts of a condition that have this member: comparisons have a fact, references a condition. */
function listPartsWith(member: 'fact' | 'condition', node: unknown): readonly YAMLMap[] {
  if (isSeq(node)) return node.items.flatMap((item) => listPartsWith(member, item));
  if (!isMap(node)) return [];
  return node.has(member) ? [node] : node.items.flatMap((pair) => listPartsWith(member, pair.value));
}

/** Collects the names of the conditions that a condition refers to, directly or through other named conditions. */
function collectNamed(condition: unknown, shared: YAMLMap | null, known: ReadonlySet<string> = new Set()) {
  let all = known;
  for (const reference of listPartsWith('condition', condition)) {
    const name = String(reference.get('condition'));
    if (!all.has(name)) all = collectNamed(shared?.get(name, true), shared, new Set([...all, name]));
  }
  return all;
}

function listRules(root: unknown): readonly YAMLMap[] {
  const rules = isMap(root) ? root.get('rules', true) : null;
  return isSeq(rules) ? rules.items.filter(isMap) : [];
}

function getParams(rule: YAMLMap): YAMLMap | null {
  return getMap(getMap(rule, 'event'), 'params');
}

function getMap(map: unknown, key: string): YAMLMap | null {
  const value = isMap(map) ? map.get(key, true) : null;
  return isMap(value) ? value : null;
}

function listKeys(map: YAMLMap | null): readonly string[] {
  return map?.items.map(({ key }) => String(key)) ?? [];
}
