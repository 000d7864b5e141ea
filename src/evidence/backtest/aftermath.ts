import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OrderOutcome } from '../../client/order.ts';
import { VERDICTS, type Verdict } from '../../rules/rule-set.ts';

/** What one rule set did to the orders whose outcome is known. */
export interface OrderEffects {
  /** Paid orders that had to wait at least once and were never blocked. */
  readonly paidHeldBack: number;
  /** Paid orders that were blocked at least once. */
  readonly paidBlocked: number;
  /** Unpaid orders for which no requisite was granted. */
  readonly unpaidStopped: number;
}

/**
 * Orders with a decision and a known outcome; of several outcomes the last one counts. An order whose
 * last outcome is a technical failure says nothing about the payer and is left out.
 */
export interface OutcomeReport {
  readonly paidOrders: number;
  readonly unpaidOrders: number;
  readonly base: OrderEffects;
  readonly candidate: OrderEffects;
}

/** What became of those who were told to wait at one level of the ladder. */
export interface LadderLevelReport {
  readonly level: number;
  /** WAIT verdicts of this level. */
  readonly waits: number;
  /** Different clients who got one. */
  readonly clients: number;
  /** Of these, who asked for a verdict again afterwards. */
  readonly cameBack: number;
  /** Of these, who then paid an order that they asked for after the wait. */
  readonly paid: number;
}

export interface LadderReport {
  readonly base: readonly LadderLevelReport[];
  readonly candidate: readonly LadderLevelReport[];
}

/** A verdict with the level of the wait that it imposed; 0 unless it is WAIT. */
export interface LeveledVerdict {
  readonly verdict: Verdict;
  readonly level: number;
}

/** Orders are told apart within a partition, so one partition after the other fits into memory. */
const PARTITIONS = 256;
const WORDS_PER_EVENT = 4;
const EVENTS_PER_BLOCK = 1024;
const BLOCK_WORDS = WORDS_PER_EVENT * EVENTS_PER_BLOCK;
const BLOCK_BYTES = 4 * BLOCK_WORDS;

const DECISION = 0;
const PAID = 1;
const UNPAID = 2;
const NEITHER = 3;

/** No ladder has more levels, and an event has room for no more. */
const MAX_LEVEL = 31;

/** One partition's events: the block being filled, and where the full ones lie in the file. */
interface Partition {
  readonly block: Uint32Array;
  words: number;
  readonly written: number[];
}

/**
 * Joins decisions to the outcomes that came after them, by order and by client. Each event is 16 bytes,
 * put by client into one of 256 partitions; full blocks go to a temporary file, so that memory stays a
 * few MB while reading, and at the end holds one 256th of the events, whatever the length of the journal.
 */
export class Aftermath {
  readonly #partitions = new Map<number, Partition>();
  #folder: string | null = null;
  #file: number | null = null;
  #blocks = 0;

  decision(
    platform: string,
    clientIdKey: string,
    orderRef: string,
    base: LeveledVerdict,
    candidate: LeveledVerdict,
  ): void {
    this.#note(platform, clientIdKey, orderRef, DECISION | (pack(base) << 2) | (pack(candidate) << 9));
  }

  outcome(platform: string, clientIdKey: string, orderRef: string, order: OrderOutcome): void {
    const code = order.cause === 'TECHNICAL' ? NEITHER : order.outcome === 'PAID' ? PAID : UNPAID;
    this.#note(platform, clientIdKey, orderRef, code);
  }

  report(): { readonly outcomes: OutcomeReport; readonly ladder: LadderReport } {
    const totals = { paidOrders: 0, unpaidOrders: 0, base: new SideTotals(), candidate: new SideTotals() };
    for (const partition of this.#partitions.values()) addPartition(totals, this.#events(partition));
    const { paidOrders, unpaidOrders, base, candidate } = totals;
    return {
      outcomes: { paidOrders, unpaidOrders, base: base.effects(), candidate: candidate.effects() },
      ladder: { base: base.ladder(), candidate: candidate.ladder() },
    };
  }

  /** Removes the temporary file, when there was need for one. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    if (this.#folder !== null) rmSync(this.#folder, { recursive: true, force: true });
    this.#file = null;
    this.#folder = null;
  }

  #note(platform: string, clientIdKey: string, orderRef: string, code: number): void {
    const low = hashText(clientIdKey, hashText(platform, 0x811c9dc5));
    const high = hashText(clientIdKey, hashText(platform, 0x2545f491));
    const partition = this.#partition(low % PARTITIONS);
    const { block, words } = partition;
    block[words] = low;
    block[words + 1] = high;
    block[words + 2] = hashText(orderRef, 0x811c9dc5);
    block[words + 3] = code;
    partition.words += WORDS_PER_EVENT;
    if (partition.words === BLOCK_WORDS) this.#write(partition);
  }

  #partition(number: number): Partition {
    const known = this.#partitions.get(number);
    if (known !== undefined) return known;
    const partition = { block: new Uint32Array(BLOCK_WORDS), words: 0, written: [] };
    this.#partitions.set(number, partition);
    return partition;
  }

  #write(partition: Partition): void {
    writeSync(this.#spill(), partition.block, 0, BLOCK_BYTES, this.#blocks * BLOCK_BYTES);
    partition.written.push(this.#blocks);
    partition.words = 0;
    this.#blocks++;
  }

  #spill(): number {
    if (this.#file !== null) return this.#file;
    this.#folder = mkdtempSync(join(tmpdir(), 'scoring-backtest-'));
    this.#file = openSync(join(this.#folder, 'events'), 'wx+', 0o600);
    return this.#file;
  }

  /** All events of a partition in the order of the journal. */
  #events({ block, words, written }: Partition): Uint32Array {
    const events = new Uint32Array(written.length * BLOCK_WORDS + words);
    for (const [index, place] of written.entries()) {
      readSync(this.#spill(), events, index * BLOCK_BYTES, BLOCK_BYTES, place * BLOCK_BYTES);
    }
    events.set(block.subarray(0, words), written.length * BLOCK_WORDS);
    return events;
  }
}

interface Totals {
  paidOrders: number;
  unpaidOrders: number;
  readonly base: SideTotals;
  readonly candidate: SideTotals;
}

/** What is known of one order of one client once all its events were seen. */
interface OrderHistory {
  readonly base: Side;
  readonly candidate: Side;
  decisions: number;
  /** Place of the last decision about it. */
  lastDecision: number;
  outcome: number;
}

interface Side {
  waited: boolean;
  blocked: boolean;
  granted: boolean;
}

interface ClientHistory {
  readonly orders: Map<number, OrderHistory>;
  /** Place of the first wait, by level. */
  readonly baseWaits: Map<number, number>;
  readonly candidateWaits: Map<number, number>;
  lastDecision: number;
}

class SideTotals {
  #paidHeldBack = 0;
  #paidBlocked = 0;
  #unpaidStopped = 0;
  readonly #levels = new Map<number, { waits: number; clients: number; cameBack: number; paid: number }>();

  effects(): OrderEffects {
    return {
      paidHeldBack: this.#paidHeldBack,
      paidBlocked: this.#paidBlocked,
      unpaidStopped: this.#unpaidStopped,
    };
  }

  ladder(): readonly LadderLevelReport[] {
    return [...this.#levels]
      .map(([level, counts]) => ({ level, ...counts }))
      .toSorted((a, b) => a.level - b.level);
  }

  wait(level: number): void {
    this.#level(level).waits++;
  }

  order({ waited, blocked, granted }: Side, paid: boolean): void {
    if (paid && blocked) this.#paidBlocked++;
    else if (paid && waited) this.#paidHeldBack++;
    else if (!paid && !granted) this.#unpaidStopped++;
  }

  client(waits: ReadonlyMap<number, number>, lastDecision: number, lastPaid: number): void {
    for (const [level, place] of waits) {
      const counts = this.#level(level);
      counts.clients++;
      if (lastDecision > place) counts.cameBack++;
      if (lastPaid > place) counts.paid++;
    }
  }

  #level(level: number) {
    const counts = this.#levels.get(level) ?? { waits: 0, clients: 0, cameBack: 0, paid: 0 };
    this.#levels.set(level, counts);
    return counts;
  }
}

function addPartition(totals: Totals, events: Uint32Array): void {
  const clients = new Map<number, ClientHistory>();
  for (let place = 0; place < events.length; place += WORDS_PER_EVENT) {
    // 53 bits of the two hashes: as much as a number holds exactly.
    const key = ((events[place + 1] ?? 0) & 0x1fffff) * 2 ** 32 + (events[place] ?? 0);
    const client = historyOf(clients, key);
    const order = orderOf(client.orders, events[place + 2] ?? 0);
    const code = events[place + 3] ?? 0;
    if ((code & 3) !== DECISION) order.outcome = code;
    else addDecision(totals, client, order, code, place);
  }
  for (const client of clients.values()) addClient(totals, client);
}

function addDecision(
  totals: Totals,
  client: ClientHistory,
  order: OrderHistory,
  code: number,
  place: number,
): void {
  const base = unpack(code >>> 2);
  const candidate = unpack(code >>> 9);
  order.decisions++;
  // A decision about an order that is final already cannot have led to its payment.
  if (order.outcome !== PAID) order.lastDecision = place;
  client.lastDecision = place;
  addSide(order.base, base);
  addSide(order.candidate, candidate);
  addWait(totals.base, client.baseWaits, base, place);
  addWait(totals.candidate, client.candidateWaits, candidate, place);
}

function addSide(side: Side, { verdict }: LeveledVerdict): void {
  switch (verdict) {
    case 'WAIT':
      side.waited = true;
      return;
    case 'BLOCK':
      side.blocked = true;
      return;
    case 'GET_NEW':
    case 'GET_SAME_STICKY':
      side.granted = true;
      return;
    default:
      verdict satisfies never;
  }
}

function addWait(
  totals: SideTotals,
  waits: Map<number, number>,
  { verdict, level }: LeveledVerdict,
  place: number,
): void {
  if (verdict !== 'WAIT') return;
  totals.wait(level);
  if (!waits.has(level)) waits.set(level, place);
}

function addClient(totals: Totals, client: ClientHistory): void {
  let lastPaid = -1;
  for (const { base, candidate, decisions, lastDecision, outcome } of client.orders.values()) {
    if (decisions === 0 || (outcome !== PAID && outcome !== UNPAID)) continue;
    const paid = outcome === PAID;
    if (paid) totals.paidOrders++;
    else totals.unpaidOrders++;
    totals.base.order(base, paid);
    totals.candidate.order(candidate, paid);
    if (paid) lastPaid = Math.max(lastPaid, lastDecision);
  }
  totals.base.client(client.baseWaits, client.lastDecision, lastPaid);
  totals.candidate.client(client.candidateWaits, client.lastDecision, lastPaid);
}

function historyOf(clients: Map<number, ClientHistory>, key: number): ClientHistory {
  const known = clients.get(key);
  if (known !== undefined) return known;
  const client = { orders: new Map(), baseWaits: new Map(), candidateWaits: new Map(), lastDecision: -1 };
  clients.set(key, client);
  return client;
}

function orderOf(orders: Map<number, OrderHistory>, key: number): OrderHistory {
  const known = orders.get(key);
  if (known !== undefined) return known;
  const side = () => ({ waited: false, blocked: false, granted: false });
  const order = { base: side(), candidate: side(), decisions: 0, lastDecision: -1, outcome: 0 };
  orders.set(key, order);
  return order;
}

/** Seven bits: two for the verdict, five for the level. */
function pack({ verdict, level }: LeveledVerdict): number {
  return VERDICTS.indexOf(verdict) | (Math.min(level, MAX_LEVEL) << 2);
}

function unpack(bits: number): LeveledVerdict {
  return { verdict: VERDICTS[bits & 3] ?? 'GET_NEW', level: (bits >>> 2) & MAX_LEVEL };
}

/** FNV-1a over the text's code units, stirred at the end so that every bit depends on all of them. */
function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
