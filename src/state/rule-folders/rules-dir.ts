import { readdirSync } from 'node:fs';
import { compareRuleVersions, isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';

export const RELEASE_FILE = 'release.json';

/** Explains why the folder of rule sets cannot be used. Returns null if it can. */
export function explainUnusableRulesDir(rulesDir: string): string | null {
  const refused = (what: string) => `RULES_DIR is ${rulesDir}, ${what}; set it to the folder of rule sets`;
  try {
    readdirSync(rulesDir);
    return null;
  } catch (error) {
    const code = requireSystemErrorCode(error);
    if (code === 'ENOENT') return refused('where there is no folder');
    return refused(
      code === 'ENOTDIR' ? 'which is no folder' : `which cannot be read: ${explainSystemError(code)}`,
    );
  }
}

/** Lists the versions in `rulesDir`, the oldest first. */
export function listRuleVersions(rulesDir: string): readonly RuleVersion[] {
  return readdirSync(rulesDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map((entry) => entry.name)
    .filter(isRuleVersion)
    .toSorted(compareRuleVersions);
}

/** Explains why the system refuses a file. */
export function explainSystemError(code: string): string {
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

/** Returns the system's code of an error. Throws the error if it has none. */
export function requireSystemErrorCode(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  throw error;
}
