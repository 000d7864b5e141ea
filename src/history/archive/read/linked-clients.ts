import { VERDICTS } from '#decision/decision-words.ts';
import { type ClientKeys, type PlatformName, toClientNumberText } from '#decision/payer/client-key.ts';
import type { Override } from '#decision/payer/client-state.ts';
import type { Verdict } from '#decision/rules/rule-set.ts';
import {
  IS_ATTEMPT_SQL,
  REPORTED_RESULT_SQL,
  SETTLED_AMOUNT_SQL,
  SETTLED_CURRENCY_SQL,
} from '#history/archive/order-status.ts';
import {
  type BindAsPlaceholder,
  type ResultRow,
  toBooleanOrNull,
  toNumberOrNull,
  toNumbersByColumn,
  toTextOrNull,
} from '#history/archive/query-engine.ts';
import type { Snapshot } from '#history/archive/snapshot.ts';
import { RECORD_COLUMNS_BY_TABLE, TABLES, type TableName } from '#history/archive/tables.ts';
import type { Store } from '#state/store.ts';
import type { ArchiveReader } from './archive-reader.ts';
import { type ErasedSinceMoment, readErasedSinceMoment } from './as-of.ts';

/** The things that payers may share: a device, known by its fingerprint, or an IP address. */
export const DEVICE_KINDS = ['fingerprint', 'ip'] as const;

type DeviceKind = (typeof DEVICE_KINDS)[number];

/** A device or an address, known by its HMAC. */
export interface Device {
  readonly kind: DeviceKind;
  readonly hmac: string;
}

/** A client seen on a device, according to the client's scores. Times are epoch ms. */
export interface SeenClient extends Device {
  readonly clientIdKey: string;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** A device with the clients who were seen on it. */
interface DeviceClients {
  readonly device: Device;
  /** The number of clients, listed or not. */
  readonly clients: number;
  /** The clients, the last seen first. Empty if there are more than the requested number. */
  readonly seen: readonly SeenClient[];
}

/** An order of a client, with the decisions about it. */
export interface LinkedOrder {
  readonly clientIdKey: string;
  readonly orderRef: string;
  /** The number of decisions by verdict. All are 0 for an order that was only reported. */
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly granted: boolean;
  readonly amount: number | null;
  readonly currency: string | null;
  /** The number that `REPORTED_RESULT_SQL` gives. Null if there is no report. */
  readonly report: number | null;
}

/** The span of time that is read, in epoch ms. */
interface LinkTime {
  readonly from: number;
  /** A moment. Everything that came later is left out. Null if nothing is left out. */
  readonly asOf: number | null;
}

interface Span extends LinkTime {
  readonly platform: PlatformName;
  readonly keys: ClientKeys;
}

/** Runs `work` on the links between clients and devices within a span. `work` may run twice. */
export async function withLinkReader<T>(
  { store, archive }: { readonly store: Store; readonly archive: ArchiveReader },
  platform: PlatformName,
  time: LinkTime,
  work: (reading: LinkReader) => Promise<T>,
): Promise<T> {
  const span = { platform, ...time, keys: store.clientKeys };
  return archive.withOpenSnapshot((past) => work(new LinkReader(span, past)));
}

const NO_VERDICTS: LinkedOrder['verdicts'] = { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 };

/** Answers questions about the clients and devices of one platform, from archive and journal at one moment. */
class LinkReader {
  readonly #span: Span;
  readonly #past: Snapshot;

  constructor(span: Span, past: Snapshot) {
    this.#span = span;
    this.#past = past;
  }

  /** Whether something could not be read so far, or was too much to read. */
  isIncomplete(): boolean {
    return !this.#past.isWhole;
  }

  async devicesOf(clients: readonly string[]): Promise<readonly SeenClient[]> {
    const rows = await this.#readRows('scores', (source, bind) =>
      seenSql(source, this.#areClientsSql(clients, bind), 'true'),
    );
    return rows.map(toSeenClient);
  }

  async clientsOn(devices: readonly Device[], clientsMax: number): Promise<readonly DeviceClients[]> {
    if (devices.length === 0) return [];
    const rows = await this.#readRows(
      'scores',
      (source, bind) => `SELECT *, count(*) OVER (PARTITION BY kind, hmac) AS clients
        FROM (${seenSql(source, 'true', isOneOfDevicesSql(devices, bind))})
        QUALIFY row_number() OVER (PARTITION BY kind, hmac ORDER BY last_at DESC, client_id_key) <= ${clientsMax + 1}`,
    );
    const seenOn = Map.groupBy(rows, (row) => getDeviceName(toSeenClient(row)));
    return devices.map((device) => {
      const there = seenOn.get(getDeviceName(device)) ?? [];
      const clients = toNumberOrNull(there[0]?.['clients']) ?? 0;
      return { device, clients, seen: clients > clientsMax ? [] : there.map(toSeenClient) };
    });
  }

  async ordersOf(clients: readonly string[], ordersMax: number): Promise<readonly LinkedOrder[]> {
    const [decided, reported] = [
      await this.#readRows('decisions', (source, bind) =>
        decidedSql(source, this.#areClientsSql(clients, bind), ordersMax),
      ),
      await this.#readRows('outcomes', (source, bind) =>
        reportedSql(source, this.#areClientsSql(clients, bind), ordersMax),
      ),
    ];
    const orders = new Map<string, LinkedOrder>();
    for (const row of decided) orders.set(getOrderName(row), toDecidedOrder(row));
    for (const row of reported) {
      const name = getOrderName(row);
      orders.set(name, toReportedOrder(row, orders.get(name)));
    }
    return [...orders.values()];
  }

  /** Returns the last override of each of these clients, whenever it was made. */
  async overridesOf(clients: readonly string[]): Promise<ReadonlyMap<string, Override | null>> {
    const newest = `QUALIFY row_number() OVER (PARTITION BY client_id_key ORDER BY changed_at DESC, journal_ms DESC, journal_seq DESC) = 1`;
    const rows = await this.#readRows(
      'overrides',
      (source, bind) => `SELECT * FROM ${source} WHERE ${this.#areClientsSql(clients, bind)} ${newest}`,
      { ...this.#span, from: 0 },
    );
    return new Map(
      rows.map((row) => {
        const { clientIdKey, override } = RECORD_COLUMNS_BY_TABLE.overrides.read(row);
        return [clientIdKey, override];
      }),
    );
  }

  /** Returns how much was erased since the moment `asOf`. Returns undefined if there is no such moment. */
  async asOf(): Promise<ErasedSinceMoment | undefined> {
    const { asOf, platform } = this.#span;
    return asOf === null ? undefined : readErasedSinceMoment(this.#past, asOf, platform);
  }

  /**
   * Returns SQL: whether a row is about one of these clients. The hashes come first, because the engine finds rows by
   * the hash and would otherwise read all rows to compare names.
   */
  #areClientsSql(clients: readonly string[], bind: BindAsPlaceholder): string {
    const { platform, keys } = this.#span;
    const numbers = clients.map((clientIdKey) => toClientNumberText(keys.of(platform, clientIdKey).hash));
    return `client_hash IN (${numbers.join(', ')}) AND client_id_key IN (${clients.map(bind).join(', ')})`;
  }

  #readRows(
    table: TableName,
    sql: (source: string, bind: BindAsPlaceholder) => string,
    { from, asOf }: LinkTime = this.#span,
  ): Promise<readonly ResultRow[]> {
    const { time } = TABLES[table];
    const { platform } = this.#span;
    const until = asOf === null ? '' : `AND ${time} < make_timestamp_ms(${asOf + 1})`;
    return this.#past.rows((source, bind) =>
      sql(
        `(SELECT * FROM ${source(table, { platform, from, to: asOf })} WHERE ${time} >= make_timestamp_ms(${from}) ${until})`,
        bind,
      ),
    );
  }
}

function getDeviceName({ kind, hmac }: Device): string {
  return `${kind} ${hmac}`;
}

/** Returns SQL: whether `kind` and `hmac` are those of one of these devices. */
export function isOneOfDevicesSql(devices: readonly Device[], bind: BindAsPlaceholder): string {
  const ofKind = (wanted: DeviceKind) =>
    devices
      .filter(({ kind }) => kind === wanted)
      .map(({ hmac }) => bind(hmac))
      .join(', ') || 'NULL';
  return DEVICE_KINDS.map((kind) => `(kind = '${kind}' AND hmac IN (${ofKind(kind)}))`).join(' OR ');
}

/** Returns SQL for the rows of SeenClient in a table of scores. `ofClients` and `onDevices` are conditions in SQL. */
export function seenSql(source: string, ofClients: string, onDevices: string): string {
  const of = DEVICE_KINDS.map(
    (kind) =>
      `SELECT client_id_key, '${kind}' AS kind, ${kind} AS hmac, scored_at FROM ${source} WHERE ${kind} IS NOT NULL AND ${ofClients}`,
  );
  return `SELECT client_id_key, kind, hmac, min(scored_at) AS first_at, max(scored_at) AS last_at
    FROM (${of.join(' UNION ALL ')}) WHERE ${onDevices} GROUP BY ALL`;
}

export function toSeenClient(row: ResultRow): SeenClient {
  return {
    kind: toTextOrNull(row['kind']) === 'ip' ? 'ip' : 'fingerprint',
    hmac: toTextOrNull(row['hmac']) ?? '',
    clientIdKey: toTextOrNull(row['client_id_key']) ?? '',
    firstAt: toNumberOrNull(row['first_at']) ?? 0,
    lastAt: toNumberOrNull(row['last_at']) ?? 0,
  };
}

function decidedSql(source: string, ofClients: string, ordersMax: number): string {
  const counts = VERDICTS.map((verdict) => `count(*) FILTER (verdict = '${verdict}') AS ${verdict}`);
  return `SELECT client_id_key, order_ref, ${counts.join(', ')}, bool_or(${IS_ATTEMPT_SQL}) AS granted,
      arg_max(fact_amount, seq) AS amount, arg_max(fact_currency, seq) AS currency
    FROM ${source} WHERE ${ofClients} GROUP BY client_id_key, order_ref ${newestOfEachSql('max(seq)', ordersMax)}`;
}

function reportedSql(source: string, ofClients: string, ordersMax: number): string {
  return `SELECT client_id_key, order_ref, ${REPORTED_RESULT_SQL} AS report, arg_max(amount, reported_at) AS asked,
      ${SETTLED_AMOUNT_SQL} AS settled_amount, ${SETTLED_CURRENCY_SQL} AS settled_currency
    FROM ${source} WHERE ${ofClients} GROUP BY client_id_key, order_ref ${newestOfEachSql('max(reported_at)', ordersMax)}`;
}

function newestOfEachSql(by: string, max: number): string {
  return `QUALIFY row_number() OVER (PARTITION BY client_id_key ORDER BY ${by} DESC) <= ${max}`;
}

function getOrderName(row: ResultRow): string {
  return JSON.stringify([row['client_id_key'], row['order_ref']]);
}

function toDecidedOrder(row: ResultRow): LinkedOrder {
  return {
    clientIdKey: toTextOrNull(row['client_id_key']) ?? '',
    orderRef: toTextOrNull(row['order_ref']) ?? '',
    verdicts: toNumbersByColumn(row, NO_VERDICTS),
    granted: toBooleanOrNull(row['granted']) === true,
    amount: toNumberOrNull(row['amount']),
    currency: toTextOrNull(row['currency']),
    report: null,
  };
}

/** Converts the row of an order's reports. Adds the decisions about the order if some are known. */
function toReportedOrder(row: ResultRow, decided: LinkedOrder | undefined): LinkedOrder {
  return {
    clientIdKey: toTextOrNull(row['client_id_key']) ?? '',
    orderRef: toTextOrNull(row['order_ref']) ?? '',
    verdicts: decided?.verdicts ?? NO_VERDICTS,
    granted: decided?.granted ?? false,
    ...pickAmount(row, decided),
    report: toNumberOrNull(row['report']),
  };
}

/**
 * Returns the settled amount. If there is none, returns the amount of the decisions, or otherwise the requested
 * amount that the report repeats.
 */
function pickAmount(
  row: ResultRow,
  decided: LinkedOrder | undefined,
): Pick<LinkedOrder, 'amount' | 'currency'> {
  const settled = toNumberOrNull(row['settled_amount']);
  if (settled !== null) return { amount: settled, currency: toTextOrNull(row['settled_currency']) };
  if (decided !== undefined && decided.amount !== null) return decided;
  const [amount, currency = null] = toTextOrNull(row['asked'])?.split(' ') ?? [];
  return { amount: amount === undefined ? null : Number(amount), currency };
}

/** How a client is linked to the client in question, the closest kind first. */
export const LINK_KIND_TEXTS = {
  self: 'the client itself',
  device: 'by a device at each step',
  addresses: 'by two addresses at least, where not by a device',
  address: 'by a single address somewhere on the way, which neighbours share, too',
} as const;

type LinkKind = keyof typeof LINK_KIND_TEXTS;

/**
 * A device or address with more clients than this is probably a shop's terminal or a carrier's shared address. It is
 * shown, but links no clients.
 */
export const DEVICE_CLIENTS_MAX = 30;

const DEVICES_MAX = 60;

export interface LinksAsk extends LinkTime {
  readonly depth: number;
  readonly clientsMax: number;
}

/** The clients and devices that are linked to a client. */
export interface LinkGraph {
  readonly devices: readonly DeviceClients[];
  /** The clients that are shown, the closest first. */
  readonly ties: ReadonlyMap<string, LinkKind>;
  /** The devices on which these clients were seen. */
  readonly seen: readonly SeenClient[];
  readonly cut: { readonly devices: number; readonly clients: number };
}

/**
 * Finds the devices of a client and the clients on these devices, then the devices of those clients, and so on in
 * `depth` steps.
 */
export async function findLinkGraph(
  reading: LinkReader,
  clientIdKey: string,
  { depth, clientsMax }: LinksAsk,
): Promise<LinkGraph> {
  const devices = new Map<string, DeviceClients>();
  let ties: ReadonlyMap<string, LinkKind> = new Map([[clientIdKey, 'self']]);
  let seen: readonly SeenClient[] = [];
  let devicesCut = 0;
  let clientsCut = 0;
  let newcomers: readonly string[] = [clientIdKey];
  for (let step = 0; step < depth && newcomers.length > 0; step += 1) {
    const own = await reading.devicesOf(newcomers);
    const further = listNewestDevices(own).filter((device) => !devices.has(toSharedListEntry(device)));
    const read = await reading.clientsOn(further.slice(0, DEVICES_MAX), DEVICE_CLIENTS_MAX);
    devicesCut += Math.max(0, further.length - DEVICES_MAX);
    for (const one of read) devices.set(toSharedListEntry(one.device), one);
    const onHubs = own.filter((one) => devices.get(toSharedListEntry(one))?.seen.length === 0);
    seen = [...seen, ...onHubs, ...read.flatMap((one) => one.seen)];
    const known = ties;
    const all = computeTies(clientIdKey, devices, step + 1);
    ties = new Map([...all].slice(0, clientsMax));
    clientsCut = all.size - ties.size;
    newcomers = [...ties.keys()].filter((one) => !known.has(one));
  }
  const shown = seen.filter((one) => ties.has(one.clientIdKey));
  return {
    devices: [...devices.values()],
    ties,
    seen: shown,
    cut: { devices: devicesCut, clients: clientsCut },
  };
}

/** Returns the entry that stands for a device in a shared list: `hmac:HMAC`. */
export function toSharedListEntry({ hmac }: Device): string {
  return `hmac:${hmac}`;
}

/**
 * Compares texts. Every sort here ends with this comparison, so the result does not depend on the sequence in which
 * rows were read.
 */
export function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Returns each device once, the last seen first. */
function listNewestDevices(seen: readonly SeenClient[]): readonly Device[] {
  const newestFirst = seen.toSorted((a, b) => b.lastAt - a.lastAt || compareTexts(a.hmac, b.hmac));
  return [
    ...new Map(
      newestFirst.map(({ kind, hmac }) => [toSharedListEntry({ kind, hmac }), { kind, hmac }]),
    ).values(),
  ];
}

const CLOSEST_FIRST = ['self', 'device', 'addresses', 'address'] as const satisfies readonly LinkKind[];

/**
 * Returns how each client is linked, the closest kind first. A path of several links is as close as its weakest link.
 * If several paths lead to a client, the closest one counts.
 */
function computeTies(
  clientIdKey: string,
  devices: ReadonlyMap<string, DeviceClients>,
  steps: number,
): ReadonlyMap<string, LinkKind> {
  const shared = groupSharedDevices(devices);
  const ties = new Map<string, LinkKind>([[clientIdKey, 'self']]);
  for (let step = 0; step < steps; step += 1)
    for (const [from, tie] of [...ties])
      for (const [to, kinds] of [...(shared.get(from) ?? [])].toSorted(([a], [b]) => compareTexts(a, b))) {
        const weaker = pickWeaker(tie, toTie(kinds));
        const before = ties.get(to);
        if (before === undefined || pickWeaker(before, weaker) !== weaker) ties.set(to, weaker);
      }
  const rank = ([, tie]: readonly [string, LinkKind]) => CLOSEST_FIRST.indexOf(tie);
  return new Map([...ties].toSorted((a, b) => rank(a) - rank(b)));
}

/** Returns for each client the kinds of the devices that link it to each other client. */
function groupSharedDevices(devices: ReadonlyMap<string, DeviceClients>) {
  const shared = new Map<string, Map<string, readonly Device['kind'][]>>();
  for (const { device, seen } of devices.values())
    for (const { clientIdKey: one } of seen)
      for (const { clientIdKey: other } of seen) {
        if (one === other) continue;
        const others = shared.get(one) ?? new Map<string, readonly Device['kind'][]>();
        others.set(other, [...(others.get(other) ?? []), device.kind]);
        shared.set(one, others);
      }
  return shared;
}

function toTie(kinds: readonly Device['kind'][]): LinkKind {
  if (kinds.includes('fingerprint')) return 'device';
  return kinds.length > 1 ? 'addresses' : 'address';
}

function pickWeaker(a: LinkKind, b: LinkKind): LinkKind {
  return CLOSEST_FIRST.indexOf(a) > CLOSEST_FIRST.indexOf(b) ? a : b;
}
