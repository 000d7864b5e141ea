import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { count, list, named, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import type { StoredEntry } from '#checkout/lists/list-entry.ts';
import type { SharedListsCopy } from '#checkout/lists/list-node.ts';
import { type Comparison, listComparisons } from '#decision/rules/condition.ts';
import { formatSharedListNames } from '#decision/rules/condition-text.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { findNearestName, type RuleProblem, sortProblems } from '#decision/rules/problem.ts';
import type { PromiseBreach } from '#decision/rules/promises.ts';
import type { ExampleFacts } from '#decision/rules/proof/example.ts';
import {
  compareRuleVersions,
  hasDraftName,
  listConditions,
  type ParsedRules,
  type RuleSet,
  type RuleVersion,
  ruleVersionSchema,
} from '#decision/rules/rule-set.ts';
import { listShortenedFileProblems } from '#decision/rules/text/own-part.ts';
import type { ListContent, ListOwner } from '#decision/shared-lists.ts';
import { createRelease, type Release } from '#state/rule-folders/release.ts';
import { loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { listRuleVersions, RELEASE_FILE } from '#state/rule-folders/rules-dir.ts';
import { analyzeRules } from '#workbench/authoring/analyze-rules.ts';
import { listCaseValuesUnknownToRules } from '#workbench/authoring/cases/case-remarks.ts';
import { runCases } from '#workbench/authoring/cases/cases.ts';
import { parseCases } from '#workbench/authoring/cases/parse-cases.ts';
import { findBrokenPromises } from '#workbench/authoring/promises.ts';

/** A remark about a rule set. It may have an example payer, and the promise that the rule set breaks. */
export type RuleRemark = RuleProblem & {
  readonly example?: ExampleFacts | null;
  readonly promise?: PromiseBreach;
};

interface Examined {
  readonly problems: readonly RuleRemark[];
  /** Remarks that are worth knowing, but no reason to fail. */
  readonly notes: readonly RuleRemark[];
}

/**
 * Examines a rule set whose files have no problems. It examines the rules together, the promises, the shared lists,
 * and whether the cases can be read. `lists` are the shared lists of a store. `lists` is null if no store was read.
 */
export function examineRuleSet(
  ruleSet: RuleSet,
  files: RuleFiles,
  lists: VisibleSharedLists | null,
): Examined {
  const caseProblems: RuleProblem[] = [];
  parseCases(ruleSet, files, caseProblems);
  const { findings, notes } = analyzeRules(ruleSet, files);
  const remarks = [
    ...notes,
    ...findBrokenPromises(ruleSet, files),
    ...listSharedListRemarks(ruleSet, lists),
    ...listCaseValuesUnknownToRules(ruleSet, files),
  ];
  return { problems: sortProblems([...findings, ...caseProblems]), notes: sortProblems(remarks) };
}

/** Lists the messages of the remarks that are about broken promises. */
export function listBrokenPromiseMessages(remarks: readonly RuleRemark[]): readonly string[] {
  return remarks.filter(({ promise }) => promise !== undefined).map(({ message }) => message);
}

/**
 * The shared lists that a viewer may know of. A platform may know its own lists and those of the installation. The
 * installation may know all lists.
 */
export interface VisibleSharedLists {
  readonly seenBy: ListOwner;
  /** The lists with entries. A list is in force if some entry has not ended. */
  readonly lists: readonly KnownList[];
}

interface KnownList extends Pick<ListContent, 'attribute'> {
  readonly name: string;
  readonly isInForce: boolean;
}

/** Selects the lists that have entries and that `seenBy` may know of, from a copy of all shared lists. */
export function selectVisibleSharedLists(
  copy: SharedListsCopy,
  now: number,
  seenBy: ListOwner,
): VisibleSharedLists {
  const isSeen = ({ owner }: StoredEntry) =>
    seenBy === INSTALLATION_PLATFORM || [seenBy, INSTALLATION_PLATFORM].includes(owner);
  const isInForce = ({ expiresAt }: StoredEntry) => expiresAt === null || expiresAt > now;
  const lists = copy.listAllLists().flatMap((entries) => {
    const [first] = entries.values();
    if (first === undefined || !isSeen(first)) return [];
    return [{ name: first.list, attribute: first.attribute, isInForce: entries.values().some(isInForce) }];
  });
  return { seenBy, lists };
}

/**
 * Remarks on shared lists that rules ask about and that have no effect yet, for example because they have no entries.
 * If the lists were not read, `known` is null and a single remark says so.
 */
export function listSharedListRemarks(
  rules: ParsedRules,
  known: VisibleSharedLists | null,
): readonly RuleProblem[] {
  const asked = findAskedLists(rules);
  const [first] = asked.values();
  if (first === undefined) return [];
  if (known !== null)
    return [...asked].flatMap(([list, { at }]) => listRemarksOnList(list, known, at, rules));
  const which = formatSharedListNames([...asked.keys()]);
  return [
    {
      at: first.at,
      message: `it is not known without the store whether anything is on ${which}; --lists looks there`,
    },
  ];
}

/** Finds the shared lists that rules ask about, each with the first comparison about it. */
function findAskedLists(rules: ParsedRules): ReadonlyMap<string, Comparison> {
  const asked = new Map<string, Comparison>();
  for (const comparison of listComparisons(listConditions(rules))) {
    const { list } = comparison.fact;
    if (list !== undefined && !asked.has(list)) asked.set(list, comparison);
  }
  return asked;
}

function listRemarksOnList(
  list: string,
  { seenBy, lists }: VisibleSharedLists,
  at: RuleProblem['at'],
  { attributes }: Pick<ParsedRules, 'attributes'>,
): readonly RuleProblem[] {
  const known = lists.filter(({ name }) => name === list);
  const inForce = known.filter(({ isInForce }) => isInForce);
  const isRead = ({ attribute }: KnownList) => attribute === null || attributes.has(attribute);
  if (inForce.some(isRead)) return [];
  const [unread] = inForce;
  if (unread !== undefined) {
    const message = `the shared list "${list}" holds values of the attribute "${unread.attribute}", which ruleset.yaml does not declare, so nobody is on it`;
    return [{ at, message }];
  }
  if (known.length > 0)
    return [{ at, message: `every entry of the shared list "${list}" has ended, so nobody is on it` }];
  const nearest = findNearestName(
    list,
    lists.map(({ name }) => name),
  );
  const meant = nearest === null ? '' : `; did you mean "${nearest}"?`;
  const nobody =
    seenBy === INSTALLATION_PLATFORM ? 'no platform has' : `neither ${seenBy} nor the installation has`;
  return [{ at, message: `${nobody} anything on the shared list "${list}"${meant}` }];
}

/** The reason that prevents a release. After a release nothing can be corrected. */
export type ReleaseObstacle =
  | { readonly is: 'draft name' }
  | { readonly is: 'released' }
  | { readonly is: 'findings'; readonly problems: readonly RuleRemark[] }
  | { readonly is: 'no cases' }
  | { readonly is: 'failed cases'; readonly failed: number };

/** Finds the reason that prevents the release of the version in a folder. Returns null if it may be released. */
export function findReleaseObstacle(
  folder: string,
  rules: RuleSet,
  files: RuleFiles,
): ReleaseObstacle | null {
  if (hasDraftName(rules.version)) return { is: 'draft name' };
  if (existsSync(join(folder, RELEASE_FILE))) return { is: 'released' };
  const { problems } = examineRuleSet(rules, files, null);
  return findProblemOrCaseObstacle([...listShortenedFileProblems(files), ...problems], () => {
    const { passed, failures } = runCases(rules, files);
    return { passed, failed: failures.length };
  });
}

/**
 * Finds the reason that prevents a release: the problems of a version, or otherwise its cases, which are run only if
 * there are no problems. Returns null if nothing prevents it.
 */
export function findProblemOrCaseObstacle(
  problems: readonly RuleRemark[],
  runCases: () => { readonly passed: number; readonly failed: number },
): ReleaseObstacle | null {
  if (problems.length > 0) return { is: 'findings', problems };
  const { passed, failed } = runCases();
  if (passed + failed === 0) return { is: 'no cases' };
  return failed > 0 ? { is: 'failed cases', failed } : null;
}

const LostCasesSchema = named(
  'LostCases',
  shape('Cases of the version that was released before one, and that this has no more', {
    before: ruleVersionSchema,
    of: count('How many cases that one has'),
    names: list(plainText('The name of a case'), 'Those that are missing, by their names'),
  }),
);

export type LostCases = ValueOf<typeof LostCasesSchema>;

export const LostCasesOrNullSchema = nullable(LostCasesSchema);

/**
 * Finds the cases that the version in a folder lacks, compared with the version released before it. `seen` reduces
 * the files of that version to those that may be shown. Returns null if no case is missing.
 */
export function findLostCases(
  folder: string,
  rules: RuleSet,
  files: RuleFiles,
  seen = (all: RuleFiles) => all,
): LostCases | null {
  const former = findReleasedBefore(folder, rules.version);
  if (former === null) return null;
  const formerNames = listCaseNames(
    former,
    seen(readRuleFiles(join(dirname(folder), former.version), []) ?? new Map()),
  );
  const kept = new Set(listCaseNames(rules, files));
  const names = formerNames.filter((name) => !kept.has(name));
  return names.length === 0 ? null : { before: former.version, of: formerNames.length, names };
}

function findReleasedBefore(folder: string, version: RuleVersion): RuleSet | null {
  for (const one of listRuleVersions(dirname(folder)).toReversed()) {
    if (compareRuleVersions(one, version) >= 0) continue;
    const loaded = loadRuleSet(join(dirname(folder), one));
    if (loaded.ok && loaded.ruleSet.released) return loaded.ruleSet;
  }
  return null;
}

function listCaseNames(rules: RuleSet, files: RuleFiles): readonly string[] {
  return parseCases(rules, files, []).map(({ name }) => name);
}

const NAMES_SHOWN = 5;

export function formatLostCases({ before, of, names }: LostCases): string {
  const shown = names.slice(0, NAMES_SHOWN).map((name) => `"${name}"`);
  const others = names.length - shown.length;
  const listed = [...shown, ...(others > 0 ? [`and ${others} more`] : [])].join(', ');
  return `${names.length} of the ${of} cases of ${before}, the version released before, are missing: ${listed}`;
}

/** Releases a version for good. From then on, changed files are refused. */
export function writeRelease(folder: string, { version }: RuleSet, files: RuleFiles): Release {
  const release = createRelease(version, files, new Date());
  writeFileSync(join(folder, RELEASE_FILE), `${JSON.stringify(release, null, 2)}\n`, { flag: 'wx' });
  return release;
}
