import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

const SRC = join(import.meta.dirname, '..', '..', 'src');

/** Functions whose time depends on the author of rule files. */
const HARD_WORK =
  /\b(loadRuleSet|readRuleSet|readRuleFiles|listRuleVersions|scanRuleFolders|runCases|prove|diffRuleSets|diffExamples\w*)\b/;

/** Files that run on the thread that answers, with their imports from where rule files are read. */
function importers(...folders: readonly string[]): readonly string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((name) => name.endsWith('.ts'))
    .filter((name) => {
      const imports = readFileSync(join(SRC, name), 'utf8').match(/^import (?!type)[^;]*;/gm) ?? [];
      return imports.some((one) => HARD_WORK.test(one));
    });
}

describe('the thread that answers requests', () => {
  it('never parses, proves, compares, runs or lists rule files, which other threads do within limits', () => {
    expect(importers('http', 'rollout', 'service')).to.deep.equal([]);
  });

  it('is told apart from commands, which may do all of that', () => {
    expect(importers('cli/rules')).to.include(join('cli/rules', 'check.ts'));
  });
});
