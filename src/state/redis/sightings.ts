import {
  type AskedAttribute,
  CLIENTS_ON_DEVICE_MAX,
  computeDeviceVerdictCount,
  type DeviceKind,
  type DeviceSharingCounts,
  groupCountsByName,
  NO_SHARING_QUESTION,
  type SharingQuestion,
} from '#decision/facts/fact.ts';
import {
  combineMarkBits,
  encodeSightingMarks,
  SIGHTING_MARKS,
  type SightingMark,
} from '#decision/payer/sighting-marks.ts';
import { getWindowFirstStep } from '#decision/payer/verdict-steps.ts';
import * as redis from '#state/keys.ts';
import { RETENTION } from '#state/retention.ts';
import type { SightingsQueryAndNote, Store } from '#state/store.ts';
import { listNoteNamesOfKind } from './clients.ts';
import type { RedisAccess } from './connection/connection.ts';
import { BadReply, requireArray, requireWholeNumber } from './connection/reply.ts';
import { RedisScript } from './script.ts';

export const sightingsScript = new RedisScript('sightings.lua', {
  KEPT_MS: String(RETENTION.sightingMs),
  CLIENTS_MAX: CLIENTS_ON_DEVICE_MAX,
});
const notePaymentScript = new RedisScript('note-payment-1.lua');

/** A sorted set in which a client is noted, counted, or both. */
interface Place {
  readonly key: string;
  readonly question: SharingQuestion;
  /** Present if clients are noted in the set without their marks. */
  readonly isUnmarked?: true;
}

/**
 * Creates the function that counts who was seen on which device, and first records the client there if the caller
 * wants it. If there is one server, one command asks it. In a cluster each key needs its own command, because the
 * keys lie on different servers.
 */
export function createRedisCountSightings(door: RedisAccess): Store['sightings'] {
  const count = async (ask: SightingsQueryAndNote, places: readonly Place[]): Promise<readonly number[]> => {
    const [first] = places;
    if (first === undefined) return [];
    const keys = [first.key, ...places.slice(1).map(({ key }) => key)] as const;
    const recording = ask.record ? (ask.isRepeated === true ? '2' : '1') : '0';
    const name = redis.deviceMember(ask.client.hash);
    const own = LETTERS_OF_BITS[encodeSightingMarks(ask.marks)] ?? '';
    const ofPlaces = places.flatMap((place) => createPlaceArgs(place, ask.at));
    const args = [formatMoment(ask.at), recording, name, own, ...ofPlaces];
    return sightingsScript.on(door, [...keys], args, (what, reply) => {
      const counts = requireArray(what, reply);
      const asked = places.reduce((sum, place) => sum + computeCountsInReply(place), 0);
      if (counts.length !== asked) throw new BadReply(what, counts);
      return counts.map((count) => requireWholeNumber(what, count));
    });
  };
  return async (ask) => {
    const fingerprint = createDevicePlace(ask, 'fingerprint');
    const ip = createDevicePlace(ask, 'ip');
    const attributes = ask.attributes?.map((asked) => createAttributePlace(ask, asked)) ?? [];
    const places = [fingerprint, ip, ...attributes].filter((place) => place !== null);
    const counts = door.connection.sharded
      ? (await Promise.all(places.map((place) => count(ask, [place])))).flat()
      : await count(ask, places);
    const ofFingerprint = counts.slice(0, fingerprint === null ? 0 : computeCountsInReply(fingerprint));
    const ofIp = counts.slice(ofFingerprint.length);
    const devices = { fingerprint: groupByWindow(fingerprint, ofFingerprint), ip: groupByWindow(ip, ofIp) };
    if (ask.attributes === undefined) return devices;
    const ofAttributes = ofIp.slice(ip === null ? 0 : computeCountsInReply(ip));
    return { ...devices, attributes: groupByAttribute(ask.attributes, ofAttributes) };
  };
}

function createDevicePlace(ask: SightingsQueryAndNote, kind: DeviceKind): Place | null {
  const { client, sharing } = ask;
  const id = ask[kind];
  if (id === null) return null;
  return { key: redis.deviceKey(kind, client.platform, id), question: sharing[kind] };
}

function createAttributePlace(
  { client }: SightingsQueryAndNote,
  { name, value, windowsMs }: AskedAttribute,
): Place {
  return {
    key: redis.attributeKey(client.platform, redis.attributeValueId(name, value)),
    question: { ...NO_SHARING_QUESTION, windowsMs },
    isUnmarked: true,
  };
}

/** The letters of the marks, by the number that their bits form. */
const LETTERS_OF_BITS: readonly string[] = Array.from({ length: 256 }, (_, bits) =>
  redis.MARK_LETTERS.filter((_, place) => ((bits >> place) & 1) === 1).join(''),
);

function formatMarkLetters(marks: readonly SightingMark[]): string {
  return LETTERS_OF_BITS[combineMarkBits(marks)] ?? '';
}

/**
 * The letters of all marks, which are noted in sets in which a rule set counts unpaid orders. In all other sets, only
 * LETTERS_WITHOUT_ORDERS are noted.
 */
const EVERY_LETTER = formatMarkLetters(SIGHTING_MARKS);
const LETTERS_WITHOUT_ORDERS = formatMarkLetters(['paying', 'unpaid', 'blocked']);

function createPlaceArgs({ question, isUnmarked }: Place, at: number): readonly string[] {
  const { windowsMs, marks, verdictWindowsMs, notes } = question;
  const letters = notes.unpaidOrders ? EVERY_LETTER : LETTERS_WITHOUT_ORDERS;
  const noted = isUnmarked === true ? '' : letters;
  const firstMoments = windowsMs.map((windowMs) => formatMoment(at - windowMs + 1));
  const args = [formatMarkLetters(marks), notes.verdicts ? `${noted}v` : noted, String(windowsMs.length)];
  if (!notes.verdicts) return [...args, ...firstMoments];
  const steps = verdictWindowsMs.map((windowMs) => getWindowFirstStep(windowMs, at));
  const ofSteps = steps.flatMap(({ ring, first }) => [ring + 1, Math.max(0, first)]);
  return [...args, ...firstMoments, String(steps.length), ...ofSteps.map(String)];
}

/** Formats a moment for the script. The scores of the script are texts, with the number of a mark before the moment. */
function formatMoment(atMs: number): string {
  return String(Math.max(0, atMs)).padStart(14, '0');
}

/** Returns the number of counts in the reply for a set. */
function computeCountsInReply({ question: { windowsMs, marks, verdictWindowsMs, notes } }: Place): number {
  return windowsMs.length * (1 + marks.length) + (notes.verdicts ? verdictWindowsMs.length : 0);
}

function groupByWindow(
  place: Place | null,
  counts: readonly number[],
): ReadonlyMap<number, DeviceSharingCounts> {
  const { windowsMs, marks, verdictWindowsMs } = place?.question ?? NO_SHARING_QUESTION;
  const inOrder = SIGHTING_MARKS.filter((mark) => marks.includes(mark));
  const each = 1 + inOrder.length;
  const verdicts = counts.slice(windowsMs.length * each);
  return new Map(
    windowsMs.map((windowMs, index) => {
      const [clients = 1, ...marked] = counts.slice(index * each, (index + 1) * each);
      const count = (mark: SightingMark) => marked[inOrder.indexOf(mark)] ?? 0;
      const asked = verdictWindowsMs.indexOf(windowMs);
      return [
        windowMs,
        {
          clients,
          verdicts: asked < 0 ? 0 : computeDeviceVerdictCount(verdicts[asked] ?? 0, clients),
          paying: count('paying'),
          unpaid: count('unpaid'),
          blocked: count('blocked'),
          unpaidOrders: count('unpaidOrders'),
        },
      ];
    }),
  );
}

/** Groups the counts by attribute and window. The reply has them one after the other. */
function groupByAttribute(
  asked: readonly AskedAttribute[],
  counts: readonly number[],
): ReadonlyMap<string, ReadonlyMap<number, number>> {
  let start = 0;
  return groupCountsByName(
    asked.map(({ name, windowsMs }) => {
      const own = counts.slice(start, start + windowsMs.length);
      start += windowsMs.length;
      return [name, new Map(windowsMs.map((windowMs, index) => [windowMs, own[index] ?? 1]))];
    }),
  );
}

/**
 * Creates the function that notes a payment on the devices that the client's notes name. No verdict waits for the
 * note.
 */
export function createRedisNotePayment(door: RedisAccess): Store['notePayment'] {
  const { commands } = door.connection;
  return async ({ client: { platform, hash }, since, isUnpaid }) => {
    const notes = redis.notesKey(hash);
    const names = await door.runOn(notes)(() => commands.hKeys(notes));
    const devices = (['fingerprint', 'ip'] as const).flatMap((kind) =>
      listNoteNamesOfKind(names, kind).map((id) => redis.deviceKey(kind, platform, id)),
    );
    const args = [redis.deviceMember(hash), String(Math.max(0, since)), isUnpaid ? '1' : '0'];
    await Promise.all(
      devices.map((device) => notePaymentScript.on(door, [device], args, requireWholeNumber)),
    );
  };
}
