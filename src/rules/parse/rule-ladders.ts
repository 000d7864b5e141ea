import type { Node } from 'yaml';
import type { LadderSettings } from '../../client/ladder.ts';
import { comparisonsIn } from '../condition.ts';
import { formatDuration } from '../duration.ts';
import { type Problem, suggest } from '../problem.ts';
import { Reasoner, type WorkLimits } from '../proof/reasoner.ts';
import { compare, FactsByName, type KnownRules, knowledgeOf } from '../proof/relations.ts';
import { type Holdout, isName, type ParsedRules, type Rule, type WrittenLadder } from '../rule-set.ts';
import { type Members, NO_MEMBERS, optional, readAmounts, type YamlFile } from './yaml-file.ts';

export const LADDER_LEVELS_MAX = 20;

const LADDERS_MAX = 20;

/** A payer who is told to come back in a year is blocked, which is another verdict. */
export const LADDER_MS_MAX = 365 * 24 * 3600_000;

type NamedLadders = WrittenLadder['ladders'];

/** The ladders of a rule set: the one without a name, and those that rules name. */
export class RuleLadders {
  /** By name, how to report that nobody uses it; null as long as `ladder.yaml` is not read or not sound. */
  #named: ReadonlyMap<string, () => void> | null = null;
  #ladders: NamedLadders = {};
  #levelsAt: WrittenLadder['levelsAt'] = {};
  readonly #used = new Set<string>();

  read(file: YamlFile): WrittenLadder | null {
    const members = file.members(file.root, 'the ladder', MEMBERS, REQUIRED);
    const named = namedIn(file, members);
    const own = readNamed(file, named, null);
    const ladder = readLadder(file, members, own);
    if (own === null) return null;
    this.#ladders = own;
    this.#levelsAt = levelsAt(file, named);
    this.#named = new Map(
      [...(named ?? [])].map(([name, { key }]) => [
        name,
        () => file.report(key, `no rule names the ladder "${name}"; name it in a WAIT rule, or remove it`),
      ]),
    );
    return ladder === null
      ? null
      : { ...ladder, levelsAt: { ...this.#levelsAt, ...unnamedAt(file, members) } };
  }

  /** Reads a platform's own ladder, and the named ones that it overrides. */
  readOwn(file: YamlFile, node: Node): WrittenLadder | null {
    const members = file.members(node, 'the ladder', MEMBERS, REQUIRED);
    const known = this.#named === null ? null : [...this.#named.keys()];
    const named = namedIn(file, members);
    const own = readNamed(file, named, known);
    const ladder = readLadder(file, members, own === null ? null : { ...this.#ladders, ...own });
    if (ladder === null) return null;
    const places = { ...this.#levelsAt, ...levelsAt(file, named), ...unnamedAt(file, members) };
    return { ...ladder, levelsAt: places };
  }

  /** Reads the name of a ladder as a rule has it. */
  use(file: YamlFile, node: Node): string | null {
    const name = file.text(node, 'ladder');
    if (name === null || this.#named === null) return name;
    this.#used.add(name);
    if (this.#named.has(name)) return name;
    const known = [...this.#named.keys()];
    const hint = known.length === 0 ? '; ladder.yaml has no "ladders:"' : suggest(name, known);
    return file.report(node, `unknown ladder "${name}"${hint}`);
  }

  /** Asked once all rules are read. */
  refuseUnused(): void {
    for (const [name, report] of this.#named ?? []) if (!this.#used.has(name)) report();
  }
}

const REQUIRED = ['levels', 'resetAfter'];
const MEMBERS = [...REQUIRED, 'ladders'];

/** What stands under `ladders:`; null when that is not a mapping, or has too many entries. */
function namedIn(file: YamlFile, members: Members | null): Members | null {
  const node = members?.get('ladders')?.value;
  if (node === undefined) return NO_MEMBERS;
  const named = file.anyMembers(node, '"ladders"');
  if (named === null || named.size <= LADDERS_MAX) return named;
  return file.report(node, `at most ${LADDERS_MAX} ladders have names, not ${named.size}`);
}

/** `known` are the names that a platform may have different; null leaves them open. */
function readNamed(
  file: YamlFile,
  members: Members | null,
  known: readonly string[] | null,
): NamedLadders | null {
  if (members === null) return null;
  const ladders: Record<string, readonly number[]> = {};
  let sound = true;
  for (const [name, { key, value }] of members) {
    const levelsMs = readLevels(file, value, `the ladder "${name}"`);
    if (!isName(name)) {
      file.report(
        key,
        `the name of a ladder has lower-case words joined by "-", like patient, unlike "${name}"`,
      );
      sound = false;
    } else if (known !== null && !known.includes(name)) {
      file.report(
        key,
        `ladder.yaml has no ladder "${name}"${known.length === 0 ? '' : suggest(name, known)}`,
      );
      sound = false;
    } else if (levelsMs === null) sound = false;
    else ladders[name] = levelsMs;
  }
  return sound ? ladders : null;
}

function readLadder(
  file: YamlFile,
  members: Members | null,
  ladders: NamedLadders | null,
): LadderSettings | null {
  const levelsMs = optional(members?.get('levels'), (value) => readLevels(file, value, 'levels'));
  const reset = members?.get('resetAfter');
  const resetAfterMs = optional(reset, (value) => readLadderDuration(file, value, 'resetAfter'));
  if (reset === undefined || resetAfterMs === null || levelsMs === null || ladders === null) return null;
  const tops = [['', levelsMs] as const, ...Object.entries(ladders)].map(([name, levels]) => ({
    of: name === '' ? '' : ` of the ladder "${name}"`,
    waitMs: levels.at(-1) ?? 0,
  }));
  const longest = tops.toSorted((a, b) => b.waitMs - a.waitMs)[0];
  if (longest !== undefined && resetAfterMs <= longest.waitMs) {
    return file.report(
      reset.value,
      `resetAfter must be longer than the longest wait, ${formatDuration(longest.waitMs)}${longest.of}; otherwise leaving would be shorter than waiting`,
    );
  }
  return { levelsMs, ladders, resetAfterMs };
}

function readLevels(file: YamlFile, node: Node, what: string): readonly number[] | null {
  const items = file.items(node, what);
  if (items === null) return null;
  if (items.length > LADDER_LEVELS_MAX) {
    return file.report(node, `a ladder has at most ${LADDER_LEVELS_MAX} levels, not ${items.length}`);
  }
  const levelsMs: number[] = [];
  for (const item of items) {
    const levelMs = readLadderDuration(file, item, 'a level');
    if (levelMs === null) return null;
    const below = levelsMs.at(-1);
    if (below !== undefined && levelMs <= below) {
      return file.report(
        item,
        `level ${levelsMs.length + 1} (${formatDuration(levelMs)}) must be longer than level ${levelsMs.length} (${formatDuration(below)})`,
      );
    }
    levelsMs.push(levelMs);
  }
  return levelsMs;
}

/** Where the levels of each ladder are written. */
function levelsAt(file: YamlFile, ladders: Members | null): WrittenLadder['levelsAt'] {
  const levels = [...(ladders ?? [])].map(([name, { value }]) => [name, file.items(value, name)] as const);
  return Object.fromEntries(
    levels.map(([name, items]) => [name, (items ?? []).map((item) => file.at(item))]),
  );
}

function unnamedAt(file: YamlFile, members: Members | null): WrittenLadder['levelsAt'] {
  const levels = members?.get('levels');
  return levels === undefined ? {} : levelsAt(file, new Map([['', levels]]));
}

function readLadderDuration(file: YamlFile, node: Node, what: string): number | null {
  const ms = file.duration(node, what);
  if (ms === null || ms <= LADDER_MS_MAX) return ms;
  return file.report(
    node,
    `${what} must be at most ${formatDuration(LADDER_MS_MAX)}, not ${formatDuration(ms)}`,
  );
}

/** `2%`, `0.5%`: at most two digits on either side of the point. */
export const HOLDOUT_PATTERN = '^(0|[1-9][0-9]?)(\\.[0-9]{1,2})?%$';

const HOLDOUT = new RegExp(HOLDOUT_PATTERN);

/** The largest share of the clients that may go without a rule: the others pay for what they teach. */
const HOLDOUT_SHARE_MAX = 0.5;

/** How many steps of proof the check of holdouts may take at loading. */
const REFUSAL_LIMITS: WorkLimits = { questionStepsMax: 200_000, totalStepsMax: 1_000_000 };

/** Reads `holdout` and `holdoutMaxAmount` of a rule; undefined when it has none, null when they are not sound. */
export function readHoldout(file: YamlFile, members: Members): Holdout | null | undefined {
  const holdout = members.get('holdout');
  const maxAmount = members.get('holdoutMaxAmount');
  if (holdout === undefined) {
    if (maxAmount === undefined) return undefined;
    return file.report(
      maxAmount.key,
      'holdoutMaxAmount bounds a holdout, and the rule has none; add holdout: 2%',
    );
  }
  const share = readShare(file, holdout.value);
  const maxAmounts = maxAmount === undefined ? {} : readMaxAmounts(file, maxAmount.value);
  if (share === null || maxAmounts === null) return null;
  return { share, maxAmounts: maxAmount === undefined ? null : maxAmounts, at: file.at(holdout.key) };
}

function readShare(file: YamlFile, node: Node): number | null {
  const text = file.text(node, 'holdout');
  if (text === null) return null;
  const share = HOLDOUT.test(text) ? Math.round(Number(text.slice(0, -1)) * 100) / 10_000 : 0;
  if (share > 0 && share <= HOLDOUT_SHARE_MAX) return share;
  return file.report(
    node,
    `holdout must be a share of the clients above 0% and up to ${HOLDOUT_SHARE_MAX * 100}%, like 2% or 0.5%, not "${text}"`,
  );
}

function readMaxAmounts(file: YamlFile, node: Node): Readonly<Record<string, number>> | null {
  const amounts = readAmounts(file, node, 'holdoutMaxAmount', 'holdoutMaxAmount');
  if (amounts === null) return null;
  if (amounts.size > 0) {
    return Object.fromEntries([...amounts].map(([currency, amount]) => [currency, Number(amount)]));
  }
  return file.report(
    node,
    'holdoutMaxAmount names no currency; write the most in each, like { EUR: "100.00" }',
  );
}

/**
 * A rule that only matches clients whom a person decided about, or who are on a list, repeats what people decided. Nobody is
 * held out of that.
 */
export function refuseHoldouts(rules: KnownRules & Pick<ParsedRules, 'verdicts'>): readonly Problem[] {
  const refuse = (some: readonly Rule<unknown>[], moment: 'any request' | 'a verdict') => {
    const holding = some.filter(({ holdout }) => holdout !== undefined);
    if (holding.length === 0) return [];
    const reasoner = new Reasoner(knowledgeOf(rules, moment), REFUSAL_LIMITS);
    return holding.flatMap((rule) => whyNoHoldout(rule, rules, reasoner));
  };
  return [
    ...refuse([...rules.groups.rules, ...rules.signals.rules], 'any request'),
    ...refuse(rules.verdicts.rules, 'a verdict'),
  ];
}

function whyNoHoldout(
  { name, condition, holdout }: Rule<unknown>,
  { facts }: KnownRules,
  reasoner: Reasoner,
): readonly Problem[] {
  if (holdout === undefined) return [];
  const byName = new FactsByName(facts);
  const undecided = compare(byName.plain('overrideGroup'), 'equal', 'NONE');
  const unlisted = facts
    .filter(({ fact }) => fact.kind === 'listed')
    .map((ref) => compare(ref, 'equal', false));
  const named = comparisonsIn([condition]).filter(
    ({ list, operator }) => list !== undefined && operator === 'in',
  );
  if (reasoner.find([condition]).kind === 'none') return [];
  if (reasoner.find([condition, undecided, ...unlisted], named).kind !== 'none') return [];
  const message = `"${name}" may have no holdout: it only matches whom a person decided about or who is on a list; put the holdout on the rule that counts`;
  return [{ at: holdout.at, message }];
}
