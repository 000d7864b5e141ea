import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { addVersion } from '../../test/checkout/rollout/rule-folders.ts';
import { RULES_FOLDER } from '../../test/service/current-rules.ts';

/** The changes of p2.v11: a longer first wait, and two seconds of tolerance. */
const EDITS = [
  { file: 'ladder.yaml', from: '[30s', to: '[40s' },
  {
    file: 'verdicts.yaml',
    from: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 0 }',
    to: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 2 }',
  },
] as const;

/** The mistake of p2.v12. */
const MISTAKE = { file: 'verdicts.yaml', from: 'fact: attemptOpen', to: 'fact: atemptOpen' } as const;

/** Writes three versions: one that decides, one to try, and one that is refused. */
export function writeRuleFolders(rulesDir: string): void {
  cpSync(RULES_FOLDER, join(rulesDir, 'p2.v10'), { recursive: true });
  addVersion(rulesDir, 'p2.v11', EDITS);
  addVersion(rulesDir, 'p2.v12', [MISTAKE]);
}
