import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeOwnFolder } from '../../files/own-folder.ts';
import { loadRuleSet, RELEASE_FILE, readRuleFiles } from '../../rules/folder/rule-folder.ts';
import type { RuleSet, RuleVersion } from '../../rules/rule-set.ts';

/**
 * The rule sets that decided, by digest, beside the decisions: old rows re-derive when the folder in RULES_DIR is
 * long gone. A rule set that lies nowhere any more when its first decision is shipped cannot be kept; what
 * re-derives decisions counts those.
 */
export class RuleSetShelf {
  readonly #folder: string;
  readonly #rulesDir: string | null;
  readonly #kept = new Set<string>();

  /** `rulesDir`: where rule sets lie that may have to be kept; null for reading only. */
  constructor(archiveDir: string, rulesDir: string | null) {
    this.#folder = join(archiveDir, 'rule-sets');
    this.#rulesDir = rulesDir;
  }

  /** Copies the folder of a version, when it still has this digest and is not kept yet. */
  keep(version: RuleVersion, digest: string): void {
    if (this.#kept.has(digest)) return;
    const place = this.#placeOf(version, digest);
    if (!existsSync(place) && this.#rulesDir !== null) {
      const source = join(this.#rulesDir, version);
      const found = loadRuleSet(source);
      if (!found.ok || found.ruleSet.digest !== digest) return;
      copyRuleFolder(source, place);
    }
    this.#kept.add(digest);
  }

  /** The rule set that decided; null when it was not kept. */
  get(version: RuleVersion, digest: string): RuleSet | null {
    const found = loadRuleSet(this.#placeOf(version, digest));
    return found.ok && found.ruleSet.digest === digest ? found.ruleSet : null;
  }

  #placeOf(version: RuleVersion, digest: string): string {
    return join(this.#folder, digest, version);
  }
}

/** The files that make up the rule set; whole or not at all. */
function copyRuleFolder(source: string, place: string): void {
  const draft = `${dirname(place)}.draft`;
  const inner = join(draft, 'files');
  rmSync(draft, { recursive: true, force: true });
  const files = [...(readRuleFiles(source, []) ?? new Map()).keys(), RELEASE_FILE];
  for (const file of files) {
    if (!existsSync(join(source, file))) continue;
    makeOwnFolder(dirname(join(inner, file)));
    copyFileSync(join(source, file), join(inner, file));
    chmodSync(join(inner, file), 0o600);
  }
  makeOwnFolder(dirname(place));
  renameSync(inner, place);
  rmSync(draft, { recursive: true, force: true });
}
