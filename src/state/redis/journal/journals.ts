import type { ClientKey, PlatformName } from '../../../client/client-key.ts';
import type { DecisionFilter } from '../../../decision/decision-filter.ts';
import type { FoundDecisions } from '../../decision-search.ts';
import { journalKey, PARTITIONS, partitionOf } from '../../keys.ts';
import type { RunCall } from '../../run-call.ts';
import type { ClientJournal, ErasureEntry, JournalPage, KeptAfterShipping } from '../../store.ts';
import type { DecisionRecords } from '../client/decision-records.ts';
import type { RedisCommands } from '../connection/connection.ts';
import { EARLIER_PARTITIONS, earlierPartitionOf } from '../earlier/keys.ts';
import type { Layout } from '../layout/layout.ts';
import { RedisClientHistory } from './client-history.ts';
import { RedisDecisionSearch } from './decision-search.ts';
import { JournalEntries } from './entries.ts';
import { RedisJournal } from './journal.ts';

/** All that is read from the journals: those of today, and those of the layout before while they hold something. */
export class RedisJournals {
  readonly #journal: RedisJournal;
  readonly #history: RedisClientHistory;
  readonly #search: RedisDecisionSearch;
  readonly #layout: Layout;

  constructor(
    commands: RedisCommands,
    runOn: (key: string) => RunCall,
    records: DecisionRecords,
    layout: Layout,
  ) {
    const entries = new JournalEntries(records);
    const partitions = () => (layout.hasEarlier ? [...PARTITIONS, ...EARLIER_PARTITIONS] : PARTITIONS);
    this.#layout = layout;
    const parts = { commands, runOn, entries, partitions };
    this.#journal = new RedisJournal(parts);
    this.#history = new RedisClientHistory(commands, runOn, entries);
    this.#search = new RedisDecisionSearch(parts);
  }

  /** Entries after a cursor, in the order of the servers' clocks. */
  read(after: string | null, limit: number): Promise<JournalPage> {
    return this.#journal.read(after, limit);
  }

  length(): Promise<number> {
    return this.#journal.length();
  }

  trim(through: string, kept: KeptAfterShipping): Promise<void> {
    return this.#journal.trim(through, kept);
  }

  unshippedErasures(): Promise<readonly ErasureEntry[]> {
    return this.#journal.unshippedErasures();
  }

  find(platform: PlatformName, filter: DecisionFilter, limit: number): Promise<FoundDecisions> {
    return this.#search.find(platform, filter, limit);
  }

  /** The newest entries about a client, newest first. */
  async ofClient(client: Pick<ClientKey, 'hash'>, limit: number): Promise<ClientJournal> {
    const newest = await this.#history.of(client, journalKey(partitionOf(client.hash)), limit);
    if (!this.#layout.hasEarlier || newest.entries.length >= limit) return newest;
    const journal = journalKey(earlierPartitionOf(client.hash));
    const older = await this.#history.of(client, journal, limit - newest.entries.length);
    return {
      entries: [...newest.entries, ...older.entries],
      complete: newest.complete && older.complete,
    };
  }
}
