import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOwnFolder } from '#base/files/folders.ts';
import { clientNumber } from '#decision/payer/client-key.ts';
import type { UnreadableEntry } from '#state/journal.ts';
import { namesIn } from './archive-log.ts';

interface SetAside {
  /** Partition, milliseconds and number, as in the columns of the archive. */
  readonly place: string;
  /** `clientNumber` of the client's hash, so that an erasure finds it; absent where nobody knows. */
  readonly clientNumber?: string;
  readonly why: string;
  readonly text: string;
}

/** Unreadable entries of the journal are kept beside the archive, each in a file, for a version that can read it. */
export const SET_ASIDE_FOLDER = 'set-aside';

export function readSetAside(folder: string): readonly SetAside[] {
  return namesOfSetAside(folder).map((name) =>
    JSON.parse(readFileSync(join(folder, SET_ASIDE_FOLDER, name), 'utf8')),
  );
}

export function namesOfSetAside(folder: string): readonly string[] {
  return namesIn(join(folder, SET_ASIDE_FOLDER)).filter((name) => name.endsWith('.json'));
}

/** Once each, however often a step is repeated; gives the files below the archive's folder. */
export function setAside(folder: string, entries: readonly UnreadableEntry[]): readonly string[] {
  return entries.map(({ place: { partition, ms, seq }, clientHash, why, text }) => {
    const number = clientHash === '' ? {} : { clientNumber: clientNumber(clientHash) };
    const entry: SetAside = { place: `${partition}/${ms}-${seq}`, ...number, why, text };
    const path = `${SET_ASIDE_FOLDER}/${partition}-${ms}-${seq}.json`;
    makeOwnFolder(join(folder, SET_ASIDE_FOLDER));
    if (!existsSync(join(folder, path)))
      writeFileSync(join(folder, path), JSON.stringify(entry), { mode: 0o600, flush: true });
    return path;
  });
}

/** Erased clients leave nothing behind; gives the files that are gone. */
export function forgetSetAside(folder: string, clientNumbers: ReadonlySet<string>): readonly string[] {
  const entries = readSetAside(folder);
  const gone = namesOfSetAside(folder)
    .filter((_, index) => clientNumbers.has(entries[index]?.clientNumber ?? ''))
    .map((name) => `${SET_ASIDE_FOLDER}/${name}`);
  for (const path of gone) unlinkSync(join(folder, path));
  return gone;
}
