import { join } from 'node:path';
import { loadRuleSet } from './rule-folder.ts';
import type { RuleReader } from './rule-reader.ts';
import { scanRuleFolders } from './scan.ts';

/** Creates a reader in this thread, for commands and tests, which have no other work in the meantime. */
export function createDirectRuleReader(rulesDir: string): RuleReader {
  return {
    scan: async () => scanRuleFolders(rulesDir),
    load: async (version) => loadRuleSet(join(rulesDir, version)),
    close: async () => {},
  };
}
