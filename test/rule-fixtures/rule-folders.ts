import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Edit, editedFiles, SOUND_VERSION } from './sound-rules.ts';

/** A folder of rule sets that lives as long as one test. */
export class TemporaryRules {
  #folder: string | null = null;

  get folder(): string {
    if (this.#folder === null) throw new Error('the folder of rule sets is not created yet');
    return this.#folder;
  }

  create(): void {
    this.#folder = realpathSync(mkdtempSync(join(tmpdir(), 'rules-')));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
    this.#folder = null;
  }
}

/** Writes a draft that differs from the released rule set in its version and the given edits. */
export function editedCopy(
  rules: TemporaryRules,
  version: string,
  changes: Readonly<Record<string, Edit>>,
): void {
  for (const [path, text] of editedFiles(changes)) {
    const target = join(rules.folder, version, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text.replaceAll(SOUND_VERSION, version));
  }
}
