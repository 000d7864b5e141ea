import { type ClientKey, clientNumber } from '../../client/client-key.ts';
import { decodeClientState } from '../../client/state-document.ts';
import { journalText } from '../journal-text.ts';
import {
  answerKey,
  decisionKey,
  deviceKey,
  deviceMember,
  journalKey,
  OWNED,
  orderClientsKey,
  orderDecisionsKey,
  outcomeKey,
  ownedKey,
  partitionOf,
  stateKey,
} from '../keys.ts';
import type { RunCall } from '../run-call.ts';
import { StoreUnavailable } from '../store.ts';
import { forgetInAuditLog } from './audit-log.ts';
import type { RedisCommands } from './connection/connection.ts';
import { RedisScript } from './script.ts';

const forgetClient = new RedisScript('forget-client-3.lua');
const forgetJournal = new RedisScript('forget-journal-1.lua');

/** How much one command may remove, so that no request waits long behind it. */
const BATCH_KEYS_MAX = 200;

/** A client who keeps changing while it is erased is begun anew; so often is a fault. */
const ROUNDS_MAX = 10;

/** Forgets clients. The state goes last: it leads to the rest, so a broken-off erasure can be repeated. */
export class RedisErasure {
  readonly #commands: RedisCommands;
  readonly #runOn: (key: string) => RunCall;

  constructor(commands: RedisCommands, runOn: (key: string) => RunCall) {
    this.#commands = commands;
    this.#runOn = runOn;
  }

  async erase(client: ClientKey): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const raw = await this.#call(stateKey(client.hash), (commands, key) => commands.get(key));
      if (raw !== null) await this.#removeWhatStateNames(client, raw);
      await this.#removeOwned(client);
      await this.#removeFromJournal(client);
      await forgetInAuditLog(this.#commands, this.#runOn, client.hash);
      if (await this.#removeState(client, raw)) return;
    }
    throw new StoreUnavailable('the client kept changing while it was erased');
  }

  /** Decisions, and the sightings on the device that was seen last. */
  async #removeWhatStateNames(client: ClientKey, raw: string): Promise<void> {
    const { seq, hints } = decodeClientState(raw);
    for (const kind of ['fingerprint', 'ip'] as const) {
      const id = hints?.[kind] ?? null;
      if (id !== null)
        await this.#removeMember(deviceKey(kind, client.platform, id), deviceMember(client.hash));
    }
    for (let first = 1; first <= seq; first += BATCH_KEYS_MAX) {
      const length = Math.min(BATCH_KEYS_MAX, seq - first + 1);
      await this.#unlink(Array.from({ length }, (_, index) => decisionKey(client.hash, first + index)));
    }
  }

  /** Outcomes and decision numbers of orders, and stored answers. */
  async #removeOwned({ platform, hash }: ClientKey): Promise<void> {
    const owned = await this.#call(ownedKey(hash), (commands, key) => commands.zRange(key, 0, -1));
    const named = (prefix: string) =>
      owned.filter((name) => name.startsWith(prefix)).map((name) => name.slice(1));
    const orders = named(OWNED.order);
    await this.#unlink(orders.flatMap((order) => [outcomeKey(hash, order), orderDecisionsKey(hash, order)]));
    await this.#unlink(named(OWNED.answer).map((name) => answerKey(hash, name)));
    for (let start = 0; start < orders.length; start += BATCH_KEYS_MAX) {
      const some = orders.slice(start, start + BATCH_KEYS_MAX);
      await Promise.all(some.map((order) => this.#removeMember(orderClientsKey(platform, order), hash)));
    }
  }

  async #removeFromJournal({ hash }: ClientKey): Promise<void> {
    const journal = journalKey(partitionOf(hash));
    for (let from: string | null = '-'; from !== null; ) {
      const args: readonly string[] = [hash, from, String(BATCH_KEYS_MAX)];
      const next = await this.#call(journal, (commands, key) => forgetJournal.run(commands, [key], args));
      from = typeof next === 'string' && next !== '' ? next : null;
    }
  }

  /** False when the client changed since `raw` was read. */
  async #removeState({ platform, hash }: ClientKey, raw: string | null): Promise<boolean> {
    const erasure = { kind: 'erasure', at: Date.now(), platform, clientNumber: clientNumber(hash) } as const;
    const args = [raw ?? '', platform, journalText(erasure)];
    const reply = await this.#call(stateKey(hash), (commands, key) =>
      forgetClient.run(commands, [key, ownedKey(hash), journalKey(partitionOf(hash))], args),
    );
    return reply === 1;
  }

  async #removeMember(set: string, member: string): Promise<void> {
    await this.#call(set, (commands, key) => commands.zRem(key, member));
  }

  /** Keys of one client, so of one slot. */
  async #unlink(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += BATCH_KEYS_MAX) {
      const [first = '', ...rest] = keys.slice(start, start + BATCH_KEYS_MAX);
      await this.#call(first, (commands, key) => commands.unlink([key, ...rest]));
    }
  }

  #call<T>(key: string, command: (commands: RedisCommands, key: string) => Promise<T>): Promise<T> {
    return this.#runOn(key)(() => command(this.#commands, key));
  }
}
