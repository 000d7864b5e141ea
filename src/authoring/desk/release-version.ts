import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeRelease, type Release } from '../../rules/folder/release.ts';
import {
  compareRuleVersions,
  listRuleVersions,
  loadRuleSet,
  RELEASE_FILE,
  readRuleFiles,
} from '../../rules/folder/rule-folder.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { hasDraftName, type RuleSet, type RuleVersion, ruleVersion } from '../../rules/rule-set.ts';
import { count, list, named, nullable, type Shape, shape, word } from '../../shapes.ts';
import { runCases } from '../cases/cases.ts';
import { parseCases } from '../cases/parse-cases.ts';
import { examine, type Remark } from './examine.ts';

/** What prevents a release: afterwards nothing can be mended. */
export type ReleaseObstacle =
  | { readonly is: 'draft name' }
  | { readonly is: 'released' }
  | { readonly is: 'findings'; readonly problems: readonly Remark[] }
  | { readonly is: 'no cases' }
  | { readonly is: 'failed cases'; readonly failed: number };

/** Null when the version in a folder may be released. */
export function releaseObstacle(folder: string, rules: RuleSet, files: RuleFiles): ReleaseObstacle | null {
  if (hasDraftName(rules.version)) return { is: 'draft name' };
  if (existsSync(join(folder, RELEASE_FILE))) return { is: 'released' };
  const { problems } = examine(rules, files, null);
  if (problems.length > 0) return { is: 'findings', problems };
  const { passed, failures } = runCases(rules, files);
  if (passed + failures.length === 0) return { is: 'no cases' };
  return failures.length > 0 ? { is: 'failed cases', failed: failures.length } : null;
}

const LostCasesSchema = named(
  'LostCases',
  shape('Cases of the version that was released before one, and that this has no more', {
    before: ruleVersion,
    of: count('How many cases that one has'),
    names: list(word('The name of a case'), 'Those that are missing, by their names'),
  }),
);

export type LostCases = Shape<typeof LostCasesSchema>;

export const lostCasesMember = nullable(LostCasesSchema);

/**
 * What the version in a folder lost of the cases of the version released before it, of which `seen` gives what may be
 * told; null where there is nothing to say.
 */
export function lostCases(
  folder: string,
  rules: RuleSet,
  files: RuleFiles,
  seen = (all: RuleFiles) => all,
): LostCases | null {
  const former = releasedBefore(folder, rules.version);
  if (former === null) return null;
  const formerNames = caseNames(
    former,
    seen(readRuleFiles(join(dirname(folder), former.version), []) ?? new Map()),
  );
  const kept = new Set(caseNames(rules, files));
  const names = formerNames.filter((name) => !kept.has(name));
  return names.length === 0 ? null : { before: former.version, of: formerNames.length, names };
}

function releasedBefore(folder: string, version: RuleVersion): RuleSet | null {
  for (const one of listRuleVersions(dirname(folder)).toReversed()) {
    if (compareRuleVersions(one, version) >= 0) continue;
    const loaded = loadRuleSet(join(dirname(folder), one));
    if (loaded.ok && loaded.ruleSet.released) return loaded.ruleSet;
  }
  return null;
}

function caseNames(rules: RuleSet, files: RuleFiles): readonly string[] {
  return parseCases(rules, files, []).map(({ name }) => name);
}

const NAMES_SHOWN = 5;

/** For people. */
export function lostCasesText({ before, of, names }: LostCases): string {
  const shown = names.slice(0, NAMES_SHOWN).map((name) => `"${name}"`);
  const others = names.length - shown.length;
  const listed = [...shown, ...(others > 0 ? [`and ${others} more`] : [])].join(', ');
  return `${names.length} of the ${of} cases of ${before}, which was released before it, are not in it: ${listed}`;
}

/** Fixes a version for good: from then on a changed file is refused. */
export function writeRelease(folder: string, { version }: RuleSet, files: RuleFiles): Release {
  const release = makeRelease(version, files, new Date());
  writeFileSync(join(folder, RELEASE_FILE), `${JSON.stringify(release, null, 2)}\n`, { flag: 'wx' });
  return release;
}
