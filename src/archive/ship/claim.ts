import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOwnFolder } from '../../files/own-folder.ts';
import type { Registers } from '../../state/store.ts';
import { ARCHIVE_REGISTER } from '../archived-elsewhere.ts';

/** The store's journal goes to another archive folder than this node's. */
export class AnotherArchive extends Error {
  override readonly name = 'AnotherArchive';
}

/**
 * A store has one archive: the folder that was first shipped to. A folder of another id, on another disk, would
 * hold a part of the history and look like all of it, so it is refused.
 */
export async function claimArchive(registers: Registers, folder: string): Promise<void> {
  const own = idOf(folder);
  const claimed = await registers.read(ARCHIVE_REGISTER);
  if (claimed === own) return;
  if (claimed === null && (await registers.compareAndSet(ARCHIVE_REGISTER, null, own))) return;
  throw new AnotherArchive(
    `this store's archive is ${claimed ?? 'another one'}, and ${folder} is ${own}; set ARCHIVE_DIR to the folder that the fleet shares, or to "off" on this node; when that one is lost, run state forget-archive`,
  );
}

/** The id of an archive folder, made with the folder. */
function idOf(folder: string): string {
  const path = join(folder, 'archive-id');
  if (!existsSync(path)) {
    makeOwnFolder(folder);
    const draft = join(folder, `.${randomUUID()}`);
    writeFileSync(draft, randomUUID(), { mode: 0o600 });
    try {
      linkSync(draft, path);
    } catch {
      // Another process has just made it.
    } finally {
      rmSync(draft);
    }
  }
  return readFileSync(path, 'utf8').trim();
}
