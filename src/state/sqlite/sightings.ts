import type { DatabaseSync } from 'node:sqlite';
import {
  type AskedAttribute,
  addClientMarks,
  CLIENTS_ON_DEVICE_MAX,
  computeDeviceVerdictCount,
  type DeviceKind,
  type DeviceSharingCounts,
  groupCountsByName,
} from '#decision/facts/fact.ts';
import { addPaymentToMarkBits, encodeSightingMarks } from '#decision/payer/sighting-marks.ts';
import {
  getFirstImpossibleStep,
  getStepNumber,
  getWindowFirstStep,
  VERDICT_STEPS,
  VERDICTS_OF_STEP_MAX,
} from '#decision/payer/verdict-steps.ts';
import { UNSETTLED_MS } from '#state/clock-jumps.ts';
import { RETENTION } from '#state/retention.ts';
import type { SightingsQueryAndNote, Store } from '#state/store.ts';
import type { SqliteFileAccess } from './open-file.ts';

type Statements = ReturnType<typeof prepareStatements>;

/** Creates the part of the store that keeps which clients were seen on which device. */
export function createSqliteSightings({
  db,
  clock,
  read,
  write,
  writeUnsynced,
}: SqliteFileAccess): Pick<Store, 'sightings' | 'notePayment'> {
  const sql = prepareStatements(db);
  const count = (ask: SightingsQueryAndNote) => ({
    fingerprint: countOn(sql, ask, 'fingerprint'),
    ip: countOn(sql, ask, 'ip'),
    ...(ask.attributes === undefined ? {} : { attributes: countWithValues(sql, ask, ask.attributes) }),
  });
  return {
    sightings: (ask) => {
      // A client that is on no device and has none of the requested values is not noted.
      const isSeen = ask.fingerprint !== null || ask.ip !== null || ask.attributes !== undefined;
      if (!ask.record || !isSeen) return read(() => count(ask));
      // The commit of the verdict that uses the counts brings the notes to the disk, too.
      return writeUnsynced(() => {
        const now = clock();
        noteOn(sql, ask, 'fingerprint', now);
        noteOn(sql, ask, 'ip', now);
        for (const { name, value } of ask.attributes ?? [])
          noteValue(sql, ask, getValueHolder(ask, name, value), now);
        return count(ask);
      });
    },
    notePayment: ({ client: { hash }, since, isUnpaid }) =>
      write(() => {
        for (const { device, marks } of sql.latestSightings.all(hash, since)) {
          const after = addPaymentToMarkBits(Number(marks), isUnpaid);
          if (after !== marks) sql.markSighting.run(after, String(device), hash);
        }
      }),
  };
}

function prepareStatements(db: DatabaseSync) {
  const sql = (source: string) => db.prepare(source);
  return {
    putSighting: sql(
      // A stored time that is too far in the future is overwritten. It was written when a clock was ahead.
      `INSERT INTO sightings (device, client, at, expires_at, marks) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = iif(at > excluded.at + ${UNSETTLED_MS}, excluded.at, max(at, excluded.at)), expires_at = excluded.expires_at, marks = excluded.marks`,
    ),
    // If the rules do not count unpaid orders, the stored number of unpaid orders stays.
    putMarkedSighting: sql(
      `INSERT INTO sightings (device, client, at, expires_at, marks) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = iif(at > excluded.at + ${UNSETTLED_MS}, excluded.at, max(at, excluded.at)), expires_at = excluded.expires_at, marks = excluded.marks | (marks & ~7)`,
    ),
    countVerdict: sql(
      `INSERT INTO device_verdicts (device, ring, step, verdicts, expires_at) VALUES (?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET verdicts = min(${VERDICTS_OF_STEP_MAX}, verdicts + 1), expires_at = excluded.expires_at`,
    ),
    trimVerdicts: sql('DELETE FROM device_verdicts WHERE device = ? AND ring = ? AND step <= ?'),
    verdictsSince: sql(
      'SELECT total(verdicts) AS verdicts FROM device_verdicts WHERE device = ? AND ring = ? AND step >= ? AND step < ?',
    ),
    clientsOn: sql('SELECT count(*) AS clients FROM sightings WHERE device = ?'),
    trimSightings: sql(
      'DELETE FROM sightings WHERE device = ? AND client IN (SELECT client FROM sightings WHERE device = ? ORDER BY at DESC LIMIT -1 OFFSET ?)',
    ),
    countOthers: sql(
      'SELECT count(*) AS clients FROM sightings WHERE device = ? AND client <> ? AND at BETWEEN ? + 1 AND ?',
    ),
    countMarkedOthers: sql(
      'SELECT count(*) AS clients, total(marks & 1) AS paying, total(marks >> 1 & 1) AS unpaid, total(marks >> 2 & 1) AS blocked, total(marks >> 3) AS unpaidOrders FROM sightings WHERE device = ? AND client <> ? AND at BETWEEN ? + 1 AND ?',
    ),
    latestSightings: sql('SELECT device, marks FROM sightings WHERE client = ? AND at > ?'),
    markSighting: sql('UPDATE sightings SET marks = ? WHERE device = ? AND client = ?'),
  };
}

function noteOn(sql: Statements, ask: SightingsQueryAndNote, kind: DeviceKind, nowMs: number): void {
  const device = getDevice(ask, kind);
  if (device === null) return;
  const { notes } = ask.sharing[kind];
  const untilMs = nowMs + RETENTION.sightingMs;
  const bits = encodeSightingMarks(ask.marks);
  if (notes.unpaidOrders) sql.putSighting.run(device, ask.client.hash, ask.at, untilMs, bits);
  else sql.putMarkedSighting.run(device, ask.client.hash, ask.at, untilMs, bits & 7);
  forgetOldestClients(sql, device);
  if (!notes.verdicts || ask.isRepeated === true) return;
  for (const [ring, { kept }] of VERDICT_STEPS.entries()) {
    const step = getStepNumber(ring, ask.at);
    sql.countVerdict.run(device, ring, step, untilMs);
    sql.trimVerdicts.run(device, ring, step - kept);
  }
}

function countOn(
  sql: Statements,
  ask: SightingsQueryAndNote,
  kind: DeviceKind,
): ReadonlyMap<number, DeviceSharingCounts> {
  const device = getDevice(ask, kind);
  if (device === null) return new Map();
  const { windowsMs, marks, verdictWindowsMs } = ask.sharing[kind];
  const verdicts = (windowMs: number, clients: number) => {
    if (!verdictWindowsMs.includes(windowMs)) return 0;
    const { ring, first } = getWindowFirstStep(windowMs, ask.at);
    const counted = sql.verdictsSince.get(device, ring, first, getFirstImpossibleStep(ring, ask.at))?.[
      'verdicts'
    ];
    return computeDeviceVerdictCount(Number(counted), clients);
  };
  const statement = marks.length === 0 ? sql.countOthers : sql.countMarkedOthers;
  return new Map(
    windowsMs.map((windowMs) => {
      const others = statement.get(device, ask.client.hash, ask.at - windowMs, ask.at + UNSETTLED_MS);
      const count = (name: keyof DeviceSharingCounts) => Number(others?.[name] ?? 0);
      const clients = Math.min(CLIENTS_ON_DEVICE_MAX, count('clients') + 1);
      const seen = {
        clients,
        verdicts: verdicts(windowMs, clients),
        paying: count('paying'),
        unpaid: count('unpaid'),
        blocked: count('blocked'),
        unpaidOrders: count('unpaidOrders'),
      };
      return [windowMs, addClientMarks(seen, ask.marks, marks)];
    }),
  );
}

/** Notes that a client has a value of an attribute. */
function noteValue(
  sql: Statements,
  { client, at }: SightingsQueryAndNote,
  holder: string,
  nowMs: number,
): void {
  sql.putSighting.run(holder, client.hash, at, nowMs + RETENTION.sightingMs, 0);
  forgetOldestClients(sql, holder);
}

/** Forgets the clients that have not been seen for the longest time. */
function forgetOldestClients(sql: Statements, device: string): void {
  const clients = Number(sql.clientsOn.get(device)?.['clients']);
  if (clients > CLIENTS_ON_DEVICE_MAX) sql.trimSightings.run(device, device, CLIENTS_ON_DEVICE_MAX);
}

function countWithValues(
  sql: Statements,
  ask: SightingsQueryAndNote,
  asked: readonly AskedAttribute[],
): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const { client, at } = ask;
  return groupCountsByName(
    asked.map(({ name, value, windowsMs }) => {
      const holder = getValueHolder(ask, name, value);
      const count = (windowMs: number) => {
        const others = sql.countOthers.get(holder, client.hash, at - windowMs, at + UNSETTLED_MS);
        return Math.min(CLIENTS_ON_DEVICE_MAX, Number(others?.['clients'] ?? 0) + 1);
      };
      return [name, new Map(windowsMs.map((windowMs) => [windowMs, count(windowMs)]))];
    }),
  );
}

/** Returns the name under which a value of an attribute is stored among the devices. */
function getValueHolder({ client }: SightingsQueryAndNote, name: string, value: string): string {
  return `${client.platform}/attribute/${name}/${value}`;
}

/** Returns the name of a device. A device belongs to one platform. The same phone on two platforms is two devices. */
function getDevice({ client, ...ask }: SightingsQueryAndNote, kind: DeviceKind): string | null {
  const id = ask[kind];
  return id === null ? null : `${client.platform}/${kind}/${id}`;
}
