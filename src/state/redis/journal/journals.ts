import type { ClientKey } from '../../../client/client-key.ts';
import { journalKey, PARTITIONS, partitionOf } from '../../keys.ts';
import type { RunCall } from '../../run-call.ts';
import type { ClientJournal } from '../../store.ts';
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
  readonly ofAll: RedisJournal;
  readonly search: RedisDecisionSearch;
  readonly #history: RedisClientHistory;
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
    this.ofAll = new RedisJournal(parts);
    this.#history = new RedisClientHistory(commands, runOn, entries);
    this.search = new RedisDecisionSearch(parts);
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
