import { ArchiveReader } from '../archive/read/archive-reader.ts';
import { DecisionLookup } from '../archive/read/decision-lookup.ts';
import { openArchive } from '../archive/s3/open-archive.ts';
import { readConfig } from '../config.ts';
import { type UnreadDecisions, unreadText } from '../state/decision-search.ts';
import type { Store } from '../state/store.ts';
import { withOpenStore } from './open-store.ts';

/** Runs a command on decisions wherever they are, in the hot store and in the archive. */
export function withDecisions<T>(run: (decisions: DecisionLookup, store: Store) => Promise<T>): Promise<T> {
  return withOpenStore((store) =>
    withArchiveOf(store, (archive) => run(new DecisionLookup(store, archive), store)),
  );
}

/** Runs a command on the archive of an open store, which is null where there is none. */
export async function withArchiveOf<T>(
  store: Store,
  run: (archive: ArchiveReader | null) => Promise<T>,
): Promise<T> {
  const { archiveDir, archiveS3 } = readConfig();
  const opened = archiveDir === null ? null : openArchive({ archiveDir, archiveS3 }, store.registers);
  const archive = opened === null ? null : new ArchiveReader(opened, store);
  await opened?.refresh().catch(() => {
    // Whatever is looked for there is told to be missing; what the store has is shown.
  });
  try {
    return await run(archive);
  } finally {
    await archive?.close();
  }
}

/** Says what cannot be told, and what to do about it. */
export function unreadHere(what: string, unread: UnreadDecisions): string {
  return `${what} cannot be told: ${unreadText(unread)}; archive status or archive verify names it.`;
}
