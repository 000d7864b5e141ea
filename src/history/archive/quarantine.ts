import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import { toClientNumberText } from '#decision/payer/client-key.ts';
import type { UnreadableEntry } from '#state/journal.ts';
import { listFileNames } from './archive-log.ts';

interface QuarantinedEntry {
  /** The entry's position in the journal: partition, milliseconds and number, as in the columns of the archive. */
  readonly place: string;
  /**
   * The client's number, as `toClientNumberText` gives it. An erasure finds the entry by this number. Missing if the
   * client is not known.
   */
  readonly clientNumber?: string;
  readonly why: string;
  readonly text: string;
}

/**
 * The folder in the archive for journal entries that cannot be read, one in each file. A later version of the service
 * may be able to read them.
 */
export const QUARANTINE_FOLDER = 'set-aside';

export function readQuarantine(folder: string): readonly QuarantinedEntry[] {
  return listQuarantinedFiles(folder).map((name) =>
    JSON.parse(readFileSync(join(folder, QUARANTINE_FOLDER, name), 'utf8')),
  );
}

export function listQuarantinedFiles(folder: string): readonly string[] {
  return listFileNames(join(folder, QUARANTINE_FOLDER)).filter((name) => name.endsWith('.json'));
}

/**
 * Writes each entry to a file of its own, unless this file exists already. Returns the paths of the files, relative
 * to the archive's folder.
 */
export function quarantineEntries(folder: string, entries: readonly UnreadableEntry[]): readonly string[] {
  return entries.map(({ place: { partition, ms, seq }, clientHash, why, text }) => {
    const number = clientHash === '' ? {} : { clientNumber: toClientNumberText(clientHash) };
    const entry: QuarantinedEntry = { place: `${partition}/${ms}-${seq}`, ...number, why, text };
    const path = `${QUARANTINE_FOLDER}/${partition}-${ms}-${seq}.json`;
    makeOwnFolder(join(folder, QUARANTINE_FOLDER));
    if (!existsSync(join(folder, path)))
      writeFileSync(join(folder, path), JSON.stringify(entry), { mode: 0o600, flush: true });
    return path;
  });
}

/** Removes the entries of erased clients. Returns the paths of the removed files, relative to the archive's folder. */
export function eraseFromQuarantine(folder: string, clientNumbers: ReadonlySet<string>): readonly string[] {
  const entries = readQuarantine(folder);
  const gone = listQuarantinedFiles(folder)
    .filter((_, index) => clientNumbers.has(entries[index]?.clientNumber ?? ''))
    .map((name) => `${QUARANTINE_FOLDER}/${name}`);
  for (const path of gone) unlinkSync(join(folder, path));
  return gone;
}
