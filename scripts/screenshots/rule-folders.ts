import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRelease } from '../../src/rules/folder/release.ts';
import { readRuleFiles } from '../../src/rules/folder/rule-folder.ts';

const FIRST_VERSION = join(import.meta.dirname, '..', '..', 'rules', 'p2.v10');

interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** What p2.v11 does otherwise: a longer first wait, and two seconds of patience. */
const EDITS: readonly Edit[] = [
  { file: 'ladder.yaml', from: '[30s', to: '[40s' },
  {
    file: 'verdicts.yaml',
    from: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 0 }',
    to: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 2 }',
  },
];

/** What makes p2.v12 unsound. */
const MISTAKE: Edit = { file: 'verdicts.yaml', from: 'fact: attemptOpen', to: 'fact: atemptOpen' };

/** Three versions: one that decides, one to try, and one that is refused. */
export function writeRuleFolders(rulesDir: string): void {
  cpSync(FIRST_VERSION, join(rulesDir, 'p2.v10'), { recursive: true });
  addVersion(rulesDir, 'p2.v11', EDITS);
  addVersion(rulesDir, 'p2.v12', [MISTAKE]);
}

/** Adds a version made from p2.v10 with texts replaced, and releases it. */
function addVersion(rulesDir: string, version: string, edits: readonly Edit[]): void {
  const folder = join(rulesDir, version);
  cpSync(FIRST_VERSION, folder, { recursive: true });
  rmSync(join(folder, 'cases'), { recursive: true });
  for (const edit of [
    { file: 'ruleset.yaml', from: 'ruleVersion: p2.v10', to: `ruleVersion: ${version}` },
    ...edits,
  ]) {
    const path = join(folder, edit.file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(edit.from)) throw new Error(`${edit.file} does not contain ${edit.from}`);
    writeFileSync(path, text.replace(edit.from, edit.to));
  }
  const files = readRuleFiles(folder, []) ?? new Map<string, string>();
  writeFileSync(join(folder, 'release.json'), JSON.stringify(makeRelease(version, files, new Date(0))));
}
