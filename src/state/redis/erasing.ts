import { type ClientKey, clientNumber } from '../../client/client-key.ts';
import type { ClientState } from '../../client/client-state.ts';
import { decodeClientState } from '../../client/state-document.ts';
import { journalText } from '../journal/text.ts';
import { deviceKey, deviceMember, journalKey, NOTES, PARTITIONS, unshippedErasuresKey } from '../keys.ts';
import type { RunCall } from '../run-call.ts';
import { RETENTION } from '../store.ts';
import { deviceIds } from './client/commit.ts';
import type { RedisCommands } from './connection/connection.ts';
import { RedisScript } from './script.ts';

const forgetClient = new RedisScript('client/forget-client-4.lua');
const readText = new RedisScript('documents/read-text-1.lua');
const forgetJournal = new RedisScript('journal/forget-journal-1.lua');

/** How much one command may remove, so that no request waits long behind it. */
export const BATCH_KEYS_MAX = 200;

/** Of one partition. */
const ERASURES_MAX = Math.ceil(RETENTION.unshippedErasures / PARTITIONS.length);

/** A client that keeps changing while it is erased is tried again; more often than this is a fault. */
export const ERASURE_ROUNDS_MAX = 10;

/** A state as it was read for an erasure. */
export interface StampedState {
  /** Null where there is none, or none that can be read. */
  readonly state: ClientState | null;
  /** '' where there is none. */
  readonly stamp: string;
}

/** The names that a client left beside its state, by what they name. */
export interface OwnedNames {
  readonly orders: readonly string[];
  readonly answers: readonly string[];
  readonly fingerprint: readonly string[];
  readonly ip: readonly string[];
}

/** Sorts names by the kind that each begins with. */
export function ownedNames(names: readonly string[]): OwnedNames {
  const named = (kind: string) => names.filter((name) => name.startsWith(kind)).map((name) => name.slice(1));
  return {
    orders: named(NOTES.order),
    answers: named(NOTES.answer),
    fingerprint: named(NOTES.fingerprint),
    ip: named(NOTES.ip),
  };
}

/** Null when it cannot be read: a client who asks to be forgotten is forgotten anyway. */
function stateOf(raw: string): ClientState | null {
  try {
    return decodeClientState(raw);
  } catch {
    return null;
  }
}

/** The steps of erasing a client that are the same wherever its keys lie. */
export class Erasing {
  readonly #commands: RedisCommands;
  readonly #runOn: (key: string) => RunCall;

  constructor(commands: RedisCommands, runOn: (key: string) => RunCall) {
    this.#commands = commands;
    this.#runOn = runOn;
  }

  /** On every device of the last days, and on those that the state names. */
  async removeSightings(client: ClientKey, owned: OwnedNames, state: ClientState | null): Promise<void> {
    for (const kind of ['fingerprint', 'ip'] as const) {
      const shown = state?.hints?.shown ?? [];
      const known = shown.filter((hint) => hint.kind === kind).flatMap(deviceIds);
      for (const id of new Set([...owned[kind], ...known]))
        await this.removeMember(deviceKey(kind, client.platform, id), deviceMember(client.hash));
    }
  }

  async removeFromJournal(journal: string, clientHash: string): Promise<void> {
    for (let from: string | null = '-'; from !== null; ) {
      const args: readonly string[] = [clientHash, from, String(BATCH_KEYS_MAX)];
      const next = await this.call(journal, (commands, key) => forgetJournal.run(commands, [key], args));
      from = typeof next === 'string' && next !== '' ? next : null;
    }
  }

  /** A damaged state may be no text that could be compared, so a stamp of its bytes stands for it. */
  async readState(state: string): Promise<StampedState> {
    const reply = await this.call(state, (commands, key) => readText.run(commands, [key], []));
    if (!Array.isArray(reply)) return { state: null, stamp: '' };
    return { state: stateOf(String(reply[0])), stamp: String(reply[1]) };
  }

  /** Removes state and names, and tells the journal; false when the client changed since its stamp was read. */
  async removeState(
    { platform, hash }: ClientKey,
    stamp: string,
    [state, names]: readonly [state: string, names: string],
    partition: string,
  ): Promise<boolean> {
    const erasure = { kind: 'erasure', at: Date.now(), platform, clientNumber: clientNumber(hash) } as const;
    const args = [stamp, platform, journalText(erasure), String(ERASURES_MAX)];
    const keys = [state, names, journalKey(partition), unshippedErasuresKey(partition)];
    const reply = await this.call(state, (commands) => forgetClient.run(commands, keys, args));
    return reply === 1;
  }

  async removeMember(set: string, member: string): Promise<void> {
    await this.call(set, (commands, key) => commands.zRem(key, member));
  }

  /** Keys of one client, so of one slot. */
  async unlink(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += BATCH_KEYS_MAX) {
      const [first = '', ...rest] = keys.slice(start, start + BATCH_KEYS_MAX);
      await this.call(first, (commands, key) => commands.unlink([key, ...rest]));
    }
  }

  /** One command on the server that answers for the key. */
  call<T>(key: string, command: (commands: RedisCommands, key: string) => Promise<T>): Promise<T> {
    return this.#runOn(key)(() => command(this.#commands, key));
  }
}
