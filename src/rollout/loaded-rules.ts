import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblems, listRuleVersions, loadRuleSet, RELEASE_FILE } from '../rules/folder/rule-folder.ts';
import type { RuleSet, RuleVersion } from '../rules/rule-set.ts';

/** A version folder that is refused: it decides nothing, and what was loaded before stays. */
export interface RefusedVersion {
  readonly version: RuleVersion;
  /** One line a problem, with file, line and column. */
  readonly problems: readonly string[];
}

/** No rule set can decide; the message says why and what to do. */
export class RulesError extends Error {
  override readonly name = 'RulesError';
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

  /** The released rule set to begin with: the wanted one, or the newest. Throws RulesError. */
  deciding(wanted: RuleVersion | null): RuleSet {
    const found = wanted === null ? this.all().findLast(({ released }) => released) : this.get(wanted);
    if (found?.released === true) return found;
    throw new RulesError(this.#whyNot(wanted, found?.version ?? null));
  }

  #whyNot(wanted: RuleVersion | null, draft: RuleVersion | null): string {
    const refused = this.refused().filter(({ version }) => wanted === null || version === wanted);
    if (refused.length > 0) {
      const names = refused.map(({ version }) => version).join(', ');
      const problems = refused.flatMap((folder) => folder.problems.map((line) => join(this.#rulesDir, line)));
      return `no rule set can decide; ${names} is not sound:\n${problems.join('\n')}`;
    }
    if (draft !== null)
      return `the rule set ${draft} is a draft; run "rules release ${draft}" before it may decide`;
    if (wanted !== null) {
      return `there is no rule set ${wanted} in ${this.#rulesDir}; set RULE_VERSION to one that is there, or RULES_DIR to its folder`;
    }
    return `there is no released rule set in ${this.#rulesDir}; set RULES_DIR to the folder of rule sets`;
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
