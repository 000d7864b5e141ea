import { type ClientKeys, clientNumber, type PlatformName } from '../../client/client-key.ts';
import type { Override } from '../../client/client-state.ts';
import { VERDICTS, type Verdict } from '../../rules/rule-set.ts';
import type { Store } from '../../state/store.ts';
import { plus } from '../../statistics/sums.ts';
import { isArchivedElsewhere } from '../archive-home.ts';
import { type DuckRow, flagOf, numberOf, numbersOf, quote, textOf } from '../duck.ts';
import { GRANTED_SQL, REPORT_NUMBER_SQL } from '../order-status.ts';
import { RECORDS, TABLES, type TableName } from '../tables.ts';
import type { ArchiveReader } from './archive-reader.ts';
import { type AsOf, knownAt } from './as-of.ts';
import type { Past } from './past.ts';

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

/** Who was seen on what, and what came of it, from the archive and the journal as one. */
export class LinkedClients {
  readonly #store: Store;
  readonly #archive: ArchiveReader;

  constructor(store: Store, archive: ArchiveReader) {
    this.#store = store;
    this.#archive = archive;
  }

  /** Reads what a platform's clients did within a time. What `work` does may be done twice. */
  async reading<T>(
    platform: PlatformName,
    time: LinkTime,
    work: (reading: LinkReading) => Promise<T>,
  ): Promise<T> {
    const isElsewhere = await isArchivedElsewhere(this.#store.registers, this.#archive.folder);
    const span = { platform, ...time, keys: this.#store.clientKeys };
    return this.#archive.reading((past) => work(new Reading(span, past, isElsewhere)));
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

const NO_VERDICTS: LinkedOrder['verdicts'] = { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 };

const UNREPORTED = { turnedAway: false, report: null } as const;

/** `money` is like "25.5 EUR". */
function reportedOrder(
  reported: Pick<LinkedOrder, 'clientIdKey' | 'orderRef' | 'turnedAway' | 'report'>,
  money: string | null,
): LinkedOrder {
  const [amount, currency = null] = money?.split(' ') ?? [];
  const asked = { amount: amount === undefined ? null : Number(amount), currency };
  return { ...reported, ...asked, verdicts: NO_VERDICTS, granted: false };
}

class Reading implements LinkReading {
  readonly #span: Span;
  readonly #past: Past;
  readonly #isElsewhere: boolean;

  constructor(span: Span, past: Past, isElsewhere: boolean) {
    this.#span = span;
    this.#past = past;
    this.#isElsewhere = isElsewhere;
  }

  isIncomplete(): boolean {
    return this.#isElsewhere || !this.#past.isWhole;
  }

  async devicesOf(clients: readonly string[]): Promise<readonly SeenClient[]> {
    const rows = await this.#rows('scores', (source) => seenSql(source, this.#are(clients), 'true'));
    return rows.map(seenOf);
  }

  async clientsOn(devices: readonly Device[], clientsMax: number): Promise<readonly DeviceClients[]> {
    if (devices.length === 0) return [];
    const rows = await this.#rows(
      'scores',
      (source) => `SELECT *, count(*) OVER (PARTITION BY kind, hmac) AS clients
        FROM (${seenSql(source, 'true', isOneOf(devices))})
        QUALIFY row_number() OVER (PARTITION BY kind, hmac ORDER BY last_at DESC, client_id_key) <= ${clientsMax + 1}`,
    );
    const seenOn = Map.groupBy(rows, (row) => nameOf(seenOf(row)));
    return devices.map((device) => {
      const there = seenOn.get(nameOf(device)) ?? [];
      const clients = numberOf(there[0]?.['clients']) ?? 0;
      return { device, clients, seen: clients > clientsMax ? [] : there.map(seenOf) };
    });
  }

  async ordersOf(clients: readonly string[], ordersMax: number): Promise<readonly LinkedOrder[]> {
    const [decided, reported] = [
      await this.#rows('decisions', (source) => decidedSql(source, this.#are(clients), ordersMax)),
      await this.#rows('outcomes', (source) => reportedSql(source, this.#are(clients), ordersMax)),
    ];
    const orders = new Map<string, LinkedOrder>();
    // What a decision asked for holds, and not what the report of it remembers.
    for (const order of [...decided.map(decidedOf), ...reported.map(reportOf)]) {
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
    return new Map(
      rows.map((row) => {
        const { clientIdKey, override } = RECORDS.overrides.read(row);
        return [clientIdKey, override];
      }),
    );
  }

  async asOf(): Promise<AsOf | undefined> {
    const { asOf, platform } = this.#span;
    return asOf === null ? undefined : knownAt(this.#past, asOf, platform);
  }

  /** SQL: that a row is of one of these clients; nobody's hash is compared with names alone, which would read all. */
  #are(clients: readonly string[]): string {
    const { platform, keys } = this.#span;
    const numbers = clients.map((clientIdKey) => clientNumber(keys.of(platform, clientIdKey).hash));
    return `client_hash IN (${numbers.join(', ')}) AND client_id_key IN (${quoted(clients)})`;
  }

  #rows(
    table: TableName,
    sql: (source: string) => string,
    { from, asOf }: LinkTime = this.#span,
  ): Promise<readonly DuckRow[]> {
    const { time } = TABLES[table];
    const { platform } = this.#span;
    const bounds = { platform, from, ...(asOf === null ? {} : { to: asOf }) };
    const until = asOf === null ? '' : `AND ${time} < make_timestamp_ms(${asOf + 1})`;
    return this.#past.rows((source) =>
      sql(`(SELECT * FROM ${source(table, bounds)} WHERE ${time} >= make_timestamp_ms(${from}) ${until})`),
    );
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

function decidedSql(source: string, ofClients: string, ordersMax: number): string {
  const counts = VERDICTS.map((verdict) => `count(*) FILTER (verdict = '${verdict}') AS ${verdict}`);
  return `SELECT client_id_key, order_ref, ${counts.join(', ')}, bool_or(${GRANTED_SQL}) AS granted,
      arg_max(fact_amount, seq) AS amount, arg_max(fact_currency, seq) AS currency
    FROM ${source} WHERE ${ofClients} GROUP BY client_id_key, order_ref ${newestOfEach('max(seq)', ordersMax)}`;
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
