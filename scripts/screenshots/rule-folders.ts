import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { addVersion } from '../../test/rollout/rule-folders.ts';
import { RULES_FOLDER } from '../../test/service/current-rules.ts';

/** What p2.v11 does otherwise: a longer first wait, and two seconds of patience. */
const EDITS = [
  { file: 'ladder.yaml', from: '[30s', to: '[40s' },
  {
    file: 'verdicts.yaml',
    from: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 0 }',
    to: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 2 }',
  },
] as const;

/** What makes p2.v12 unsound. */
const MISTAKE = { file: 'verdicts.yaml', from: 'fact: attemptOpen', to: 'fact: atemptOpen' } as const;

/** Three versions: one that decides, one to try, and one that is refused. */
export function writeRuleFolders(rulesDir: string): void {
  cpSync(RULES_FOLDER, join(rulesDir, 'p2.v10'), { recursive: true });
  addVersion(rulesDir, 'p2.v11', EDITS);
  addVersion(rulesDir, 'p2.v12', [MISTAKE]);
}
