import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RuleVersion } from '#decision/rules/rule-set.ts';
import { wasRolledBack } from './rolled-back.ts';
import { listRuleVersions, RELEASE_FILE } from './rules-dir.ts';

export interface ScannedFolder {
  readonly version: RuleVersion;
  /** A text that changes whenever a file of the folder changes. */
  readonly stamp: string;
  readonly rolledBack: boolean;
}

/** Lists all versions in `rulesDir`, the oldest first, including folders that cannot be read. */
export function scanRuleFolders(rulesDir: string): readonly ScannedFolder[] {
  if (!existsSync(rulesDir)) return [];
  return listRuleVersions(rulesDir).map((version) => {
    const folder = join(rulesDir, version);
    return { version, stamp: computeFolderStamp(folder), rolledBack: wasRolledBack(folder) };
  });
}

/** Computes a stamp from the names, sizes and times of all files. This is cheap enough to be done every second. */
function computeFolderStamp(folder: string): string {
  try {
    return [folder, join(folder, 'cases'), join(folder, 'lists')]
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
  } catch (error) {
    // Reading the folder will then say what is wrong with it.
    return `unreadable: ${error instanceof Error ? error.message : String(error)}`;
  }
}
