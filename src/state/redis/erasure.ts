import { type ClientKey, toClientNumberText } from '#decision/payer/client-key.ts';
import type { ClientState } from '#decision/payer/client-state.ts';
import { decodeClientState } from '#decision/payer/state-document.ts';
import { encodeJournalEntry } from '#state/journal.ts';
import * as redis from '#state/keys.ts';
import { RETENTION } from '#state/retention.ts';
import { NO_TEXT_STAMP } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { listHmacsOfDevice, listNoteNamesOfKind } from './clients.ts';
import { readStamped } from './compare-and-set.ts';
import { type RedisAccess, type RedisCommands, scanKeys } from './connection/connection.ts';
import { areStreamEntries, callChecked, requireWholeNumber } from './connection/reply.ts';
import type { RedisDecisionReader } from './decisions.ts';
import { getStreamEntryClientHash } from './journal.ts';
import { RedisScript } from './script.ts';

const forgetClient = new RedisScript('forget-client-4.lua');

/** The most keys that one command removes, so that no request waits long behind it. */
const BATCH_KEYS_MAX = 200;

/** The most unshipped erasures of one partition. */
const ERASURES_MAX = Math.ceil(RETENTION.unshippedErasures / redis.PARTITION_TAGS.length);

/**
 * How often the erasure of a client that keeps changing is retried. If more tries were needed, something else would
 * be wrong.
 */
const ERASURE_ROUNDS_MAX = 10;

/** The part of a client key that an erasure may know. */
type ErasedKey = Pick<ClientKey, 'platform' | 'hash'>;

interface StampedState {
  /** Null if there is no state, or if it cannot be read. */
  readonly state: ClientState | null;
  /** NO_TEXT_STAMP if there is no state. */
  readonly stamp: string;
}

/** Decodes a state. Returns null if it cannot be read, because the client is erased anyway. */
function decodeStateOrNull(raw: string): ClientState | null {
  try {
    return decodeClientState(raw);
  } catch {
    return null;
  }
}

/**
 * Erases clients. The state is removed last, because everything else is found through it. Therefore an interrupted
 * erasure can be repeated.
 */
export class ClientErasure {
  readonly #door: RedisAccess;
  readonly #decisions: RedisDecisionReader;

  constructor(door: RedisAccess, decisions: RedisDecisionReader) {
    this.#door = door;
    this.#decisions = decisions;
  }

  async erase(client: ErasedKey): Promise<void> {
    const { platform, hash } = client;
    for (let round = 0; round < ERASURE_ROUNDS_MAX; round += 1) {
      const { state, stamp } = await this.#readState(redis.stateKey(hash));
      const notes = await this.#call(redis.notesKey(hash), (commands, key) => commands.hKeys(key));
      const noted = (kind: keyof typeof redis.NOTE_KINDS) => listNoteNamesOfKind(notes, kind);
      for (const kind of ['fingerprint', 'ip'] as const)
        await this.#removeSightings(
          [...noted(kind), ...listKnownDevices(state, kind)].map((id) => redis.deviceKey(kind, platform, id)),
          hash,
        );
      const valuesNoted = [...noted('attribute'), ...listKnownValues(state)];
      await this.#removeSightings(
        valuesNoted.map((id) => redis.attributeKey(platform, id)),
        hash,
      );
      const newest =
        stamp === NO_TEXT_STAMP ? 0 : (state?.seq ?? (await this.findNewestDecisionNumber(hash)));
      await this.#removeDecisions(client, newest);
      // Claims of Idempotency-Keys have slots of their own.
      for (const name of noted('answer')) await this.#unlink([redis.claimKey(platform, name)]);
      await this.#removeFromJournal(redis.journalKey(redis.getPartitionTag(hash)), hash);
      if (await this.#removeState(client, stamp)) return;
    }
    throw new StoreUnavailable('the client kept changing while it was erased');
  }

  /**
   * Finds the number of the newest decision if the state cannot be read. It reads all keys of the server, so it is
   * used only for a damaged client.
   */
  async findNewestDecisionNumber(clientHash: string): Promise<number> {
    const prefix = redis.clientDecisionsPrefix(clientHash);
    const { connection } = this.#door;
    let newest = 0;
    for await (const keys of scanKeys(connection, connection.serverOf(prefix), `${prefix}*`))
      for (const key of keys) newest = Math.max(newest, Number(key.slice(prefix.length)));
    return newest;
  }

  /**
   * Reads the state, and a stamp of its bytes. The stamp is needed because a damaged state may be no text and could
   * not be compared.
   */
  async #readState(key: string): Promise<StampedState> {
    const stored = await readStamped(this.#door, key);
    if (stored === null) return { state: null, stamp: NO_TEXT_STAMP };
    return { state: decodeStateOrNull(stored.text), stamp: stored.stamp };
  }

  /** Removes a client from sorted sets of clients. */
  async #removeSightings(keys: readonly string[], hash: string): Promise<void> {
    for (const seenOn of new Set(keys))
      await this.#call(seenOn, (commands, key) => commands.zRem(key, [...redis.deviceMembers(hash)]));
  }

  /** Removes the decisions of a client, and their notes by order. */
  async #removeDecisions(client: ErasedKey, newest: number): Promise<void> {
    const { hash } = client;
    for (let first = 1; first <= newest; first += BATCH_KEYS_MAX) {
      const length = Math.min(BATCH_KEYS_MAX, newest - first + 1);
      const seqs = Array.from({ length }, (_, index) => first + index);
      const decisions = await this.#decisions.readAt(seqs.map((seq) => ({ clientHash: hash, seq })));
      const orders = decisions.filter((decision) => decision !== null).map(({ orderRef }) => orderRef);
      for (const orderRef of new Set(orders)) await this.#decisions.forgetOrder(client, orderRef);
      await this.#unlink(seqs.map((seq) => redis.decisionKey(hash, seq)));
    }
  }

  /**
   * Removes a client's entries from the journal. An entry keeps its id and its client, so one command can find the
   * entry and the next command can remove it.
   */
  async #removeFromJournal(journal: string, clientHash: string): Promise<void> {
    for (let from = '-'; ; ) {
      const entries = await this.#call(journal, (commands, key) =>
        callChecked('XRANGE', commands.xRange(key, from, '+', { COUNT: BATCH_KEYS_MAX }), areStreamEntries),
      );
      const own =
        entries?.filter((row) => getStreamEntryClientHash(row) === clientHash).map(({ id }) => id) ?? [];
      if (own.length > 0) await this.#call(journal, (commands, key) => commands.xDel(key, own));
      const last = entries?.at(-1);
      if (last === undefined) return;
      from = `(${last.id}`;
    }
  }

  /**
   * Removes state and notes, and writes the erasure into the journal. Returns false if the client changed after its
   * stamp was read.
   */
  async #removeState({ platform, hash }: ErasedKey, stamp: string): Promise<boolean> {
    const partition = redis.getPartitionTag(hash);
    const erasure = {
      kind: 'erasure',
      at: Date.now(),
      platform,
      clientNumber: toClientNumberText(hash),
    } as const;
    const args = [stamp, platform, encodeJournalEntry(erasure), String(ERASURES_MAX)];
    const others = [redis.notesKey(hash), redis.journalKey(partition), redis.unshippedErasuresKey(partition)];
    return (
      (await forgetClient.on(this.#door, [redis.stateKey(hash), ...others], args, requireWholeNumber)) === 1
    );
  }

  /** Removes keys of one slot. */
  async #unlink(keys: readonly string[]): Promise<void> {
    const [first = '', ...rest] = keys;
    await this.#call(first, (commands, key) => commands.unlink([key, ...rest]));
  }

  /** Runs one command on the server that answers for the key. */
  #call<T>(key: string, command: (commands: RedisCommands, key: string) => Promise<T>): Promise<T> {
    return this.#door.runOn(key)(() => command(this.#door.commands, key));
  }
}

/** Lists the devices that the state names. An erasure also looks at the devices that were noted in the last days. */
function listKnownDevices(state: ClientState | null, kind: 'fingerprint' | 'ip'): readonly string[] {
  const shown = state?.hints?.shown ?? [];
  return shown.flatMap(({ hint }) => (hint.kind === kind ? listHmacsOfDevice(hint) : []));
}

/**
 * Lists the attribute values that scores of the last day stated. An erasure also looks at the values that were noted
 * in the last days.
 */
function listKnownValues(state: ClientState | null): readonly string[] {
  const shown = state?.hints?.shown ?? [];
  return shown.flatMap(({ hint: { attribute } }) => {
    if (attribute === undefined) return [];
    const { name, value, formerValue } = attribute;
    return [value, formerValue].flatMap((form) =>
      typeof form === 'string' ? [redis.attributeValueId(name, form)] : [],
    );
  });
}
