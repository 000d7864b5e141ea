import { setTimeout as sleep } from 'node:timers/promises';
import { ClientOfflineError, ErrorReply } from '@redis/client';
import { encodeDecision } from '#decision/decision-record.ts';
import { toShortHash } from '#decision/payer/client-state.ts';
import type { Hint } from '#decision/payer/hints.ts';
import { encodeOrder } from '#decision/payer/order-text.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';
import { encodeJournalEntry } from '#state/journal.ts';
import * as redis from '#state/keys.ts';
import { RETENTION } from '#state/retention.ts';
import type { Commit, LoadOptions, LoadStamp, Store } from '#state/store.ts';
import { StoreLate, StoreUnavailable } from '#state/store-errors.ts';
import { decodeClientFromStore, toAnswerToStore } from '#state/stored-parts.ts';
import type { RedisConnection, SendTogether } from './connection/connection.ts';
import {
  BadReply,
  callChecked,
  isTextOrNull,
  requireArray,
  requireTextOrNull,
  requireWholeNumber,
} from './connection/reply.ts';
import type { ServerCalls } from './connection/server-calls.ts';
import type { RedisDecisionReader } from './decisions.ts';
import type { MemoryRoomLevel } from './health.ts';
import { formatInstallationShapeMember, type InstallationCheck } from './installation.ts';
import { formatStreamEntry } from './journal.ts';
import { createCallTicket, RedisScript } from './script.ts';
import type { ServerClocks } from './server-clocks.ts';

const loadScript = new RedisScript('load-2.lua');

/**
 * How often the shape (the layout of stored records) is written again while it is in use, so that it does not expire.
 */
const SHAPE_RENEWAL_MS = RETENTION.shapeMs / 6;

/**
 * One commit in this many also drops old and surplus entries and notes. If memory is short, every commit drops them.
 * The work costs a tenth of a commit.
 */
export const COMMITS_PER_TIDYING = 16;

/** The interval at which a change is looked for if its answer was lost with the connection. */
const LOOK_AGAIN_MS = 10;

/**
 * A commit expires this long before its caller's time limit, so that time remains to look whether the commit took
 * effect.
 */
const ANSWER_MARGIN_MS = 20;

interface RedisClientsParts {
  readonly connection: RedisConnection;
  readonly calls: ServerCalls;
  readonly clocks: ServerClocks;
  readonly decisions: RedisDecisionReader;
  readonly installation: InstallationCheck;
  /** The room in the servers' memory. */
  readonly memory: { readonly room: MemoryRoomLevel };
}

/** Reads and writes everything in the slot of a client: states, notes and records. */
export function createRedisClients(parts: RedisClientsParts): Pick<Store, 'load' | 'commit'> {
  const { connection, calls, clocks, decisions, installation, memory } = parts;
  const { commands } = connection;
  const commitScript = createCommitScript({ ...COMMIT_RETENTION, installation: installation.known.id });
  let commits = 0;
  /** When this process stored a shape in a partition, in ms of its monotonic clock. */
  const storedShapes = new Map<string, number>();

  const tryToCommit = async (change: Commit, next: string, storesShape: boolean): Promise<CommitStatus> => {
    const state = redis.stateKey(change.client.hash);
    const untilMs = computeValidUntilMs(change.stamp, calls.limitMsOn(state));
    const tidies = memory.room === 'little' || ++commits % COMMITS_PER_TIDYING === 0;
    const journalEntries = tidies ? JOURNAL_ENTRIES[memory.room] : null;
    const terms = { validUntilMs: untilMs, storesShape, journalEntries, installation: installation.known.id };
    const { keys, args } = createCommitCall(change, next, terms);
    try {
      return await calls.on(state)(() => commitScript.run(connection, keys, args, readCommitReply));
    } catch (error) {
      if (!isAnswerLost(error) || !(await isStored(change, next, untilMs))) throw error;
      return 'committed';
    }
  };

  /**
   * Whether a change took effect whose answer was lost. Looks for the state that the change would leave, for as long
   * as the change could still arrive. A lost connection is back within some milliseconds.
   */
  const isStored = async (
    { client, stamp }: Commit,
    next: string,
    validUntilMs: number,
  ): Promise<boolean> => {
    const key = redis.stateKey(client.hash);
    const untilMs = stamp.arrivedMs + validUntilMs - stamp.storeTimeMs;
    while (performance.now() < untilMs) {
      await sleep(LOOK_AGAIN_MS);
      const there = await calls
        .reading(key)(() => callChecked('GET', commands.get(key), isTextOrNull))
        .catch(() => stamp.raw);
      if (there === next) return true;
      if (there !== stamp.raw) return false;
    }
    return false;
  };

  return {
    load: async ({ hash }, also = {}) => {
      const key = redis.stateKey(hash);
      const { time, state, order, answered } = await calls.reading(key)(() =>
        clocks.timed(key, () => {
          const args = createLoadArgs(hash, also);
          const { sendTogether } = connection;
          if (args === null && sendTogether !== undefined) return loadState(sendTogether, key);
          return loadScript.run(connection, [key, redis.notesKey(hash)], args ?? ['', '', ''], readLoadReply);
        }),
      );
      const answer =
        answered === null
          ? null
          : toAnswerToStore(await decisions.reader.decodeRecord({ clientHash: hash, text: answered }));
      return decodeClientFromStore({ state, order, answer }, time);
    },
    commit: async (change) => {
      const { client, shape } = change;
      const next = encodeClientState(change.state);
      const place = shape === undefined ? '' : redis.shapeKey(redis.getPartitionTag(client.hash), shape.id);
      const storedMs = storedShapes.get(place);
      const believed = storedMs !== undefined && performance.now() - storedMs < SHAPE_RENEWAL_MS;
      const status = await tryToCommit(change, next, !believed);
      if (status === 'shapeless') {
        storedShapes.delete(place);
        return toCommitResult(await tryToCommit(change, next, true));
      }
      if (status === 'foreign') installation.suspect(client.hash);
      if (status === 'committed' && !believed && shape !== undefined)
        storedShapes.set(place, performance.now());
      return toCommitResult(status);
    },
  };
}

/** Returns the arguments of the load script. Returns null if only the state is wanted. */
function createLoadArgs(hash: string, { orderRef, idempotencyKey }: LoadOptions): readonly string[] | null {
  if (orderRef === undefined && idempotencyKey === undefined) return null;
  return [
    orderRef === undefined ? '' : redis.NOTE_KINDS.order + toShortHash(orderRef),
    idempotencyKey === undefined ? '' : redis.NOTE_KINDS.answer + redis.hashName(idempotencyKey),
    redis.clientDecisionsPrefix(hash),
  ];
}

/**
 * Computes the last moment at which a commit may be applied, by the store's clock. After that moment its caller is
 * refused.
 */
function computeValidUntilMs({ storeTimeMs, arrivedMs }: LoadStamp, limitMs: number): number {
  const nowMs = storeTimeMs + (performance.now() - arrivedMs);
  return Math.floor(nowMs + limitMs - ANSWER_MARGIN_MS);
}

/**
 * Whether the answer of a call was lost although Redis may have executed the call. This is not so if Redis refused
 * the call or was never asked. It is not so for a late call either, because its commit has expired by then.
 */
function isAnswerLost(error: unknown): boolean {
  if (!(error instanceof StoreUnavailable) || error instanceof StoreLate) return false;
  const { cause } = error;
  return cause instanceof Error && !(cause instanceof ErrorReply) && !(cause instanceof ClientOfflineError);
}

/**
 * Loads only the state with plain commands, which takes Redis half the time of the script. The echoed ticket shows
 * that these are the replies to this call.
 */
function loadState(sendTogether: SendTogether, key: string): Promise<ReturnType<typeof readLoadReply>> {
  const ticket = createCallTicket();
  return sendTogether([['GET', key], ['TIME'], ['ECHO', ticket]]).then(([state, time, echo]) => {
    if (echo !== ticket) throw new BadReply('ECHO', echo);
    return readLoadReply('GET and TIME', [time, state]);
  });
}

/** Reads the reply of load-2.lua. */
function readLoadReply(what: string, reply: unknown) {
  const [time, state, order, answered] = requireArray(what, reply);
  const [seconds, micros] = requireArray(what, time);
  return {
    time: requireWholeNumber(what, Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)),
    state: requireTextOrNull(what, state) || null,
    order: requireTextOrNull(what, order),
    answered: requireTextOrNull(what, answered),
  };
}

function toCommitResult(status: CommitStatus): 'committed' | 'conflict' {
  switch (status) {
    case 'committed':
    case 'conflict':
      return status;
    case 'expired':
      throw new StoreUnavailable('a change reached its server too late');
    case 'foreign':
      throw new StoreUnavailable('the server of this client does not hold this installation');
    case 'shapeless':
      throw new Error('a shape was stored with its record and is not there');
    default:
      throw new Error(status satisfies never);
  }
}

/**
 * The result of a commit. With `expired` the commit arrived after its caller had given up. With `shapeless` the shape
 * of its record is not stored beside the record. With `foreign` the server belongs to another installation or to
 * none.
 */
type CommitStatus = 'committed' | 'conflict' | 'expired' | 'shapeless' | 'foreign';

/** How long the data of a commit is kept, and how much of it. */
export const COMMIT_RETENTION = {
  stateMs: RETENTION.stateMs,
  recordMs: RETENTION.decisionMs,
  shapeMs: RETENTION.shapeMs,
  decisionsOfOrders: RETENTION.decisionsPerBucket,
  notes: RETENTION.notesPerClient,
};

/** The journal's limit for each partition, in the form that commit-5.lua takes: negative if memory is short. */
const JOURNAL_ENTRIES: Readonly<Record<MemoryRoomLevel, number>> = {
  enough: Math.ceil(RETENTION.journalEntries / redis.PARTITION_TAGS.length),
  little: -Math.ceil(RETENTION.journalEntriesMin / redis.PARTITION_TAGS.length),
  unknown: Math.ceil(RETENTION.journalEntriesMin / redis.PARTITION_TAGS.length),
};

/** Creates the commit script of a node, with the values that never change while it runs. */
export function createCommitScript({
  installation,
  ...kept
}: Readonly<Record<keyof typeof COMMIT_RETENTION, number>> & { readonly installation: string }): RedisScript {
  return new RedisScript('commit-5.lua', {
    STATE_MS: String(kept.stateMs),
    RECORD_MS: String(kept.recordMs),
    KEPT_MS: kept.recordMs,
    SHAPE_MS: String(kept.shapeMs),
    ORDERS_MAX_RANK: String(-kept.decisionsOfOrders - 1),
    NOTES_MAX: kept.notes,
    INSTALLATION: installation,
  });
}

/** The terms of a commit. */
interface CommitTerms {
  /** The commit is not applied after this moment of the store's clock. */
  readonly validUntilMs: number;
  readonly storesShape: boolean;
  /**
   * About how many entries the journal of the partition keeps. Negative if memory is short, and null for a commit
   * that removes nothing.
   */
  readonly journalEntries: number | null;
  readonly installation: string;
}

/** Builds the keys and arguments of commit-5.lua, which explains each of them. */
export function createCommitCall(
  change: Commit,
  nextRaw: string,
  { validUntilMs, storesShape, journalEntries, installation }: CommitTerms,
) {
  const { stamp, entry, client, decision, shape } = change;
  const { hash, platform } = client;
  const partition = redis.getPartitionTag(hash);
  const order = decision === undefined ? '' : redis.hashOrderRef(platform, decision.orderRef);
  const told = encodeJournalEntry(entry);
  const record = decision === undefined ? '' : encodeDecision(decision, shape);
  // A decision that does not fit the shape is stored whole and needs no shape.
  const shaped = shape !== undefined && record !== '' && !record.startsWith('{') ? shape : null;
  return {
    keys: [
      redis.stateKey(hash),
      redis.journalKey(partition),
      decision === undefined ? redis.unusedKey(hash) : redis.decisionKey(hash, decision.seq),
      decision === undefined ? redis.unusedKey(hash) : redis.ordersKey(partition, order),
      redis.installationKey(partition),
    ],
    args: [
      String(validUntilMs),
      stamp.raw ?? '',
      nextRaw,
      formatStreamEntry(
        entry.platform,
        hash,
        decision === undefined ? told : `${told}.${redis.orderBucket(order)}`,
      ),
      record,
      decision === undefined
        ? ''
        : redis.formatOrderNote(order, redis.formatNotedDecision(hash, decision.seq)),
      String(entry.at),
      shaped === null ? installation : formatInstallationShapeMember(installation, shaped.id),
      shaped === null || !storesShape ? '' : shaped.text,
      journalEntries === null ? '' : String(journalEntries),
      ...listNotes(change),
    ],
  };
}

/** Lists the name, the text and the lifetime in ms of each note, one after the other. */
function listNotes({
  decision,
  idempotencyKey,
  displaced,
  notedAttributes,
  state: { hints },
}: Commit): readonly string[] {
  const notes: string[] = [];
  const note = (name: string, text: string, keptMs: number) => notes.push(name, text, String(keptMs));
  for (const order of displaced?.orders ?? [])
    note(redis.NOTE_KINDS.order + order.token, encodeOrder(order), displaced?.keptMs ?? 0);
  if (decision === undefined) return notes;
  if (idempotencyKey !== undefined)
    note(
      redis.NOTE_KINDS.answer + redis.hashName(idempotencyKey),
      String(decision.seq),
      RETENTION.idempotencyMs,
    );
  for (const { name, value } of notedAttributes ?? [])
    note(redis.NOTE_KINDS.attribute + redis.attributeValueId(name, value), '', RETENTION.sightingMs);
  // Devices are noted, so that an erasure still finds a device after newer devices have displaced it from the state.
  for (const { hint } of hints?.shown ?? []) {
    const { kind } = hint;
    if (kind !== 'fingerprint' && kind !== 'ip') continue;
    for (const id of listHmacsOfDevice(hint)) note(redis.NOTE_KINDS[kind] + id, '', RETENTION.sightingMs);
  }
  return notes;
}

/** Lists a device's HMAC, and its HMAC under the previous secret. */
export function listHmacsOfDevice({ id, formerId }: Pick<Hint, 'id' | 'formerId'>): readonly string[] {
  return formerId === undefined ? [id] : [id, formerId];
}

function readCommitReply(what: string, reply: unknown): CommitStatus {
  switch (reply) {
    case 1:
      return 'committed';
    case 0:
      return 'conflict';
    case -1:
      return 'expired';
    case -2:
      return 'shapeless';
    case -3:
      return 'foreign';
    default:
      throw new BadReply(what, reply);
  }
}

/** Lists the names in a client's notes of one kind. */
export function listNoteNamesOfKind(
  notes: readonly string[],
  kind: keyof typeof redis.NOTE_KINDS,
): readonly string[] {
  return notes.filter((name) => name.startsWith(redis.NOTE_KINDS[kind])).map((name) => name.slice(1));
}
