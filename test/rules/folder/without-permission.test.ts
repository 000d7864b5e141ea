import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { formatProblems, readRuleSet } from '../../../src/rules/folder/rule-folder.ts';
import { scanRuleFolders } from '../../../src/rules/folder/scan.ts';
import { rulesDirectory } from '../../rollout/rule-folders.ts';

/** Of the user that owns nothing. */
const NOBODY = 65_534;

describe('a rule folder without permission', () => {
  it('is refused by name, and hides none of the others', () => {
    const directory = rulesDirectory();
    chmodSync(directory, 0o755);
    const shut = join(directory, 'p2.v99');
    mkdirSync(shut);
    chmodSync(shut, 0);
    asSomebodyWithoutRights(() => {
      const scanned = scanRuleFolders(directory);
      expect(scanned.map(({ version }) => version)).to.deep.equal(['p2.v10', 'p2.v99']);
      expect(scanned.at(-1)?.stamp).to.match(/^unreadable: EACCES/);
      const read = readRuleSet(shut);
      expect(read.ok).to.equal(false);
      if (!read.ok)
        expect(formatProblems('p2.v99', read.problems)).to.match(/^p2\.v99.*(EACCES|permission)/s);
      expect(readRuleSet(join(directory, 'p2.v10')).ok).to.equal(true);
    });
    chmodSync(shut, 0o700);
  });
});

/** The superuser may read everything, so it steps down for as long as `look` takes. */
function asSomebodyWithoutRights(look: () => void): void {
  const isSuperuser = process.geteuid?.() === 0;
  if (isSuperuser) process.seteuid?.(NOBODY);
  try {
    look();
  } finally {
    if (isSuperuser) process.seteuid?.(0);
  }
}
