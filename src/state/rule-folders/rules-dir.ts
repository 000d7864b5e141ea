import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';

export const RELEASE_FILE = 'release.json';

/** Why the folder of rule sets cannot be used, for people; null when it can. */
export function rulesDirRefusal(rulesDir: string): string | null {
  const refused = (what: string) => `RULES_DIR is ${rulesDir}, ${what}; set it to the folder of rule sets`;
  try {
    readdirSync(rulesDir);
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return refused('where there is no folder');
    return refused(code === 'ENOTDIR' ? 'which is no folder' : `which cannot be read: ${reasonOf(code)}`);
  }
}

/** Names of the rule sets in `rulesDir`, oldest first. */
export function listRuleVersions(rulesDir: string): readonly RuleVersion[] {
  return readdirSync(rulesDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map((entry) => entry.name)
    .filter(isRuleVersion)
    .toSorted(compareRuleVersions);
}

/** p2.v9 before p2.v10 before p3.v1. */
export function compareRuleVersions(a: RuleVersion, b: RuleVersion): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** Lies in the folder of a version that was rolled back; it is not part of the rules, and of no digest. */
export const ROLLED_BACK_FILE = 'rolled-back.json';

interface RolledBack {
  /** Epoch ms. */
  readonly at: number;
  readonly who: string;
  readonly reason: string;
}

/**
 * Notes that a version was rolled back, so that no first start chooses it as the newest. False when the
 * folder may not be written to, as in a container.
 */
export function noteRolledBack(folder: string, { at, who, reason }: RolledBack): boolean {
  try {
    const note = { at: new Date(at).toISOString(), who, reason };
    writeFileSync(join(folder, ROLLED_BACK_FILE), `${JSON.stringify(note, null, 2)}\n`);
    return true;
  } catch {
    return false;
  }
}

/** The version is wanted again. Where the note cannot be removed it stays. */
export function forgetRolledBack(folder: string): void {
  try {
    rmSync(join(folder, ROLLED_BACK_FILE), { force: true });
  } catch {
    // The folder may not be written to.
  }
}

export function wasRolledBack(folder: string): boolean {
  return existsSync(join(folder, ROLLED_BACK_FILE));
}

/** Why the system refuses a file, for people. */
export function reasonOf(code: string): string {
  switch (code) {
    case 'ELOOP':
      return 'its links lead in a circle (ELOOP)';
    case 'EACCES':
    case 'EPERM':
      return `this user may not read it (${code})`;
    default:
      return code;
  }
}

/** The system's code of an error; throws the error when it has none. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  throw error;
}
