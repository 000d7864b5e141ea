import { fileURLToPath } from 'node:url';
import { compileRuleSet } from '#decision/rules/evaluate/compile.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { formatProblem } from '#decision/rules/problem.ts';
import type { RuleSet } from '#decision/rules/rule-set.ts';
import { parseAndProveRules } from '#decision/rules/text/draft-text.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';

/** The folder of all rule sets. */
export const RULES_DIR = fileURLToPath(new URL('../../rules', import.meta.url));

/** The released rule set that tests start from. */
export const SOUND_VERSION = 'p2.v10';

export const SOUND_FILES: RuleFiles = readRuleFiles(`${RULES_DIR}/${SOUND_VERSION}`, []) ?? new Map();

/** Makes an edited text of a sound one; null takes the file away. */
export type Edit = (sound: string) => string | null;

/** Replaces the one place where `from` stands; throws when it stands elsewhere too, or nowhere. */
export function swap(from: string, to: string): Edit {
  return (sound) => {
    const parts = sound.split(from);
    if (parts.length !== 2) throw new Error(`"${from}" stands in ${parts.length - 1} places, not in one`);
    return parts.join(to);
  };
}

/** Several edits after each other. */
export function edits(...steps: readonly Edit[]): Edit {
  return (sound) => steps.reduce<string | null>((text, step) => (text === null ? null : step(text)), sound);
}

/** The file with another text altogether. */
export function whole(text: string): Edit {
  return () => text;
}

/** The sound files with some of them edited, or with files added. */
export function editedFiles(changes: Readonly<Record<string, Edit>>): RuleFiles {
  const files = new Map(SOUND_FILES);
  for (const [path, edit] of Object.entries(changes)) {
    const text = edit(files.get(path) ?? '');
    if (text === null) files.delete(path);
    else files.set(path, text);
  }
  return files;
}

/** The problems of the edited rule set, as lines a person reads; empty when it is sound. */
export function problemsOf(
  changes: Readonly<Record<string, Edit>>,
  folder = SOUND_VERSION,
): readonly string[] {
  const result = parseAndProveRules(folder, editedFiles(changes));
  return result.ok ? [] : result.problems.map(formatProblem);
}

/** The edited rule set, ready to decide; throws when it is not sound. */
export function edited(changes: Readonly<Record<string, Edit>>): RuleSet {
  const result = parseAndProveRules(SOUND_VERSION, editedFiles(changes));
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join('\n'));
  return compileRuleSet(result.rules, 'd1'.repeat(32), false);
}
