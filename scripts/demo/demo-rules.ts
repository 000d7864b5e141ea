import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRelease } from '#state/rule-folders/release.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';

const RULES = join(import.meta.dirname, '..', '..', 'rules');

/** The version that decides when the demo begins. The other versions are made from it. */
export const FIRST_DEMO_VERSION = 'p2.v10';

interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The share of the traffic that a rule holds out, which shows what the rule is worth. */
const HOLDOUT = '    holdout: 5%';

const SHORTER_WAITS: readonly Edit[] = [
  { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[20s, 3m, 20m]' },
  { file: 'verdicts.yaml', from: '    priority: 70', to: `    priority: 70\n${HOLDOUT}` },
  { file: 'verdicts.yaml', from: '    priority: 90', to: `    priority: 90\n${HOLDOUT}` },
];

/** The versions of the story, with the edits that make them from p2.v10. */
const VERSIONS: Readonly<Record<string, readonly Edit[]>> = {
  'p2.v11': SHORTER_WAITS,
  'p2.v12': [...SHORTER_WAITS, { file: 'bot-signals.yaml', from: 'threshold: 4', to: 'threshold: 1' }],
  'p2.v13': [
    ...SHORTER_WAITS.slice(1),
    { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[15s, 2m, 20m]' },
    {
      file: 'verdicts.yaml',
      from: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 0 }',
      to: '{ fact: waitRemainingSeconds, operator: greaterThan, value: 2 }',
    },
  ],
};

/** Writes the rule sets of the story, all of them released. */
export function writeDemoRules(rulesDir: string): void {
  cpSync(join(RULES, FIRST_DEMO_VERSION), join(rulesDir, FIRST_DEMO_VERSION), { recursive: true });
  for (const [version, edits] of Object.entries(VERSIONS)) {
    const folder = join(rulesDir, version);
    cpSync(join(RULES, FIRST_DEMO_VERSION), folder, { recursive: true });
    rmSync(join(folder, 'release.json'));
    const named = {
      file: 'ruleset.yaml',
      from: `ruleVersion: ${FIRST_DEMO_VERSION}`,
      to: `ruleVersion: ${version}`,
    };
    for (const { file, from, to } of [named, ...edits]) {
      const path = join(folder, file);
      writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
    }
    // Most cases expect the waits of p2.v10, so the other versions keep only the cases of groups.
    for (const name of readdirSync(join(folder, 'cases')))
      if (name !== 'groups.yaml') rmSync(join(folder, 'cases', name));
    const files = readRuleFiles(folder, []) ?? new Map();
    writeFileSync(join(folder, 'release.json'), JSON.stringify(createRelease(version, files, new Date())));
  }
}
