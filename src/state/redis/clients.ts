import { setTimeout as sleep } from 'node:timers/promises';
import { ClientOfflineError, ErrorReply } from '@redis/client';
import { encodeDecision } from '#decision/decision-record.ts';
import { toToken } from '#decision/payer/client-state.ts';
import type { Hint } from '#decision/payer/hints.ts';
import { encodeOrder } from '#decision/payer/order-text.ts';
import { encodeClientState } from '#decision/payer/state-document.ts';
import { encodeJournalRecord } from '#state/journal.ts';
import * as redis from '#state/keys.ts';
import { RETENTION } from '#state/retention.ts';
import type { Change, LoadAlso, Stamp, Store } from '#state/store.ts';
import { StoreLate, StoreUnavailable } from '#state/store-errors.ts';
import { readSnapshot, toStoredAnswer } from '#state/stored-parts.ts';
import type { RedisConnection, SendTogether } from './connection/connection.ts';
import type { NodeCalls } from './connection/node-calls.ts';
import {
  BadReply,
  callChecked,
  isTextOrNull,
  requireItems,
  requireTextOrNull,
  requireWhole,
} from './connection/reply.ts';
import type { RedisDecisions } from './decisions.ts';
import type { MemoryRoom } from './health.ts';
import { type Installation, shapeMember } from './installation.ts';
import { formatJournalLine } from './journal.ts';
import type { NodeClocks } from './node-clocks.ts';
import { createTicket, RedisScript } from './script.ts';

const loadScript = new RedisScript('load-2.lua');

/** A shape in use is stored again this often, long before it would expire. */
const SHAPE_RENEWAL_MS = RETENTION.shapeMs / 6;

/** One commit of so many pushes out what is too old or too much, where memory is not short: that costs a tenth of a commit. */
export const COMMITS_A_TIDYING = 16;

/** How often it looks for a change whose answer was lost with its connection. */
const LOOK_AGAIN_MS = 10;

/** A change that took effect gets this long to be found before it counts as lost. */
const ANSWER_MARGIN_MS = 20;

interface RedisClientsParts {
  readonly connection: RedisConnection;
  readonly calls: NodeCalls;
  readonly clocks: NodeClocks;
  readonly decisions: RedisDecisions;
  readonly installation: Installation;
  /** How much room the servers have. */
  readonly memory: { readonly room: MemoryRoom };
}

/** States, notes and records of clients: everything in the slot of a client. */
export function createRedisClients(parts: RedisClientsParts): Pick<Store, 'load' | 'commit'> {
  const { connection, calls, clocks, decisions, installation, memory } = parts;
  const { commands } = connection;
  const commitScript = createCommitScript({ ...KEPT, installation: installation.known.id });
  let commits = 0;
  /** When a shape was stored in a partition by this process, by the process's monotonic clock. */
  const storedShapes = new Map<string, number>();

  const tryToCommit = async (change: Change, next: string, storesShape: boolean): Promise<CommitStatus> => {
    const state = redis.stateKey(change.client.hash);
    const untilMs = validUntilMs(change.stamp, calls.limitMsOn(state));
    const tidies = memory.room === 'little' || ++commits % COMMITS_A_TIDYING === 0;
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
   * Whether a change without a trustworthy answer took effect, found by the state that it would leave. The search
   * lasts as long as the change could still arrive; the connection comes back within some milliseconds.
   */
  const isStored = async (
    { client, stamp }: Change,
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
          const args = loadArgs(hash, also);
          const { sendTogether } = connection;
          if (args === null && sendTogether !== undefined) return loadState(sendTogether, key);
          return loadScript.run(connection, [key, redis.notesKey(hash)], args ?? ['', '', ''], readLoadReply);
        }),
      );
      const answer =
        answered === null
          ? null
          : toStoredAnswer(await decisions.reader.decision({ clientHash: hash, text: answered }));
      return readSnapshot({ state, order, answer }, time);
    },
    commit: async (change) => {
      const { client, shape } = change;
      const next = encodeClientState(change.state);
      const place = shape === undefined ? '' : redis.shapeKey(redis.getPartition(client.hash), shape.id);
      const storedMs = storedShapes.get(place);
      const believed = storedMs !== undefined && performance.now() - storedMs < SHAPE_RENEWAL_MS;
      const status = await tryToCommit(change, next, !believed);
      if (status === 'shapeless') {
        storedShapes.delete(place);
        return resultOf(await tryToCommit(change, next, true));
      }
      if (status === 'foreign') installation.suspect(client.hash);
      if (status === 'committed' && !believed && shape !== undefined)
        storedShapes.set(place, performance.now());
      return resultOf(status);
    },
  };
}

/** Null where the state alone is wanted. */
function loadArgs(hash: string, { orderRef, idempotencyKey }: LoadAlso): readonly string[] | null {
  if (orderRef === undefined && idempotencyKey === undefined) return null;
  return [
    orderRef === undefined ? '' : redis.NOTES.order + toToken(orderRef),
    idempotencyKey === undefined ? '' : redis.NOTES.answer + redis.nameOf(idempotencyKey),
    redis.decisionPrefix(hash),
  ];
}

/** By the store's clock: a later commit is not applied, because its caller has been refused by then. */
function validUntilMs({ storeTimeMs, arrivedMs }: Stamp, limitMs: number): number {
  const nowMs = storeTimeMs + (performance.now() - arrivedMs);
  return Math.floor(nowMs + limitMs - ANSWER_MARGIN_MS);
}

/**
 * Redis may have done what it was asked without anybody hearing of it: it did not refuse, was not late, and was
 * asked.
 */
function isAnswerLost(error: unknown): boolean {
  if (!(error instanceof StoreUnavailable) || error instanceof StoreLate) return false;
  const { cause } = error;
  return cause instanceof Error && !(cause instanceof ErrorReply) && !(cause instanceof ClientOfflineError);
}

/**
 * The state alone, by plain commands: Redis does half of what it does for a script. The ticket that comes back behind the others shows that
 * these are the replies to this call.
 */
function loadState(sendTogether: SendTogether, key: string): Promise<ReturnType<typeof readLoadReply>> {
  const ticket = createTicket();
  return sendTogether([['GET', key], ['TIME'], ['ECHO', ticket]]).then(([state, time, echo]) => {
    if (echo !== ticket) throw new BadReply('ECHO', echo);
    return readLoadReply('GET and TIME', [time, state]);
  });
}

/** What load-2.lua returns. */
function readLoadReply(what: string, reply: unknown) {
  const [time, state, order, answered] = requireItems(what, reply);
  const [seconds, micros] = requireItems(what, time);
  return {
    time: requireWhole(what, Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)),
    state: requireTextOrNull(what, state) || null,
    order: requireTextOrNull(what, order),
    answered: requireTextOrNull(what, answered),
  };
}

function resultOf(status: CommitStatus): 'committed' | 'conflict' {
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
 * The result of a change. Expired: it arrived after its caller had given up. Shapeless: its record has a shape that
 * is not stored beside it. Foreign: the server belongs to another installation, or to none.
 */
type CommitStatus = 'committed' | 'conflict' | 'expired' | 'shapeless' | 'foreign';

/** How long and how much of everything is kept. */
export const KEPT = {
  stateMs: RETENTION.stateMs,
  recordMs: RETENTION.decisionMs,
  shapeMs: RETENTION.shapeMs,
  decisionsOfOrders: RETENTION.decisionsPerBucket,
  notes: RETENTION.notesPerClient,
};

/** Of each partition, as commit-5.lua takes it. */
const JOURNAL_ENTRIES: Readonly<Record<MemoryRoom, number>> = {
  enough: Math.ceil(RETENTION.journalEntries / redis.PARTITIONS.length),
  little: -Math.ceil(RETENTION.journalEntriesMin / redis.PARTITIONS.length),
  unknown: Math.ceil(RETENTION.journalEntriesMin / redis.PARTITIONS.length),
};

/** The script of a node, with what never changes while it runs. */
export function createCommitScript({
  installation,
  ...kept
}: Readonly<Record<keyof typeof KEPT, number>> & { readonly installation: string }): RedisScript {
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

/** How a change is committed. */
interface CommitTerms {
  /** It is not applied after this, by the store's clock. */
  readonly validUntilMs: number;
  readonly storesShape: boolean;
  /** Kept in the journal of the partition, about; negative: where there is little memory; null: this commit tidies nothing. */
  readonly journalEntries: number | null;
  readonly installation: string;
}

/** The keys and arguments of commit-5.lua, which says what each of them is. */
export function createCommitCall(
  change: Change,
  nextRaw: string,
  { validUntilMs, storesShape, journalEntries, installation }: CommitTerms,
) {
  const { stamp, entry, client, decision, shape } = change;
  const { hash, platform } = client;
  const partition = redis.getPartition(hash);
  const order = decision === undefined ? '' : redis.orderName(platform, decision.orderRef);
  const told = encodeJournalRecord(entry);
  const record = decision === undefined ? '' : encodeDecision(decision, shape);
  // A decision that does not fit the shape contains everything and needs none.
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
      formatJournalLine(
        entry.platform,
        hash,
        decision === undefined ? told : `${told}.${redis.orderBucket(order)}`,
      ),
      record,
      decision === undefined ? '' : redis.orderNote(order, redis.orderPlace(hash, decision.seq)),
      String(entry.at),
      shaped === null ? installation : shapeMember(installation, shaped.id),
      shaped === null || !storesShape ? '' : shaped.text,
      journalEntries === null ? '' : String(journalEntries),
      ...notesOf(change),
    ],
  };
}

/** Name, text and how long it is kept, of each note. */
function notesOf({
  decision,
  idempotencyKey,
  displaced,
  notedAttributes,
  state: { hints },
}: Change): readonly string[] {
  const notes: string[] = [];
  const note = (name: string, text: string, keptMs: number) => notes.push(name, text, String(keptMs));
  for (const order of displaced?.orders ?? [])
    note(redis.NOTES.order + order.token, encodeOrder(order), displaced?.keptMs ?? 0);
  if (decision === undefined) return notes;
  if (idempotencyKey !== undefined)
    note(redis.NOTES.answer + redis.nameOf(idempotencyKey), String(decision.seq), RETENTION.idempotencyMs);
  for (const { name, value } of notedAttributes ?? [])
    note(redis.NOTES.attribute + redis.attributeId(name, value), '', RETENTION.sightingMs);
  // So that an erasure finds the devices on which a verdict was noted after the state has newer ones.
  for (const { hint } of hints?.shown ?? []) {
    const { kind } = hint;
    if (kind !== 'fingerprint' && kind !== 'ip') continue;
    for (const id of listDeviceIds(hint)) note(redis.NOTES[kind] + id, '', RETENTION.sightingMs);
  }
  return notes;
}

/** The device's HMAC, and the one under the previous secret. */
export function listDeviceIds({ id, formerId }: Pick<Hint, 'id' | 'formerId'>): readonly string[] {
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

/** What a client's notes of one kind are about. */
export function listNotedNames(notes: readonly string[], kind: keyof typeof redis.NOTES): readonly string[] {
  return notes.filter((name) => name.startsWith(redis.NOTES[kind])).map((name) => name.slice(1));
}
