import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import { type AttributePseudonymizer, NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { compileWithOtherHmacs } from '#decision/rules/evaluate/compile.ts';
import type { RuleSet, RuleVersion } from '#decision/rules/rule-set.ts';
import { RULE_SETS_FOLDER } from '#history/archive/archive-home.ts';
import { loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { RELEASE_FILE } from '#state/rule-folders/rules-dir.ts';

/**
 * The rule sets of the archived decisions, by digest. With them, old decisions can be decided again after the folder
 * of their rule set is gone from RULES_DIR. If that folder is already gone when the first decision is shipped, the
 * rule set cannot be kept. Programs that decide again say how many decisions have no rule set.
 */
export class ArchivedRuleSets {
  readonly #folder: string;
  readonly #rulesDir: string | null;
  readonly #hmacs: AttributePseudonymizer;
  readonly #kept = new Set<string>();

  /**
   * `rulesDir` is the folder from which rule sets are copied. It is null if rule sets are only read. `hmacs` makes
   * the HMACs of the constants in rules, so that they can be compared with the pseudonyms in decisions. Only programs
   * that run the rules need it.
   */
  constructor(
    archiveDir: string,
    rulesDir: string | null,
    hmacs: AttributePseudonymizer = NO_ATTRIBUTE_PSEUDONYMIZER,
  ) {
    this.#hmacs = hmacs;
    this.#folder = join(archiveDir, RULE_SETS_FOLDER);
    this.#rulesDir = rulesDir;
  }

  /**
   * Copies the folder of a version if it has this digest and is not kept yet. Returns the paths of its files the
   * first time, and no paths later.
   */
  keep(version: RuleVersion, digest: string): readonly string[] {
    if (this.#kept.has(digest)) return [];
    const place = this.#getPlace(version, digest);
    if (!existsSync(place) && this.#rulesDir !== null) {
      const source = join(this.#rulesDir, version);
      const found = loadRuleSet(source);
      if (!found.ok || found.ruleSet.digest !== digest) return [];
      copyRuleFolder(source, place);
    }
    this.#kept.add(digest);
    const below = `${RULE_SETS_FOLDER}/${digest}/${version}`;
    return listFiles(place).map((file) => `${below}/${file}`);
  }

  /** Returns the rule set that decided. Returns null if it was not kept. */
  get(version: RuleVersion, digest: string): RuleSet | null {
    const found = loadRuleSet(this.#getPlace(version, digest));
    return found.ok && found.ruleSet.digest === digest
      ? compileWithOtherHmacs(found.ruleSet, this.#hmacs)
      : null;
  }

  #getPlace(version: RuleVersion, digest: string): string {
    return join(this.#folder, digest, version);
  }
}

function listFiles(folder: string): readonly string[] {
  const files = [...(readRuleFiles(folder, []) ?? new Map<string, string>()).keys(), RELEASE_FILE];
  return files.filter((file) => existsSync(join(folder, file)));
}

/** Copies the files of a rule set. The copy is there completely or not at all. */
function copyRuleFolder(source: string, place: string): void {
  const draft = `${dirname(place)}.draft`;
  const inner = join(draft, 'files');
  rmSync(draft, { recursive: true, force: true });
  for (const file of listFiles(source)) {
    makeOwnFolder(dirname(join(inner, file)));
    copyFileSync(join(source, file), join(inner, file));
    chmodSync(join(inner, file), 0o600);
  }
  makeOwnFolder(dirname(place));
  renameSync(inner, place);
  rmSync(draft, { recursive: true, force: true });
}
