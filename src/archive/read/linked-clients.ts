import { type ClientKeys, clientNumber, type PlatformName } from '../../client/client-key.ts';
import type { Override } from '../../client/client-state.ts';
import { isGrant } from '../../decision/conclude-verdict.ts';
import { VERDICTS, type Verdict } from '../../rules/rule-set.ts';
import type { JournalRecord, OverrideEntry } from '../../state/journal.ts';
import { STEP_ENTRIES_MAX } from '../../state/journal-tail.ts';
import { searchSteps } from '../../state/paced-steps.ts';
import type { JournalPage, Store } from '../../state/store.ts';
import { plus } from '../../statistics/sums.ts';
import { type ErasedClients, erasedClients } from '../archive.ts';
import { isArchivedElsewhere } from '../archive-home.ts';
import type { ArchiveState } from '../archive-log.ts';
import { type DuckRow, flagOf, numberOf, numbersOf, quote, textOf } from '../duck.ts';
import { GRANTED_SQL, REPORT_NUMBER_SQL, reportNumber } from '../order-fate.ts';
import { RECORDS, TABLES, type TableName } from '../tables.ts';
import { unshippedPage } from '../unshipped.ts';
import type { ArchiveReader } from './archive-reader.ts';
import { type AsOf, asOfBy, erasedSql } from './as-of.ts';
import type { RowsOf } from './segment-rows.ts';

/** What payers may share: a device by its fingerprint, or an address. */
export const DEVICE_KINDS = ['fingerprint', 'ip'] as const;

export type DeviceKind = (typeof DEVICE_KINDS)[number];

/** A device or an address by its HMAC. */
export interface Device {
  readonly kind: DeviceKind;
  readonly hmac: string;
}

/** A client on a device, by the scores that told of it. Times are epoch ms. */
export interface SeenClient extends Device {
  readonly clientIdKey: string;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** A device with those of its clients who were seen last. */
export interface DeviceClients {
  readonly device: Device;
  /** How many there are, shown or not. */
  readonly clients: number;
  /** Empty where there are more than were asked for. */
  readonly seen: readonly SeenClient[];
}

/** An order of a client with what was answered about it. */
export interface LinkedOrder {
  readonly clientIdKey: string;
  readonly orderRef: string;
  /** Decisions by verdict; none of an order that was only reported. */
  readonly verdicts: Readonly<Record<Verdict, number>>;
  readonly granted: boolean;
  /** It was reported when it had been asked for and never granted. */
  readonly turnedAway: boolean;
  readonly amount: number | null;
  readonly currency: string | null;
  /** As `reportNumber` gives it; null without a report. */
  readonly report: number | null;
}

/** Questions about the clients and devices of one platform, of archive and journal as they are at one moment. */
export interface LinkReading {
  devicesOf(clients: readonly string[]): Promise<readonly SeenClient[]>;
  clientsOn(devices: readonly Device[], clientsMax: number): Promise<readonly DeviceClients[]>;
  ordersOf(clients: readonly string[], ordersMax: number): Promise<readonly LinkedOrder[]>;
  /** What a person decided last about each of these clients, whenever that was. */
  overridesOf(clients: readonly string[]): Promise<ReadonlyMap<string, Override | null>>;
  /** Absent where all that is known is read. */
  asOf(): Promise<AsOf | undefined>;
  /** Whether something could not be read so far, or was too much to read. */
  isIncomplete(): boolean;
}

/** Entries that are not archived yet; where nothing ships there are more. */
const UNSHIPPED_READ_MAX = 50_000;

/** Who was seen on what, and what came of it, from the archive and the journal as one. */
export class LinkedClients {
  readonly #store: Store;
  readonly #archive: ArchiveReader | null;

  constructor(store: Store, archive: ArchiveReader | null) {
    this.#store = store;
    this.#archive = archive;
  }

  /** Reads what a platform's clients did within a time. What `work` does may be done twice. */
  async reading<T>(
    platform: PlatformName,
    time: LinkTime,
    work: (reading: LinkReading) => Promise<T>,
  ): Promise<T> {
    const elsewhere = await isArchivedElsewhere(this.#store.registers, this.#archive?.folder ?? null);
    const span = { platform, ...time, keys: this.#store.clientKeys };
    const begin = async (state: ArchiveState | null, rowsOf: RowsOf) => {
      const unshipped = await readUnshipped(this.#store, state, span);
      return work(new Reading(span, state, rowsOf, unshipped, elsewhere || unshipped.isCut));
    };
    if (this.#archive === null) return begin(null, async () => ({ rows: [], unreadable: [] }));
    // Asked before the archive is read: a commit takes an erasure off this list and the client out of the segments.
    const erased: ErasedClients = await erasedClients(this.#store);
    return this.#archive.reading(begin, erased);
  }
}

/** What is looked at, epoch ms. */
export interface LinkTime {
  readonly from: number;
  /** What came later was not known then; null: all that is known. */
  readonly asOf: number | null;
}

interface Span extends LinkTime {
  readonly platform: PlatformName;
  readonly keys: ClientKeys;
}

/** What of the journal was not archived when a reading began. */
interface Unshipped {
  readonly seen: readonly SeenClient[];
  readonly orders: readonly LinkedOrder[];
  readonly overrides: readonly OverrideEntry[];
  /** The numbers of those who were erased after the moment that is looked at. */
  readonly erased: readonly string[];
  readonly isCut: boolean;
}

async function readUnshipped(store: Store, state: ArchiveState | null, span: Span): Promise<Unshipped> {
  const next = (page: JournalPage | null) =>
    searchSteps.run(() =>
      page === null && state !== null
        ? unshippedPage(store, state, STEP_ENTRIES_MAX)
        : store.readJournal(page?.cursor ?? null, STEP_ENTRIES_MAX),
    );
  const told: Told[] = [];
  const known = (isCut: boolean): Unshipped => ({
    seen: told.flatMap(({ seen }) => seen),
    orders: told.flatMap(({ orders }) => orders),
    overrides: told.flatMap(({ overrides }) => overrides),
    erased: told.flatMap(({ erased }) => erased),
    isCut,
  });
  let page = await next(null);
  for (let read = 0; page.entries.length > 0; read += page.entries.length, page = await next(page)) {
    if (read >= UNSHIPPED_READ_MAX) return known(true);
    told.push(toldBy(page.entries, span));
  }
  return known(page.unreadable !== undefined);
}

type Told = Omit<Unshipped, 'isCut'>;

function toldBy(all: readonly JournalRecord[], { platform, from, asOf }: Span): Told {
  const entries = all.filter((entry) => entry.platform === platform);
  const known = entries.filter(({ at }) => asOf === null || at <= asOf);
  const within = known.filter(({ at }) => at >= from);
  return {
    seen: within.flatMap(seenIn),
    orders: within.flatMap(ordersIn),
    overrides: known.filter((entry) => entry.kind === 'override'),
    erased: entries.flatMap((entry) =>
      entry.kind === 'erasure' && asOf !== null && entry.at > asOf ? entry.clientNumber : [],
    ),
  };
}

function seenIn(entry: JournalRecord): readonly SeenClient[] {
  if (entry.kind !== 'score') return [];
  const { at, clientIdKey, request } = entry;
  return DEVICE_KINDS.flatMap((kind) => {
    const hmac = request[kind];
    return hmac === null ? [] : [{ kind, hmac, clientIdKey, firstAt: at, lastAt: at }];
  });
}

const NO_VERDICTS: LinkedOrder['verdicts'] = { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 };

const UNREPORTED = { turnedAway: false, report: null } as const;

function ordersIn(entry: JournalRecord): readonly LinkedOrder[] {
  if (entry.kind === 'verdict') {
    const { clientIdKey, orderRef, verdict, facts } = entry.decision;
    const { amount, currency } = facts;
    const order = { clientIdKey, orderRef, verdicts: { ...NO_VERDICTS, [verdict]: 1 }, ...UNREPORTED };
    return [{ ...order, granted: isGrant(verdict), amount: numberIn(amount), currency: textIn(currency) }];
  }
  if (entry.kind !== 'outcome') return [];
  const { at, clientIdKey, orderRef, order, turnedAway = false, amount = null } = entry;
  return [reportedOrder({ clientIdKey, orderRef, turnedAway, report: reportNumber(at, order) }, amount)];
}

/** `money` is like "25.5 EUR". */
function reportedOrder(
  reported: Pick<LinkedOrder, 'clientIdKey' | 'orderRef' | 'turnedAway' | 'report'>,
  money: string | null,
): LinkedOrder {
  const [amount, currency = null] = money?.split(' ') ?? [];
  const asked = { amount: amount === undefined ? null : Number(amount), currency };
  return { ...reported, ...asked, verdicts: NO_VERDICTS, granted: false };
}

function numberIn(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

class Reading implements LinkReading {
  readonly #span: Span;
  readonly #state: ArchiveState | null;
  readonly #rowsOf: RowsOf;
  readonly #unshipped: Unshipped;
  #incomplete: boolean;

  constructor(
    span: Span,
    state: ArchiveState | null,
    rowsOf: RowsOf,
    unshipped: Unshipped,
    incomplete: boolean,
  ) {
    this.#span = span;
    this.#state = state;
    this.#rowsOf = rowsOf;
    this.#unshipped = unshipped;
    this.#incomplete = incomplete;
  }

  isIncomplete(): boolean {
    return this.#incomplete;
  }

  async devicesOf(clients: readonly string[]): Promise<readonly SeenClient[]> {
    const rows = await this.#rows('scores', (source) => seenSql(source, this.#are(clients), 'true'));
    const wanted = new Set(clients);
    return together([
      ...rows.map(seenOf),
      ...this.#unshipped.seen.filter(({ clientIdKey }) => wanted.has(clientIdKey)),
    ]);
  }

  async clientsOn(devices: readonly Device[], clientsMax: number): Promise<readonly DeviceClients[]> {
    if (devices.length === 0) return [];
    const wanted = new Set(devices.map(nameOf));
    const fresh = this.#unshipped.seen.filter((seen) => wanted.has(nameOf(seen)));
    const freshClients = [...new Set(fresh.map(({ clientIdKey }) => clientIdKey))];
    const isFresh = freshClients.length === 0 ? 'false' : `client_id_key IN (${quoted(freshClients)})`;
    // Whom the journal names is always among the rows, so that nobody is counted twice.
    const rows = await this.#rows(
      'scores',
      (source) => `SELECT *, count(*) OVER (PARTITION BY kind, hmac) AS clients
        FROM (${seenSql(source, 'true', isOneOf(devices))})
        QUALIFY row_number() OVER (PARTITION BY kind, hmac ORDER BY last_at DESC, client_id_key) <= ${clientsMax + 1}
          OR ${isFresh}`,
    );
    const archived = Map.groupBy(rows, (row) => nameOf(seenOf(row)));
    const freshOn = Map.groupBy(fresh, nameOf);
    return devices.map((device) => {
      const there = archived.get(nameOf(device)) ?? [];
      const all = together([...there.map(seenOf), ...(freshOn.get(nameOf(device)) ?? [])]);
      const counted = there.reduce((most, row) => Math.max(most, numberOf(row['clients']) ?? 0), 0);
      const clients = counted + all.length - there.length;
      return { device, clients, seen: clients > clientsMax ? [] : all };
    });
  }

  async ordersOf(clients: readonly string[], ordersMax: number): Promise<readonly LinkedOrder[]> {
    const [decided, reported] = [
      await this.#rows('decisions', (source) => decidedSql(source, this.#are(clients), ordersMax)),
      await this.#rows('outcomes', (source) => reportedSql(source, this.#are(clients), ordersMax)),
    ];
    const wanted = new Set(clients);
    const orders = new Map<string, LinkedOrder>();
    // Reports come after decisions: what a decision asked for holds, and not what the report of it remembers.
    for (const order of [
      ...decided.map(decidedOf),
      ...this.#unshipped.orders.filter(({ clientIdKey }) => wanted.has(clientIdKey)),
      ...reported.map(reportOf),
    ]) {
      const name = JSON.stringify([order.clientIdKey, order.orderRef]);
      const before = orders.get(name);
      orders.set(name, before === undefined ? order : oneOrder(before, order));
    }
    return [...orders.values()];
  }

  async overridesOf(clients: readonly string[]): Promise<ReadonlyMap<string, Override | null>> {
    const newest = `QUALIFY row_number() OVER (PARTITION BY client_id_key ORDER BY changed_at DESC, journal_ms DESC, journal_seq DESC) = 1`;
    const rows = await this.#rows(
      'overrides',
      (source) => `SELECT * FROM ${source} WHERE ${this.#are(clients)} ${newest}`,
      { ...this.#span, from: 0 },
    );
    const archived = rows.map((row) => RECORDS.overrides.read(row)).toSorted((a, b) => a.at - b.at);
    const oldestFirst = [...archived, ...this.#unshipped.overrides];
    return new Map(oldestFirst.map(({ clientIdKey, override }) => [clientIdKey, override]));
  }

  async asOf(): Promise<AsOf | undefined> {
    const { asOf } = this.#span;
    if (asOf === null) return undefined;
    const rows = await this.#rows('erasures', erasedSql, { from: asOf + 1, asOf: null });
    return asOfBy(asOf, rows, this.#unshipped.erased);
  }

  /** SQL: that a row is of one of these clients; nobody's hash is compared with names alone, which would read all. */
  #are(clients: readonly string[]): string {
    const { platform, keys } = this.#span;
    const numbers = clients.map((clientIdKey) => clientNumber(keys.of(platform, clientIdKey).hash));
    return `client_hash IN (${numbers.join(', ')}) AND client_id_key IN (${quoted(clients)})`;
  }

  async #rows(
    table: TableName,
    sql: (source: string) => string,
    { from, asOf }: LinkTime = this.#span,
  ): Promise<readonly DuckRow[]> {
    const { time } = TABLES[table];
    const segments = [...(this.#state?.segments.values() ?? [])].filter(
      (segment) =>
        segment.table === table &&
        segment.platform === this.#span.platform &&
        segment.to >= from &&
        (asOf === null || segment.from <= asOf),
    );
    const until = asOf === null ? '' : `AND ${time} < make_timestamp_ms(${asOf + 1})`;
    const { rows, unreadable } = await this.#rowsOf(segments, (source) =>
      sql(`(SELECT * FROM ${source} WHERE ${time} >= make_timestamp_ms(${from}) ${until})`),
    );
    this.#incomplete ||= unreadable.length > 0;
    return rows;
  }
}

function nameOf({ kind, hmac }: Device): string {
  return `${kind} ${hmac}`;
}

function quoted(texts: readonly string[]): string {
  return texts.map(quote).join(', ');
}

/** SQL: that `kind` and `hmac` are one of these. */
function isOneOf(devices: readonly Device[]): string {
  const ofKind = (wanted: DeviceKind) =>
    quoted(devices.filter(({ kind }) => kind === wanted).map(({ hmac }) => hmac)) || 'NULL';
  return DEVICE_KINDS.map((kind) => `(kind = '${kind}' AND hmac IN (${ofKind(kind)}))`).join(' OR ');
}

function seenSql(source: string, ofClients: string, onDevices: string): string {
  const of = DEVICE_KINDS.map(
    (kind) =>
      `SELECT client_id_key, '${kind}' AS kind, ${kind} AS hmac, scored_at FROM ${source} WHERE ${kind} IS NOT NULL AND ${ofClients}`,
  );
  return `SELECT client_id_key, kind, hmac, min(scored_at) AS first_at, max(scored_at) AS last_at
    FROM (${of.join(' UNION ALL ')}) WHERE ${onDevices} GROUP BY ALL`;
}

function seenOf(row: DuckRow): SeenClient {
  return {
    kind: textOf(row['kind']) === 'ip' ? 'ip' : 'fingerprint',
    hmac: textOf(row['hmac']) ?? '',
    clientIdKey: textOf(row['client_id_key']) ?? '',
    firstAt: numberOf(row['first_at']) ?? 0,
    lastAt: numberOf(row['last_at']) ?? 0,
  };
}

/** Each client on each device once. */
function together(seen: readonly SeenClient[]): readonly SeenClient[] {
  const known = new Map<string, SeenClient>();
  for (const one of seen) {
    const name = `${nameOf(one)} ${one.clientIdKey}`;
    const { firstAt, lastAt } = known.get(name) ?? one;
    known.set(name, {
      ...one,
      firstAt: Math.min(firstAt, one.firstAt),
      lastAt: Math.max(lastAt, one.lastAt),
    });
  }
  return [...known.values()];
}

/** Facts that an archive may lack whose rule sets never recorded them. */
const MONEY_COLUMNS = 'NULL::DOUBLE AS fact_amount, NULL::VARCHAR AS fact_currency';

function decidedSql(source: string, ofClients: string, ordersMax: number): string {
  const counts = VERDICTS.map((verdict) => `count(*) FILTER (verdict = '${verdict}') AS ${verdict}`);
  return `SELECT client_id_key, order_ref, ${counts.join(', ')}, bool_or(${GRANTED_SQL}) AS granted,
      arg_max(fact_amount, seq) AS amount, arg_max(fact_currency, seq) AS currency
    FROM (SELECT * FROM ${source} UNION ALL BY NAME SELECT ${MONEY_COLUMNS} WHERE false)
    WHERE ${ofClients} GROUP BY client_id_key, order_ref ${newestOfEach('max(seq)', ordersMax)}`;
}

function reportedSql(source: string, ofClients: string, ordersMax: number): string {
  return `SELECT client_id_key, order_ref, max(${REPORT_NUMBER_SQL}) AS report, arg_max(amount, reported_at) AS amount,
      coalesce(bool_or(turned_away), false) AS turned_away
    FROM ${source} WHERE ${ofClients} GROUP BY client_id_key, order_ref ${newestOfEach('max(reported_at)', ordersMax)}`;
}

function newestOfEach(by: string, max: number): string {
  return `QUALIFY row_number() OVER (PARTITION BY client_id_key ORDER BY ${by} DESC) <= ${max}`;
}

function decidedOf(row: DuckRow): LinkedOrder {
  return {
    clientIdKey: textOf(row['client_id_key']) ?? '',
    orderRef: textOf(row['order_ref']) ?? '',
    verdicts: numbersOf(row, NO_VERDICTS),
    granted: flagOf(row['granted']) === true,
    amount: numberOf(row['amount']),
    currency: textOf(row['currency']),
    ...UNREPORTED,
  };
}

function reportOf(row: DuckRow): LinkedOrder {
  const reported = {
    clientIdKey: textOf(row['client_id_key']) ?? '',
    orderRef: textOf(row['order_ref']) ?? '',
    turnedAway: flagOf(row['turned_away']) === true,
    report: numberOf(row['report']),
  };
  return reportedOrder(reported, textOf(row['amount']));
}

function oneOrder(before: LinkedOrder, next: LinkedOrder): LinkedOrder {
  const isNewer = next.report === null && next.amount !== null;
  const { amount, currency } = isNewer || before.amount === null ? next : before;
  return {
    ...before,
    verdicts: plus(before.verdicts, next.verdicts),
    granted: before.granted || next.granted,
    turnedAway: before.turnedAway || next.turnedAway,
    amount,
    currency,
    report: Math.max(before.report ?? 0, next.report ?? 0) || null,
  };
}
