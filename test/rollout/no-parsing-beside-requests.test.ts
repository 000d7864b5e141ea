import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

const SRC = join(import.meta.dirname, '..', '..', 'src');

/** What takes as long as an author of rule files likes. */
const HARD_WORK =
  /\b(loadRuleSet|readRuleSet|readRuleFiles|listRuleVersions|scanRuleFolders|runCases|prove|diffRuleSets|diffExamples\w*)\b/;

/** Files of the folders that work on the thread that answers, with what they take from where rule files are read. */
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
  it('never parses, proves, compares, runs or lists rule files: other threads do, within limits', () => {
    expect(importers('http', 'rollout', 'service')).to.deep.equal([]);
  });

  it('would be seen to, as commands are, which have nothing else to do', () => {
    expect(importers('cli/rules')).to.include(join('cli/rules', 'check.ts'));
  });
});
