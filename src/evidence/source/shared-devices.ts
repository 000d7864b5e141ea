import type { Duck } from '../../archive/duck.ts';
import type { BatchCell, DuckBatch } from '../../archive/duck-batch.ts';
import { JOURNAL_ORDER_SQL } from '../../archive/tables.ts';
import { DeviceBook } from '../../authoring/device-book.ts';
import { type Hints, knownHints, withUnansweredScore } from '../../client/hints.ts';
import { NO_SIGHTINGS, type Sightings } from '../../facts/fact.ts';
import type { RuleSet } from '../../rules/rule-set.ts';
import { columnsOf } from './evidence.ts';
import { timeSpans } from './time-spans.ts';

/** The windows of sharing facts, ms. */
export type SharingWindows = RuleSet['sharingWindowsMs'];

/** All windows that some rule sets ask about. */
export function sharingWindowsOf(ruleSets: readonly RuleSet[]): SharingWindows {
  const windows = (kind: keyof Sightings) => [
    ...new Set(ruleSets.flatMap(({ sharingWindowsMs }) => sharingWindowsMs[kind])),
  ];
  return { fingerprint: windows('fingerprint'), ip: windows('ip') };
}

/** A column of counts, like `on_ip_86400000`. */
export interface SharingColumn {
  readonly name: string;
  readonly kind: keyof Sightings;
  readonly windowMs: number;
}

const KINDS = ['fingerprint', 'ip'] as const satisfies readonly (keyof Sightings)[];
const COLUMN = /^on_(fingerprint|ip)_(\d+)$/;

function columnName(kind: keyof Sightings, windowMs: number): string {
  return `on_${kind}_${windowMs}`;
}

/** Those among some columns that are counts. */
export function sharingColumnsAmong(names: readonly string[]): readonly SharingColumn[] {
  return names.flatMap((name) => {
    const [, kindThere, windowMs] = COLUMN.exec(name) ?? [];
    const kind = KINDS.find((known) => known === kindThere);
    return kind === undefined ? [] : [{ name, kind, windowMs: Number(windowMs) }];
  });
}

/** Devices that clients of a platform show, in the order in which it happens. */
export class ShownDevices {
  readonly #windows: SharingWindows;
  readonly #hints = new Map<bigint, Hints>();
  readonly #books = new Map<string, DeviceBook<bigint>>();

  constructor(windows: SharingWindows) {
    this.#windows = windows;
  }

  score(client: bigint, fingerprint: string | null, ip: string | null, at: number): void {
    const shown = { ...SHOWS_NOTHING, fingerprint, ip };
    this.#hints.set(client, withUnansweredScore(this.#hints.get(client) ?? null, shown, at));
  }

  /** How many clients were seen on the devices of a client who asks for a verdict, this one included. */
  verdict(platform: string, client: bigint, at: number): Sightings {
    const scored = this.#hints.get(client);
    if (scored === undefined) return NO_SIGHTINGS;
    const hints = knownHints(scored, at);
    const book = this.#books.get(platform) ?? new DeviceBook<bigint>();
    this.#books.set(platform, book);
    book.record(client, hints, at);
    return book.sightings(client, hints, this.#windows, at);
  }
}

const SHOWS_NOTHING = {
  jsOk: null,
  honeypotTriggered: false,
  userAgentPresent: false,
  userAgentIsAutomated: false,
} as const;

/**
 * Makes the table `shared_devices`: a row for each decision on whose device another client was seen, by `client_hash`,
 * `seq` and `at`, with how many clients were, this one included, for each window. What payers show of their devices does
 * not depend on what they are answered, so it is counted once for all, in the order in which things happened; all else
 * in a life is one client's alone. Asks the views `decisions` and `scores`. Memory grows with the clients and devices, by some
 * hundred bytes each. A table with these windows is left as it is. Gives the names of its counts.
 */
export async function countSharedDevices(duck: Duck, windows: SharingWindows): Promise<readonly string[]> {
  const columns = KINDS.flatMap((kind) => windows[kind].map((windowMs) => ({ kind, windowMs })));
  const names = columns.map(({ kind, windowMs }) => columnName(kind, windowMs));
  const [there] = await duck.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'shared_devices'");
  const known = there === undefined ? null : await columnsOf(duck, 'shared_devices');
  if (known !== null && names.every((name) => known.includes(name)))
    return sharingColumnsAmong(known).map(({ name }) => name);
  const counts = names.map((name) => `, ${name} INTEGER`).join('');
  await duck.run(
    `CREATE OR REPLACE TABLE shared_devices (client_hash UBIGINT, seq DOUBLE, "at" DOUBLE${counts})`,
  );
  if (columns.length === 0) return [];
  await duck.run(`CREATE OR REPLACE VIEW device_events AS ${DEVICE_EVENTS}`);
  const devices = new ShownDevices(windows);
  const appender = await duck.appender('shared_devices');
  const spans = await timeSpans(duck, 'device_events', ORDERED_AT_ONCE_MAX);
  for (const span of spans) {
    const sql = `SELECT * FROM device_events WHERE ${span} ORDER BY "at", ${JOURNAL_ORDER_SQL}, client_hash`;
    for await (const batch of duck.batches(sql)) appender.append(sharedIn(batch, devices, columns));
  }
  appender.close();
  return names;
}

/** How many events are sorted at once: more would take more memory than the engine may have. */
const ORDERED_AT_ONCE_MAX = 2_000_000;

/** A device by twelve characters, which are read several times faster than more of them. Its first six stay what they are. */
function shortName(device: string): string {
  return `left(${device}, 6) || left(hex(hash(${device})), 6) AS ${device}`;
}

const DEVICE_EVENTS = `
  SELECT epoch_ms(scored_at)::DOUBLE AS "at", ${JOURNAL_ORDER_SQL}, platform::input_platform AS platform, client_hash,
    NULL::DOUBLE AS seq, ${shortName('fingerprint')}, ${shortName('ip')}
  FROM scores WHERE fingerprint IS NOT NULL OR ip IS NOT NULL
  UNION ALL BY NAME SELECT epoch_ms(decided_at)::DOUBLE AS "at", ${JOURNAL_ORDER_SQL}, platform::input_platform AS platform,
    client_hash, seq::DOUBLE AS seq FROM decisions`;

/** The columns of `shared_devices` for the verdicts among some events. */
function sharedIn(
  batch: DuckBatch,
  devices: ShownDevices,
  counts: readonly Omit<SharingColumn, 'name'>[],
): readonly (readonly BatchCell[])[] {
  const [clients, times, seqs] = [batch.integers('client_hash'), batch.numbers('at'), batch.numbers('seq')];
  const [fingerprints, ips, platforms] = [
    batch.texts('fingerprint'),
    batch.texts('ip'),
    batch.texts('platform'),
  ];
  const shared = new SharedColumns(3 + counts.length);
  for (const [row, client] of clients.entries()) {
    const [seq = null, at] = [seqs[row], times[row] ?? 0];
    if (client === null) continue;
    if (seq === null) devices.score(client, fingerprints[row] ?? null, ips[row] ?? null, at);
    else {
      const sightings = devices.verdict(platforms[row] ?? '', client, at);
      const seen = counts.map(({ kind, windowMs }) => sightings[kind].get(windowMs) ?? 0);
      if (seen.some((count) => count > 1)) shared.add([client, seq, at, ...seen]);
    }
  }
  return shared.columns;
}

class SharedColumns {
  readonly columns: readonly BatchCell[][];
  #before: readonly BatchCell[] = [];

  constructor(columns: number) {
    this.columns = Array.from({ length: columns }, () => []);
  }

  /** Without repeating the row before: a journal may contain the same decision twice. */
  add(cells: readonly BatchCell[]): void {
    if (cells.some((cell, place) => cell !== this.#before[place]))
      for (const [place, cell] of cells.entries()) this.columns[place]?.push(cell);
    this.#before = cells;
  }
}
