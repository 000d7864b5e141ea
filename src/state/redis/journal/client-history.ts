import type { ClientKey } from '../../../client/client-key.ts';
import { searchSteps } from '../../paced-steps.ts';
import type { RunCall } from '../../run-call.ts';
import type { ClientJournal, JournalEntry } from '../../store.ts';
import type { RedisCommands } from '../connection/connection.ts';
import { RedisScript } from '../script.ts';
import type { JournalEntries } from './entries.ts';

const historyScript = new RedisScript('journal/client-history-1.lua');

/** Entries that one command looks at: about half a millisecond, in which Redis serves no other request. */
const BATCH_ENTRIES_MAX = 100;

/** Entries that are looked at in all; a partition's share of the journal is less. */
const LOOKED_AT_ENTRIES_MAX = 20_000;

/** What the journal holds about single clients. It has no index by client: that would cost every verdict. */
export class RedisClientHistory {
  readonly #commands: RedisCommands;
  readonly #runOn: (key: string) => RunCall;
  readonly #entries: JournalEntries;

  constructor(commands: RedisCommands, runOn: (key: string) => RunCall, entries: JournalEntries) {
    this.#commands = commands;
    this.#runOn = runOn;
    this.#entries = entries;
  }

  /** The client's newest entries, looked for backwards in the journal of its partition. */
  async of({ hash }: Pick<ClientKey, 'hash'>, journal: string, limit: number): Promise<ClientJournal> {
    const found: JournalEntry[] = [];
    let from = '+';
    for (let lookedAt = 0; lookedAt < LOOKED_AT_ENTRIES_MAX; lookedAt += BATCH_ENTRIES_MAX) {
      // One more than is wanted tells whether that was all.
      const args = [hash, from, String(BATCH_ENTRIES_MAX), String(limit + 1 - found.length)];
      const { next, entries } = await searchSteps.run(async () => {
        const reply = await this.#runOn(journal)(() => historyScript.run(this.#commands, [journal], args));
        const stretch = readStretch(reply);
        return { next: stretch.next, entries: await this.#entries.ofClient(hash, stretch.texts) };
      });
      found.push(...entries);
      if (found.length > limit) break;
      if (next === '') return { entries: found, complete: true };
      from = next;
    }
    return { entries: found.slice(0, limit), complete: false };
  }
}

interface Stretch {
  readonly next: string;
  readonly texts: readonly string[];
}

function readStretch(reply: unknown): Stretch {
  const [next = '', ...texts] = Array.isArray(reply) ? reply.map(String) : [];
  return { next, texts };
}
