import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRelease, type Release } from '../../rules/folder/release.ts';
import { RELEASE_FILE } from '../../rules/folder/rule-folder.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { hasDraftName, type RuleSet } from '../../rules/rule-set.ts';
import { runCases } from '../cases/cases.ts';
import { examine, type Remark } from './examine.ts';

/** What stands in the way of a release: afterwards nothing can be mended. */
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

/** Fixes a version for good: from then on a changed file is refused. */
export function writeRelease(folder: string, { version }: RuleSet, files: RuleFiles): Release {
  const release = makeRelease(version, files, new Date());
  writeFileSync(join(folder, RELEASE_FILE), `${JSON.stringify(release, null, 2)}\n`, { flag: 'wx' });
  return release;
}
