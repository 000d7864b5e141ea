import { runCases } from '../../authoring/cases/cases.ts';
import { prove } from '../../authoring/prove.ts';
import { withConstants } from '../../rules/folder/constant.ts';
import { draftOf, soundDraft } from '../../rules/folder/draft.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { shareUpperBound } from '../../statistics/intervals.ts';
import type { Evidence } from '../source/evidence.ts';
import {
  bestEdit,
  bestRule,
  blockingRule,
  conditionsOf,
  type Edit,
  editText,
  type FoundEdit,
  type FoundRule,
  type KnownOrders,
  type LearningOrders,
  ruleText,
  saysAllOf,
} from './rule-search.ts';
import {
  type ExampleCase,
  exampleCase,
  freeNames,
  freePriorities,
  type SuggestedRule,
  withRules,
} from './suggested-rule.ts';
import type { RejectedChange } from './suggestion.ts';

/** A change that fits the version and the candidates before it, with a case that shows it. */
export interface ProposedChange {
  readonly change: NamedChange;
  readonly example: ExampleCase;
  /** Names of the version's own cases that say otherwise: those that pin the constant which it changes. */
  readonly contradicts: readonly string[];
}

export interface FittingAsk {
  readonly version: string;
  /** Of the version as it is. */
  readonly files: RuleFiles;
  readonly present: RuleSet;
  readonly learned: LearningOrders;
  readonly edits: readonly Edit[];
  readonly signal?: AbortSignal;
}

interface Fitting {
  /** Whether the search found anything, fitting or not. */
  readonly found: boolean;
  readonly candidates: readonly ProposedChange[];
  readonly rejected: readonly RejectedChange[];
}

/** How often the search starts again because something that it found does not fit. */
const SEARCHES_MAX = 12;

/** Changes within a budget that fit into the version, each with a case. A change that does not fit is skipped. */
export async function fittingChanges(
  duck: Evidence['duck'],
  ask: FittingAsk,
  budget: number,
): Promise<Fitting> {
  const rejected: RejectedChange[] = [];
  const banned: BannedChange[] = [];
  for (let search = 1; ; search++) {
    const found = findChanges(ask.learned.orders, ask.edits, { budget, banned });
    const candidates: ProposedChange[] = [];
    const before = rejected.length;
    const named = namedChanges(ask.present, found);
    for (const [place, change] of found.entries()) {
      ask.signal?.throwIfAborted();
      const fitted = await fitOne(duck, ask, candidates, named[place]);
      if (fitted === null) continue;
      if ('example' in fitted) candidates.push(fitted);
      else {
        rejected.push(fitted);
        banned.push({ change, withNarrower: fitted.reason === NO_EXAMPLE });
      }
    }
    if (rejected.length === before || search === SEARCHES_MAX)
      return { found: found.length + rejected.length > 0, candidates, rejected };
  }
}

const NO_EXAMPLE = 'no short history of a single payer shows it, so there is no case for it';

async function fitOne(
  duck: Evidence['duck'],
  ask: FittingAsk,
  before: readonly ProposedChange[],
  change: NamedChange | undefined,
): Promise<ProposedChange | RejectedChange | null> {
  if (change === undefined) return null;
  const { version, files } = ask;
  const changed = withChanges(files, [...before.map((one) => one.change), change]);
  const draft = draftOf(version, changed);
  const reject = (reason: string) => ({
    change: change.kind === 'rule' ? ruleText(change.rule) : editText(change),
    reason,
  });
  if (!draft.ok) return reject(draft.problems.map(({ message }) => message).join('; '));
  const known = new Set(before.flatMap((one) => one.contradicts));
  const contradicts = failingCases(version, changed).filter((name) => !known.has(name));
  const [first] = contradicts;
  if (first !== undefined && change.kind === 'rule') return reject(`it contradicts the case "${first}"`);
  const finding = newFinding(ask, changed);
  if (finding !== null) return reject(finding);
  const mayFail = new Set([...known, ...contradicts]);
  const example = await firstExample(duck, ask, { before, changed, change, mayFail });
  return example === null ? reject(NO_EXAMPLE) : { change, example, contradicts };
}

/** The rules with names and priorities of their own, the first one found asked first. */
function namedChanges(present: RuleSet, found: readonly FoundChange[]): readonly NamedChange[] {
  const count = found.filter(({ kind }) => kind === 'rule').length;
  const [names, priorities] = [freeNames(present, count), freePriorities(present, count)];
  let place = 0;
  return found.map((change): NamedChange => {
    if (change.kind === 'edit') return change;
    const [name = '', priority = 0] = [names[place], priorities[place]];
    place++;
    return { kind: 'rule', name, priority, description: ruleText(change), rule: change };
  });
}

/** Problems that can be proved of the changed files and not of the original ones. */
function newFinding({ version, files, present }: FittingAsk, changed: RuleFiles): string | null {
  const known = new Set(prove(present, files).findings.map(({ message }) => message));
  const { findings } = prove(soundDraft(version, changed), changed);
  return findings.find(({ message }) => !known.has(message))?.message ?? null;
}

/** Names of cases that fail. */
function failingCases(version: string, files: RuleFiles): readonly string[] {
  return runCases(soundDraft(version, files), files).failures.map(({ caseName }) => caseName);
}

interface Shown {
  readonly before: readonly ProposedChange[];
  /** The files with it and those before it. */
  readonly changed: RuleFiles;
  readonly change: NamedChange;
  /** Cases that say otherwise. */
  readonly mayFail: ReadonlySet<string>;
}

/** The shortest one that holds together with the examples before it, and does not without the change. */
async function firstExample(
  duck: Evidence['duck'],
  ask: FittingAsk,
  { before, changed, change, mayFail }: Shown,
): Promise<ExampleCase | null> {
  const { version, files } = ask;
  const fails = (some: RuleFiles, examples: readonly ExampleCase[]) =>
    failingCases(version, withCases(some, examples)).filter((name) => !mayFail.has(name));
  const others = before.map(({ example }) => example);
  const isNew = (example: ExampleCase) =>
    change.kind === 'rule' || fails(files, [example]).includes(example.name);
  const examples = await examplesOf(duck, ask, change, soundDraft(version, changed));
  return (
    examples
      .toSorted((a, b) => a.steps - b.steps)
      .find((example) => fails(changed, [...others, example]).length === 0 && isNew(example)) ?? null
  );
}

/** Examples that are tried before a change is given up. */
const EXAMPLES_MAX = 12;

/** The histories of unpaying clients whose orders the change blocks. */
async function examplesOf(
  duck: Evidence['duck'],
  { version, files, learned: { orders, places, values } }: FittingAsk,
  change: NamedChange,
  rules: RuleSet,
): Promise<readonly ExampleCase[]> {
  const { matched } = change.kind === 'rule' ? change.rule : change;
  const shown = change.kind === 'rule' ? change.name : `${change.constant.path} of ${change.value}`;
  // An edit alone leaves the facts as they are, so that it can be asked about the values that were seen.
  const edited = soundDraft(version, change.kind === 'rule' ? files : withChanges(files, [change]));
  const examples: ExampleCase[] = [];
  for (const order of matched.filter((one) => orders.paid[one] === 0).slice(0, EXAMPLES_MAX)) {
    const rule = change.kind === 'rule' ? change.name : blockingRule(edited, values[order] ?? []);
    const place = places[order];
    if (place === undefined || rule === null) continue;
    const name = `${shown} blocks a payer like one who was seen`;
    const example = await exampleCase(duck, place, { name, rule, rules });
    if (example !== null) examples.push(example);
  }
  return examples;
}

/** A rule to be added, or a constant of a present rule to be changed. */
export type FoundChange = FoundRule | FoundEdit;

interface ChangeSearch {
  /** Share of all paid orders that the changes together may block, 0 to 1; its upper 95 % bound is kept to. */
  readonly budget: number;
  /** Changes that an earlier search found and that do not fit. */
  readonly banned: readonly BannedChange[];
}

export interface BannedChange {
  readonly change: FoundChange;
  /** A rule is banned with all that say the same and more; otherwise only where what they add changes nothing. */
  readonly withNarrower: boolean;
}

const CHANGES_MAX = 4;

/**
 * Changes that would block unpaid orders within a budget of paid ones, greedily: of all rules and edits the one that
 * stops most within the budget, then the next on what is left; of equals the edit, which leaves the version as small
 * as it was. After RIFF (Martins et al., RIFF: Inducing Rules for Fraud Detection from Decision Trees, arXiv
 * 2408.12989), which chooses rules by what they catch under a bound on false positives; here the upper confidence
 * bound of those.
 */
export function findChanges(
  orders: KnownOrders,
  edits: readonly Edit[],
  { budget, banned }: ChangeSearch,
): readonly FoundChange[] {
  const blocked = orders.blocked.slice();
  const conditions = conditionsOf(orders.features);
  const paidTotal = orders.paid.reduce((sum, paid) => sum + paid, 0);
  const found: FoundChange[] = [];
  // Each change spends its own upper bound: changes that met no paid order by chance are not free.
  let spent = 0;
  while (found.length < CHANGES_MAX) {
    const isAllowed = (change: FoundChange) =>
      spent + shareUpperBound(change.paid, paidTotal) <= budget && !isBanned(change, banned);
    const left = { ...orders, blocked };
    const edit = bestEdit(left, edits, found, isAllowed);
    const rule = bestRule(left, conditions, isAllowed);
    const best = edit !== null && edit.unpaid >= (rule?.unpaid ?? 0) ? edit : rule;
    if (best === null) break;
    found.push(best);
    spent += shareUpperBound(best.paid, paidTotal);
    for (const order of best.matched) blocked[order] = 1;
  }
  return found;
}

function isBanned(change: FoundChange, banned: readonly BannedChange[]): boolean {
  return banned.some(({ change: other, withNarrower }) => {
    if (change.kind === 'rule' && other.kind === 'rule')
      return saysAllOf(change, other) && (withNarrower || change.matched.length === other.matched.length);
    if (change.kind === 'rule' || other.kind === 'rule') return false;
    return change.constant.path === other.constant.path && change.value === other.value;
  });
}

/** A change as it is written into a draft. */
type NamedChange = SuggestedRule | FoundEdit;

/** The files with changed constants and further rules; all else stays as it is. */
export function withChanges(files: RuleFiles, changes: readonly NamedChange[]): RuleFiles {
  const edits = changes.flatMap((change) =>
    change.kind === 'edit' ? [[change.constant, change.value] as const] : [],
  );
  // Constants are found by their places in the text, so rules are added after them.
  return withRules(
    withConstants(files, edits),
    changes.flatMap((change) => (change.kind === 'rule' ? [change] : [])),
  );
}

/** The files with a file of cases that none of them has. */
export function withCases(files: RuleFiles, cases: readonly ExampleCase[]): RuleFiles {
  let name = 'cases/suggested.yaml';
  for (let number = 2; files.has(name); number++) name = `cases/suggested-${number}.yaml`;
  return new Map([...files, [name, caseFile(cases)]]);
}

function caseFile(cases: readonly ExampleCase[]): string {
  return [
    '# yaml-language-server: $schema=../../schema/cases.schema.json',
    '',
    '# One case for each suggested change, after what a payer did, with every name made up.',
    'cases:',
    cases.map(({ yaml }) => yaml).join('\n\n'),
    '',
  ].join('\n');
}
