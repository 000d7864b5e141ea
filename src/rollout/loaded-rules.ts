import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblems, listRuleVersions, loadRuleSet, RELEASE_FILE } from '../rules/library.ts';
import type { RuleSet, RuleVersion } from '../rules/rule-set.ts';

/** A version folder that is refused: it decides nothing, and what was loaded before stays. */
export interface RefusedVersion {
  readonly version: RuleVersion;
  /** One line a problem, with file, line and column. */
  readonly problems: readonly string[];
}

interface Folder {
  /** Changes whenever a file of the folder does. */
  readonly stamp: string;
  readonly problems: readonly string[];
}

/**
 * The rule sets of this node's RULES_DIR. `refresh` picks up new and changed folders without a restart.
 * Every digest that was once loaded stays, so that its decisions can be explained and nothing that is
 * deciding can vanish from under it.
 */
export class LoadedRules {
  readonly #rulesDir: string;
  readonly #folders = new Map<RuleVersion, Folder>();
  readonly #current = new Map<RuleVersion, RuleSet>();
  readonly #byDigest = new Map<string, RuleSet>();

  constructor(rulesDir: string) {
    this.#rulesDir = rulesDir;
    this.refresh();
  }

  /** Gives the versions whose loading changed something. */
  refresh(): readonly RuleVersion[] {
    if (!existsSync(this.#rulesDir)) return [];
    const versions = listRuleVersions(this.#rulesDir);
    for (const version of this.#folders.keys()) if (!versions.includes(version)) this.#forget(version);
    return versions.filter((version) => this.#refreshFolder(version));
  }

  /** The rule set that lies in the folder of this version now, when it is sound. */
  get(version: string): RuleSet | null {
    return [...this.#current.values()].find((rules) => rules.version === version) ?? null;
  }

  withDigest(digest: string): RuleSet | null {
    return this.#byDigest.get(digest) ?? null;
  }

  all(): readonly RuleSet[] {
    return [...this.#current.values()];
  }

  refused(): readonly RefusedVersion[] {
    return [...this.#folders]
      .filter(([, { problems }]) => problems.length > 0)
      .map(([version, { problems }]) => ({ version, problems }));
  }

  /** The newest version with a release.json that is sound. */
  newestReleased(): RuleSet | null {
    return this.all().findLast(({ released }) => released) ?? null;
  }

  #refreshFolder(version: RuleVersion): boolean {
    const folder = join(this.#rulesDir, version);
    const stamp = stampOf(folder);
    if (this.#folders.get(version)?.stamp === stamp) return false;
    const result = loadRuleSet(folder);
    const problems = result.ok ? [] : formatProblems(version, result.problems).split('\n');
    this.#folders.set(version, { stamp, problems });
    if (!result.ok) {
      this.#current.delete(version);
      return true;
    }
    this.#current.set(version, result.ruleSet);
    this.#byDigest.set(result.ruleSet.digest, result.ruleSet);
    return true;
  }

  #forget(version: RuleVersion): void {
    this.#folders.delete(version);
    this.#current.delete(version);
  }
}

/** Names, sizes and times of all files: cheap enough to look at every second. */
function stampOf(folder: string): string {
  return [folder, join(folder, 'cases')]
    .filter((path) => existsSync(path))
    .flatMap((path) =>
      readdirSync(path)
        .filter((name) => name.endsWith('.yaml') || name.endsWith('.yml') || name === RELEASE_FILE)
        .map((name) => {
          const stat = statSync(join(path, name), { throwIfNoEntry: false });
          return `${path}/${name} ${stat?.size} ${stat?.mtimeMs}`;
        }),
    )
    .join('\n');
}
