import { ArchiveReader } from '../archive/read/archive-reader.ts';
import { DecisionLookup } from '../archive/read/decision-lookup.ts';
import { readConfig } from '../config.ts';
import { type UnreadDecisions, unreadText } from '../state/decision-search.ts';
import type { Store } from '../state/store.ts';
import { withOpenStore } from './open-store.ts';

/** Runs a command on decisions wherever they are, in the hot store and in the archive. */
export function withDecisions<T>(run: (decisions: DecisionLookup, store: Store) => Promise<T>): Promise<T> {
  return withOpenStore(async (store) => {
    const { archiveDir } = readConfig();
    const archive = archiveDir === null ? null : new ArchiveReader(archiveDir, store);
    try {
      return await run(new DecisionLookup(store, archive), store);
    } finally {
      await archive?.close();
    }
  });
}

/** Says what cannot be told, and what to do about it. */
export function unreadHere(what: string, unread: UnreadDecisions): string {
  return `${what} cannot be told: ${unreadText(unread)}; archive status or archive verify names it.`;
}
