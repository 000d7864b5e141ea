import { type ClientKey, clientNumber } from '../../client/client-key.ts';
import type { ClientState } from '../../client/client-state.ts';
import { decodeClientState } from '../../client/state-document.ts';
import { journalText } from '../journal-text.ts';
import {
  answerKey,
  claimKey,
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
const readText = new RedisScript('read-text-1.lua');
const forgetJournal = new RedisScript('forget-journal-1.lua');

/** How much one command may remove, so that no request waits long behind it. */
const BATCH_KEYS_MAX = 200;

/** A client who keeps changing while it is erased is begun anew; so often is a fault. */
const ROUNDS_MAX = 10;

/** What a client left beside its state, by name. */
interface Owned {
  readonly orders: readonly string[];
  readonly answers: readonly string[];
  readonly fingerprint: readonly string[];
  readonly ip: readonly string[];
}

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
      const { text, stamp } = await this.#state(client);
      const owned = await this.#ownedBy(client.hash);
      const state = text === null ? null : stateOf(text);
      await this.#removeSightings(client, owned, state?.hints ?? null);
      await this.#removeDecisions(client, state?.seq ?? (await this.#newestOf(client.hash, owned.orders)));
      await this.#removeOwned(client, owned);
      await this.#removeFromJournal(client);
      await forgetInAuditLog(this.#commands, this.#runOn, client.hash);
      if (await this.#removeState(client, stamp)) return;
    }
    throw new StoreUnavailable('the client kept changing while it was erased');
  }

  /** The stamp is '' when there is none. */
  async #state({ hash }: ClientKey): Promise<{ readonly text: string | null; readonly stamp: string }> {
    const reply = await this.#call(stateKey(hash), (commands, key) => readText.run(commands, [key], []));
    return Array.isArray(reply)
      ? { text: String(reply[0]), stamp: String(reply[1]) }
      : { text: null, stamp: '' };
  }

  async #ownedBy(hash: string): Promise<Owned> {
    const names = await this.#call(ownedKey(hash), (commands, key) => commands.zRange(key, 0, -1));
    const named = (prefix: string) =>
      names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(1));
    return {
      orders: named(OWNED.order),
      answers: named(OWNED.answer),
      fingerprint: named(OWNED.fingerprint),
      ip: named(OWNED.ip),
    };
  }

  /** On every device of the last days, and on those that the state names. */
  async #removeSightings(client: ClientKey, owned: Owned, hints: ClientState['hints']): Promise<void> {
    for (const kind of ['fingerprint', 'ip'] as const) {
      const known = (hints?.shown ?? []).filter((hint) => hint.kind === kind).map(({ id }) => id);
      for (const id of new Set([...owned[kind], ...known]))
        await this.#removeMember(deviceKey(kind, client.platform, id), deviceMember(client.hash));
    }
  }

  async #removeDecisions({ hash }: ClientKey, newest: number): Promise<void> {
    for (let first = 1; first <= newest; first += BATCH_KEYS_MAX) {
      const length = Math.min(BATCH_KEYS_MAX, newest - first + 1);
      await this.#unlink(Array.from({ length }, (_, index) => decisionKey(hash, first + index)));
    }
  }

  /** The number of the newest decision as the client's orders tell it: its state is missing or cannot be read. */
  async newestDecision(clientHash: string): Promise<number> {
    return this.#newestOf(clientHash, (await this.#ownedBy(clientHash)).orders);
  }

  async #newestOf(hash: string, orders: readonly string[]): Promise<number> {
    let newest = 0;
    for (const order of orders) {
      const key = orderDecisionsKey(hash, order);
      const [last] = await this.#call(key, (commands) => commands.zRange(key, -1, -1));
      newest = Math.max(newest, Number(last ?? 0));
    }
    return newest;
  }

  /** Outcomes and decision numbers of orders, stored answers, and what their Idempotency-Keys were bound to. */
  async #removeOwned({ platform, hash }: ClientKey, { orders, answers }: Owned): Promise<void> {
    await this.#unlink(orders.flatMap((order) => [outcomeKey(hash, order), orderDecisionsKey(hash, order)]));
    await this.#unlink(answers.map((name) => answerKey(hash, name)));
    for (let start = 0; start < orders.length; start += BATCH_KEYS_MAX) {
      const some = orders.slice(start, start + BATCH_KEYS_MAX);
      await Promise.all(some.map((order) => this.#removeMember(orderClientsKey(platform, order), hash)));
    }
    // They lie in slots of their own.
    for (const name of answers) await this.#unlink([claimKey(platform, name)]);
  }

  async #removeFromJournal({ hash }: ClientKey): Promise<void> {
    const journal = journalKey(partitionOf(hash));
    for (let from: string | null = '-'; from !== null; ) {
      const args: readonly string[] = [hash, from, String(BATCH_KEYS_MAX)];
      const next = await this.#call(journal, (commands, key) => forgetJournal.run(commands, [key], args));
      from = typeof next === 'string' && next !== '' ? next : null;
    }
  }

  /** False when the client changed since its state was read with this stamp. */
  async #removeState({ platform, hash }: ClientKey, stamp: string): Promise<boolean> {
    const erasure = { kind: 'erasure', at: Date.now(), platform, clientNumber: clientNumber(hash) } as const;
    const args = [stamp, platform, journalText(erasure)];
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

/** Null when it cannot be read: whoever asks to be forgotten is forgotten all the same. */
function stateOf(raw: string): ClientState | null {
  try {
    return decodeClientState(raw);
  } catch {
    return null;
  }
}
