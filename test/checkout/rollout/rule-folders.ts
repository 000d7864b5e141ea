import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import { createRelease } from '#state/rule-folders/release.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import type { Store } from '#state/store.ts';
import { type Edit, editedFiles, SOUND_VERSION } from '../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { currentRules, RULES_FOLDER } from '../../service/current-rules.ts';

export function versionOf(text: string): RuleVersion {
  if (!isRuleVersion(text)) throw new Error(`${text} is no version`);
  return text;
}

/** A RULES_DIR for one test, with p2.v10. */
export function rulesDirectory(): string {
  const directory = temporaryDirectory();
  cpSync(RULES_FOLDER, join(directory, 'p2.v10'), { recursive: true });
  return directory;
}

/** Adds a version made from p2.v10 with texts replaced, released unless it is to stay a draft. */
export function addVersion(
  directory: string,
  version: string,
  edits: readonly { readonly file: string; readonly from: string; readonly to: string }[],
  { draft = false }: { readonly draft?: boolean } = {},
): void {
  const folder = join(directory, version);
  cpSync(RULES_FOLDER, folder, { recursive: true });
  rmSync(join(folder, 'release.json'));
  rmSync(join(folder, 'cases'), { recursive: true });
  edit(folder, 'ruleset.yaml', 'ruleVersion: p2.v10', `ruleVersion: ${version}`);
  for (const { file, from, to } of edits) edit(folder, file, from, to);
  if (!draft) release(directory, version);
}

/** Writes a released version that is made from the sound rules, without their cases. */
export function placeVersion(
  rulesDir: string,
  version: string,
  changes: Readonly<Record<string, Edit>>,
): void {
  const files = new Map(
    [...editedFiles(changes)]
      .filter(([path]) => !path.startsWith('cases/'))
      .map(([path, text]) => [path, text.replaceAll(SOUND_VERSION, version)] as const),
  );
  const release = JSON.stringify(createRelease(version, files, new Date(0)));
  for (const [path, text] of [...files, ['release.json', release] as const]) {
    const target = join(rulesDir, version, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

export function release(directory: string, version: string): void {
  const folder = join(directory, version);
  const files = readRuleFiles(folder, []) ?? new Map();
  writeFileSync(join(folder, 'release.json'), JSON.stringify(createRelease(version, files, new Date(0))));
}

export function edit(folder: string, file: string, from: string, to: string): void {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} does not contain ${JSON.stringify(from)}`);
  writeFileSync(path, text.replace(from, to));
}

/** An edit that makes the first wait ten seconds longer. */
export const LONGER_FIRST_WAIT = { file: 'ladder.yaml', from: '[30s', to: '[40s' } as const;

/** An edit that blocks everybody who would get a new requisite. */
export const BLOCK_OTHERWISE = {
  file: 'verdicts.yaml',
  from: 'otherwise: { verdict: GET_NEW',
  to: 'otherwise: { verdict: BLOCK',
} as const;

/** A node that starts with p2.v10 and does not log. `clock` gives epoch ms. */
export function startQuietNode(store: Store, rulesDir: string, clock: () => number): Promise<RolloutNode> {
  return RolloutNode.start({
    store,
    attributeHmacs: NO_ATTRIBUTE_PSEUDONYMIZER,
    rulesDir,
    reader: createDirectRuleReader(rulesDir),
    dataDir: temporaryDirectory(),
    firstVersion: currentRules().version,
    clock,
    onTrouble: () => {},
  });
}
