import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clientNumber } from '../client/client-key.ts';
import type { UnreadableEntry } from '../state/journal/text.ts';

/** An entry of the journal that could not be read, as it was kept. */
export interface SetAside {
  /** Partition, milliseconds and number, as in the columns of the archive. */
  readonly place: string;
  /** `clientNumber` of the client's hash, so that an erasure finds it; absent where nobody can tell. */
  readonly clientNumber?: string;
  readonly why: string;
  readonly text: string;
}

const FILE = 'set-aside.ndjson';

/** What could not be read of the journal lies in a file of its own in the archive's folder, for a version that can read it. */
export function readSetAside(folder: string): readonly SetAside[] {
  let text: string;
  try {
    text = readFileSync(join(folder, FILE), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

/** Once each, however often a step is repeated. */
export function setAside(folder: string, entries: readonly UnreadableEntry[]): void {
  if (entries.length === 0) return;
  const known = new Set(readSetAside(folder).map(({ place }) => place));
  const lines = entries
    .map(({ place: { partition, ms, seq }, clientHash, why, text }): SetAside => {
      const number = clientHash === '' ? {} : { clientNumber: clientNumber(clientHash) };
      return { place: `${partition}/${ms}-${seq}`, ...number, why, text };
    })
    .filter(({ place }) => !known.has(place))
    .map((entry) => `${JSON.stringify(entry)}\n`);
  appendFileSync(join(folder, FILE), lines.join(''), { mode: 0o600, flush: true });
}

/** Erased clients leave nothing behind. */
export function forgetSetAside(folder: string, clientNumbers: ReadonlySet<string>): void {
  const all = readSetAside(folder);
  const kept = all.filter((entry) => !clientNumbers.has(entry.clientNumber ?? ''));
  if (kept.length === all.length) return;
  const draft = join(folder, `.${FILE}`);
  writeFileSync(draft, kept.map((entry) => `${JSON.stringify(entry)}\n`).join(''), {
    mode: 0o600,
    flush: true,
  });
  renameSync(draft, join(folder, FILE));
}
