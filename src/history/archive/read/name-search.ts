import { VERDICTS } from '#decision/decision-words.ts';
import { type ClientKeys, formatDecisionId, type PlatformName } from '#decision/payer/client-key.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';
import type { ArchiveGap, Segment, UnreadSegment } from '#history/archive/archive-log.ts';
import {
  type BindAsPlaceholder,
  type ResultRow,
  toNumberOrNull,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import type { GetTableSql, Snapshot } from '#history/archive/snapshot.ts';
import { hasClientRows, TABLE_NAMES, TABLES, type TableName } from '#history/archive/tables.ts';
import type { ArchiveReader } from './archive-reader.ts';
import {
  compareTexts,
  type Device,
  isOneOfDevicesSql,
  type SeenClient,
  seenSql,
  toSeenClient,
} from './linked-clients.ts';

/** What to search for, and in which tables. */
export interface NameSearch {
  readonly platform: PlatformName;
  readonly keys: ClientKeys;
  /** A part of a name. The case of letters is ignored. */
  readonly part: string;
  /** The tables in which payers are searched. Empty if payers are not searched. */
  readonly payersIn: readonly TableName[];
  readonly hasOrders: boolean;
  /** Whether decisions are found by the beginning of the id of their request. */
  readonly hasRequests: boolean;
  readonly devices: readonly Device[];
  /** The most items of each kind. */
  readonly limit: number;
}

export interface FoundPayer {
  readonly clientIdKey: string;
  /** The time of the newest entry about the payer, in epoch ms. */
  readonly lastAt: number;
}

export interface FoundOrder extends FoundPayer {
  readonly orderRef: string;
  /** The newest verdict. Null for an order that was only reported. */
  readonly verdict: Verdict | null;
}

export interface FoundRequest {
  readonly requestId: string;
  readonly decisionId: string;
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly verdict: Verdict;
  readonly at: number;
}

/** A device with the payers who were seen on it, the last seen first. */
export interface FoundDevice {
  readonly device: Device;
  /** The number of payers, of whom at most SEEN_CLIENTS_MAX are counted. */
  readonly clients: number;
  readonly seen: readonly SeenClient[];
}

/**
 * The items of each kind that a search found. If there are more items than its limit, there is one more than the
 * limit.
 */
export interface FoundNames {
  readonly payers: readonly FoundPayer[];
  readonly orders: readonly FoundOrder[];
  readonly requests: readonly FoundRequest[];
  readonly devices: readonly FoundDevice[];
  /** The time, in epoch ms, from which on everything was searched. Null if nothing is kept. */
  readonly backTo: number | null;
  /** Whether nothing older is kept. */
  readonly isToTheEnd: boolean;
  /** The time, in epoch ms, before which everything was searched. Null if there is no such limit. */
  readonly upTo: number | null;
  readonly gaps: readonly ArchiveGap[];
  readonly unreadable: readonly UnreadSegment[];
}

/** How much a search reads at most. It ends at the first of these limits that it reaches. */
export interface NameSearchLimits {
  readonly rowsMax: number;
  readonly timeMaxMs: number;
  /** How many rows are read at once. The time is compared with its limit before each such step. */
  readonly stepRows: number;
}

/** The limits of every search. A million rows take about half a second of the engine's one thread. */
export const NAME_SEARCH_LIMITS: NameSearchLimits = {
  rowsMax: 5_000_000,
  timeMaxMs: 3_000,
  stepRows: 250_000,
};

/** The tables in which payers have names. */
export const PAYER_TABLES = TABLE_NAMES.filter(hasClientRows);

/**
 * The most payers of a device that are counted. An address of a carrier has thousands of payers, and nobody reads
 * their names.
 */
export const SEEN_CLIENTS_MAX = 1_000;

/**
 * Finds payers and orders by a part of their names, decisions by the beginning of their requests' ids, and the payers
 * on devices. Names that equal the part come first, then names that begin with it. Within each of these groups the
 * newest comes first. The search reads from the newest rows back in time, until enough names begin with the part or a
 * limit is reached.
 */
export async function findNames(
  archive: ArchiveReader,
  ask: NameSearch,
  limits: NameSearchLimits = NAME_SEARCH_LIMITS,
): Promise<FoundNames> {
  if (listSearchedTables(ask).length === 0) return NOTHING_ASKED;
  return archive.withOpenSnapshot(async (past) => {
    const segments = listSearchedTables(ask)
      .flatMap((table) => archive.archive.listSegments(past.state, { table, platform: ask.platform }))
      .toSorted((a, b) => b.to - a.to);
    const search = new NamesInPast(past, ask);
    const beganMs = performance.now();
    let read = 0;
    let rows = 0;
    do {
      const step = cutStep(segments, read, limits.stepRows);
      await search.readStep(step);
      read += step.length;
      rows += step.reduce((sum, segment) => sum + segment.rows, 0);
    } while (
      read < segments.length &&
      rows < limits.rowsMax &&
      performance.now() - beganMs < limits.timeMaxMs &&
      !search.hasEnough()
    );
    const [nextUnread] = segments.slice(read);
    const oldest = await search.findOldest(segments.slice(0, read));
    const { upTo, unshippedGaps: gaps, unreadable } = past;
    return {
      ...search.found(),
      backTo: nextUnread === undefined ? oldest : nextUnread.to + 1,
      isToTheEnd: nextUnread === undefined,
      upTo,
      gaps,
      unreadable,
    };
  });
}

const NOTHING_ASKED: FoundNames = {
  payers: [],
  orders: [],
  requests: [],
  devices: [],
  backTo: null,
  isToTheEnd: true,
  upTo: null,
  gaps: [],
  unreadable: [],
};

function listSearchedTables({ payersIn, hasOrders, hasRequests, devices }: NameSearch): readonly TableName[] {
  return [
    ...new Set<TableName>([
      ...payersIn,
      ...(hasOrders ? ORDER_TABLES : []),
      ...(hasRequests ? (['decisions'] as const) : []),
      ...(devices.length > 0 ? (['scores'] as const) : []),
    ]),
  ];
}

const ORDER_TABLES = ['decisions', 'outcomes'] as const satisfies readonly TableName[];

/** Takes the next segments with at most `rows` rows together. It takes at least one segment. */
function cutStep(segments: readonly Segment[], from: number, rows: number): readonly Segment[] {
  let sum = 0;
  const tooMany = segments.findIndex((segment, place) => {
    if (place < from) return false;
    sum += segment.rows;
    return sum > rows && place > from;
  });
  return segments.slice(from, tooMany === -1 ? undefined : tooMany);
}

/**
 * Collects the results from the segments of several steps. Every step also reads the rows that only the journal has.
 */
class NamesInPast {
  readonly #past: Snapshot;
  readonly #ask: NameSearch;
  readonly #payers = new Map<string, FoundPayer>();
  readonly #orders = new Map<string, FoundOrder>();
  readonly #requests = new Map<string, FoundRequest>();
  readonly #seen = new Map<string, SeenClient>();

  constructor(past: Snapshot, ask: NameSearch) {
    this.#past = past;
    this.#ask = ask;
  }

  async readStep(segments: readonly Segment[]): Promise<void> {
    const { payersIn, hasOrders, hasRequests, devices } = this.#ask;
    const read = (sql: (source: GetTableSql, bind: BindAsPlaceholder) => string) =>
      this.#readRows(segments, sql);
    if (payersIn.length > 0)
      for (const row of await read((source, bind) => payersSql(this.#ask, source, bind)))
        this.#addPayer(toFoundPayer(row));
    if (hasOrders)
      for (const row of await read((source, bind) => ordersSql(this.#ask, source, bind)))
        this.#addOrder(toFoundOrder(row));
    if (hasRequests)
      for (const row of await read((source, bind) => requestsSql(this.#ask, source, bind))) {
        const request = toFoundRequest(row, this.#ask);
        this.#requests.set(request.decisionId, request);
      }
    if (devices.length > 0)
      for (const row of await read((source, bind) => devicesSql(this.#ask, source, bind)))
        this.#addSeen(toSeenClient(row));
  }

  /** Whether so many names begin with the part that older rows need not be read. */
  hasEnough(): boolean {
    const { part, limit, payersIn, hasOrders } = this.#ask;
    const named = [
      ...(payersIn.length === 0 ? [] : [[...this.#payers.keys()]]),
      ...(hasOrders ? [[...this.#orders.values()].map(({ orderRef }) => orderRef)] : []),
    ];
    const isEnough = (names: readonly string[]) =>
      names.filter((name) => rankName(name, part) !== CONTAINS).length > limit;
    return named.length > 0 && named.every(isEnough);
  }

  found(): Pick<FoundNames, 'payers' | 'orders' | 'requests' | 'devices'> {
    const { part, devices, limit } = this.#ask;
    const newest = (a: { readonly at: number }, b: { readonly at: number }) => b.at - a.at;
    const cut = <T>(all: readonly T[]) => all.slice(0, limit + 1);
    return {
      payers: cut(sortFound([...this.#payers.values()], part, ({ clientIdKey }) => clientIdKey)),
      orders: cut(sortFound([...this.#orders.values()], part, ({ orderRef }) => orderRef)),
      requests: cut([...this.#requests.values()].toSorted(newest)),
      devices: devices.flatMap((device) => this.#listSeenOn(device)),
    };
  }

  /**
   * Returns the oldest time of these segments and of the rows that only the journal has. Returns null if there are
   * none.
   */
  async findOldest(segments: readonly Segment[]): Promise<number | null> {
    const [row] = await this.#readRows([], (source) => {
      const times = listSearchedTables(this.#ask).map(
        (table) => `SELECT min(${TABLES[table].time}) AS known_at FROM ${source(table, this.#bounds)}`,
      );
      return `SELECT epoch_ms(min(known_at))::DOUBLE AS oldest FROM (${times.join(' UNION ALL ')})`;
    });
    const unshipped = toNumberOrNull(row?.['oldest']);
    const oldest = Math.min(unshipped ?? Number.POSITIVE_INFINITY, ...segments.map(({ from }) => from));
    return Number.isFinite(oldest) ? oldest : null;
  }

  get #bounds() {
    return { platform: this.#ask.platform };
  }

  #readRows(
    segments: readonly Segment[],
    sql: (source: GetTableSql, bind: BindAsPlaceholder) => string,
  ): Promise<readonly ResultRow[]> {
    const names = new Set(segments.map(({ name }) => name));
    return this.#past.rows(sql, async (all) => all.filter(({ name }) => names.has(name)));
  }

  #addPayer(payer: FoundPayer): void {
    const before = this.#payers.get(payer.clientIdKey);
    if (before === undefined || before.lastAt < payer.lastAt) this.#payers.set(payer.clientIdKey, payer);
  }

  #addOrder(order: FoundOrder): void {
    const key = JSON.stringify([order.clientIdKey, order.orderRef]);
    const before = this.#orders.get(key);
    const [newer, older] =
      before !== undefined && before.lastAt >= order.lastAt ? [before, order] : [order, before];
    this.#orders.set(key, { ...newer, verdict: newer.verdict ?? older?.verdict ?? null });
  }

  #addSeen(seen: SeenClient): void {
    const key = JSON.stringify([seen.kind, seen.hmac, seen.clientIdKey]);
    const { firstAt, lastAt } = this.#seen.get(key) ?? seen;
    this.#seen.set(key, {
      ...seen,
      firstAt: Math.min(firstAt, seen.firstAt),
      lastAt: Math.max(lastAt, seen.lastAt),
    });
  }

  #listSeenOn(device: Device): readonly FoundDevice[] {
    const seen = [...this.#seen.values()]
      .filter(({ kind, hmac }) => kind === device.kind && hmac === device.hmac)
      .toSorted((a, b) => b.lastAt - a.lastAt || compareTexts(a.clientIdKey, b.clientIdKey));
    const clients = Math.min(seen.length, SEEN_CLIENTS_MAX);
    return seen.length === 0 ? [] : [{ device, clients, seen: seen.slice(0, this.#ask.limit) }];
  }
}

const [IS, BEGINS, CONTAINS] = [0, 1, 2];

function rankName(name: string, part: string): number {
  const [lower, wanted] = [name.toLowerCase(), part.toLowerCase()];
  if (lower === wanted) return IS;
  return lower.startsWith(wanted) ? BEGINS : CONTAINS;
}

function sortFound<Found extends FoundPayer>(
  all: readonly Found[],
  part: string,
  nameOf: (found: Found) => string,
): readonly Found[] {
  return all.toSorted(
    (a, b) =>
      rankName(nameOf(a), part) - rankName(nameOf(b), part) ||
      b.lastAt - a.lastAt ||
      compareTexts(nameOf(a), nameOf(b)),
  );
}

/** Returns SQL: whether a name contains the part. */
function containsSql(name: string, { part }: NameSearch, bind: BindAsPlaceholder): string {
  return `contains(lower(${name}), lower(${bind(part)}))`;
}

/** Returns the end of a query for names. It takes the first names in the sequence of `sortFound`. */
function firstNamesSql(name: string, { part, limit }: NameSearch, bind: BindAsPlaceholder): string {
  const rank = `CASE WHEN lower(${name}) = lower(${bind(part)}) THEN ${IS} WHEN starts_with(lower(${name}), lower(${bind(part)})) THEN ${BEGINS} ELSE ${CONTAINS} END`;
  return `ORDER BY ${rank}, last_at DESC, ${name} LIMIT ${limit + 1}`;
}

function payersSql(ask: NameSearch, source: GetTableSql, bind: BindAsPlaceholder): string {
  const { platform, payersIn } = ask;
  const named = payersIn.map(
    (table) =>
      `SELECT client_id_key, ${TABLES[table].time} AS known_at FROM ${source(table, { platform })} WHERE ${containsSql('client_id_key', ask, bind)}`,
  );
  return `SELECT client_id_key, epoch_ms(max(known_at))::DOUBLE AS last_at FROM (${named.join(' UNION ALL ')})
    GROUP BY client_id_key ${firstNamesSql('client_id_key', ask, bind)}`;
}

function ordersSql(ask: NameSearch, source: GetTableSql, bind: BindAsPlaceholder): string {
  const { platform } = ask;
  const named = ORDER_TABLES.map(
    (table) =>
      `SELECT order_ref, client_id_key, ${TABLES[table].time} AS known_at, ${table === 'decisions' ? 'verdict' : 'NULL AS verdict'}
      FROM ${source(table, { platform })} WHERE ${containsSql('order_ref', ask, bind)}`,
  );
  return `SELECT order_ref, client_id_key, epoch_ms(max(known_at))::DOUBLE AS last_at, arg_max(verdict, known_at) AS verdict
    FROM (${named.join(' UNION ALL ')}) GROUP BY order_ref, client_id_key ${firstNamesSql('order_ref', ask, bind)}`;
}

function requestsSql(
  { platform, part, limit }: NameSearch,
  source: GetTableSql,
  bind: BindAsPlaceholder,
): string {
  return `SELECT request_id, client_id_key, order_ref, verdict, seq, epoch_ms(decided_at)::DOUBLE AS decided_ms
    FROM ${source('decisions', { platform })} WHERE starts_with(lower(request_id), lower(${bind(part)}))
    ORDER BY decided_ms DESC, seq DESC LIMIT ${limit + 1}`;
}

function devicesSql({ platform, devices }: NameSearch, source: GetTableSql, bind: BindAsPlaceholder): string {
  return `${seenSql(source('scores', { platform }), 'true', isOneOfDevicesSql(devices, bind))}
    ORDER BY last_at DESC, client_id_key LIMIT ${SEEN_CLIENTS_MAX}`;
}

function toFoundPayer(row: ResultRow): FoundPayer {
  return {
    clientIdKey: toTextOrNull(row['client_id_key']) ?? '',
    lastAt: toNumberOrNull(row['last_at']) ?? 0,
  };
}

function toFoundOrder(row: ResultRow): FoundOrder {
  const verdict = toTextOrNull(row['verdict']);
  return {
    orderRef: toTextOrNull(row['order_ref']) ?? '',
    ...toFoundPayer(row),
    verdict: VERDICTS.find((one) => one === verdict) ?? null,
  };
}

function toFoundRequest(row: ResultRow, { platform, keys }: NameSearch): FoundRequest {
  const { orderRef, clientIdKey, verdict } = toFoundOrder(row);
  const at = toNumberOrNull(row['decided_ms']) ?? 0;
  const { hash } = keys.of(platform, clientIdKey);
  if (verdict === null) throw new Error('a decision has no verdict');
  return {
    requestId: toTextOrNull(row['request_id']) ?? '',
    decisionId: formatDecisionId(hash, toNumberOrNull(row['seq']) ?? 0, at),
    clientIdKey,
    orderRef,
    verdict,
    at,
  };
}
