import { bitsOfMarks, markBits, SIGHTING_MARKS, type SightingMark } from '../../client/sighting-marks.ts';
import { stepsOf } from '../../client/verdict-steps.ts';
import {
  type AskedAttribute,
  CLIENTS_ON_DEVICE_MAX,
  countsByName,
  type DeviceKind,
  NO_QUESTION,
  type SharingCounts,
  type SharingQuestion,
  verdictsOnDevice,
} from '../../facts/fact.ts';
import * as redis from '../keys.ts';
import { RETENTION } from '../retention.ts';
import type { SightingsAsk, Store } from '../store.ts';
import { notedNames } from './clients.ts';
import type { RedisDoor } from './connection/connection.ts';
import { BadReply, itemsOf, wholeOf } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const sightingsScript = new RedisScript('sightings.lua');
const notePaymentScript = new RedisScript('note-payment-1.lua');

/** One sorted set in which a client is noted, counted, or both. */
interface Place {
  readonly key: string;
  readonly member: string;
  readonly keptMs: number;
  readonly length: number;
  readonly question: SharingQuestion;
  /** Clients are noted there without their marks. */
  readonly isUnmarked?: true;
}

/** Who was seen on which device: one command; in a cluster one a key, because the keys lie on different servers. */
export function redisSightings(door: RedisDoor): Store['sightings'] {
  const count = async (ask: SightingsAsk, places: readonly Place[]): Promise<readonly number[]> => {
    const [first] = places;
    if (first === undefined) return [];
    const keys = [first.key, ...places.slice(1).map(({ key }) => key)] as const;
    const own = String(markBits(ask.marks));
    const recording = ask.record ? (ask.isRepeated === true ? '2' : '1') : '0';
    const args = [String(ask.at), recording, own, ...places.flatMap((place) => placeArgs(place, ask.at))];
    return sightingsScript.on(door, [...keys], args, (what, reply) => {
      const counts = itemsOf(what, reply);
      const asked = places.reduce((sum, place) => sum + countsIn(place), 0);
      if (counts.length !== asked) throw new BadReply(what, counts);
      return counts.map((count) => wholeOf(what, count));
    });
  };
  return async (ask) => {
    const fingerprint = devicePlace(ask, 'fingerprint');
    const ip = devicePlace(ask, 'ip');
    const attributes = ask.attributes?.map((asked) => attributePlace(ask, asked)) ?? [];
    const places = [fingerprint, ip, ...attributes].filter((place) => place !== null);
    const counts = door.connection.sharded
      ? (await Promise.all(places.map((place) => count(ask, [place])))).flat()
      : await count(ask, places);
    const ofFingerprint = counts.slice(0, fingerprint === null ? 0 : countsIn(fingerprint));
    const ofIp = counts.slice(ofFingerprint.length);
    const devices = { fingerprint: byWindow(fingerprint, ofFingerprint), ip: byWindow(ip, ofIp) };
    if (ask.attributes === undefined) return devices;
    const ofAttributes = ofIp.slice(ip === null ? 0 : countsIn(ip));
    return { ...devices, attributes: byAttribute(ask.attributes, ofAttributes) };
  };
}

function devicePlace(ask: SightingsAsk, kind: DeviceKind): Place | null {
  const { client, sharing } = ask;
  const id = ask[kind];
  if (id === null) return null;
  return {
    key: redis.deviceKey(kind, client.platform, id),
    member: redis.deviceMember(client.hash),
    keptMs: RETENTION.sightingMs,
    length: CLIENTS_ON_DEVICE_MAX,
    question: sharing[kind],
  };
}

function attributePlace({ client }: SightingsAsk, { name, value, windowsMs }: AskedAttribute): Place {
  return {
    key: redis.attributeKey(client.platform, redis.attributeId(name, value)),
    member: redis.deviceMember(client.hash),
    keptMs: RETENTION.sightingMs,
    length: CLIENTS_ON_DEVICE_MAX,
    question: { ...NO_QUESTION, windowsMs },
    isUnmarked: true,
  };
}

/** Beside the marks in one argument: each argument costs the script as much as a command. */
const NOTE_VERDICTS = 256;
const NOTE_UNPAID = 512;
const NOTE_NO_MARKS = 1024;

function placeArgs({ member, keptMs, length, question, isUnmarked }: Place, at: number): readonly string[] {
  const { windowsMs, marks, verdictWindowsMs, notes } = question;
  const wanted =
    bitsOfMarks(marks) +
    (notes.verdicts ? NOTE_VERDICTS : 0) +
    (notes.unpaidOrders ? NOTE_UNPAID : 0) +
    (isUnmarked === true ? NOTE_NO_MARKS : 0);
  const steps = notes.verdicts ? verdictWindowsMs.map((windowMs) => stepsOf(windowMs, at)) : [];
  const ofSteps = steps.flatMap(({ ring, first }) => [ring + 1, Math.max(0, first)]);
  const ofVerdicts = notes.verdicts ? [steps.length, ...ofSteps] : [];
  return [member, keptMs, length, wanted, windowsMs.length, ...windowsMs, ...ofVerdicts].map(String);
}

interface CountedMark {
  readonly mark: SightingMark;
  readonly weight: number;
}

/** The marks of a question as the script counts them: unpaid orders by the digits of a binary number. */
function countedMarks(marks: readonly SightingMark[]): readonly CountedMark[] {
  return SIGHTING_MARKS.filter((mark) => marks.includes(mark)).flatMap((mark): readonly CountedMark[] =>
    mark === 'unpaidOrders' ? [1, 2, 4, 8, 16].map((weight) => ({ mark, weight })) : [{ mark, weight: 1 }],
  );
}

/** How many counts come back for a place. */
function countsIn({ question: { windowsMs, marks, verdictWindowsMs } }: Place): number {
  return windowsMs.length * (1 + countedMarks(marks).length) + verdictWindowsMs.length;
}

function byWindow(place: Place | null, counts: readonly number[]): ReadonlyMap<number, SharingCounts> {
  const { windowsMs, marks, verdictWindowsMs } = place?.question ?? NO_QUESTION;
  const counted = countedMarks(marks);
  const each = 1 + counted.length;
  const verdicts = counts.slice(windowsMs.length * each);
  return new Map(
    windowsMs.map((windowMs, index) => {
      const [clients = 1, ...marked] = counts.slice(index * each, (index + 1) * each);
      const count = (mark: SightingMark) =>
        counted.reduce(
          (sum, one, place) => sum + (one.mark === mark ? one.weight * (marked[place] ?? 0) : 0),
          0,
        );
      const asked = verdictWindowsMs.indexOf(windowMs);
      return [
        windowMs,
        {
          clients,
          verdicts: asked < 0 ? 0 : verdictsOnDevice(verdicts[asked] ?? 0, clients),
          paying: count('paying'),
          unpaid: count('unpaid'),
          blocked: count('blocked'),
          unpaidOrders: Math.min(CLIENTS_ON_DEVICE_MAX, count('unpaidOrders')),
        },
      ];
    }),
  );
}

/** The counts of one value after the other, each by its windows. */
function byAttribute(
  asked: readonly AskedAttribute[],
  counts: readonly number[],
): ReadonlyMap<string, ReadonlyMap<number, number>> {
  let start = 0;
  return countsByName(
    asked.map(({ name, windowsMs }) => {
      const own = counts.slice(start, start + windowsMs.length);
      start += windowsMs.length;
      return [name, new Map(windowsMs.map((windowMs, index) => [windowMs, own[index] ?? 1]))];
    }),
  );
}

/** Notes a payment on the devices that the client's notes name: no verdict waits for it. */
export function redisPayments(door: RedisDoor): Store['notePayment'] {
  const { commands } = door.connection;
  return async ({ client: { platform, hash }, since, isUnpaid }) => {
    const notes = redis.notesKey(hash);
    const names = await door.runOn(notes)(() => commands.hKeys(notes));
    const devices = (['fingerprint', 'ip'] as const).flatMap((kind) =>
      notedNames(names, kind).map((id) => redis.deviceKey(kind, platform, id)),
    );
    const args = [redis.deviceMember(hash), String(Math.max(0, since)), isUnpaid ? '1' : '0'];
    await Promise.all(devices.map((device) => notePaymentScript.on(door, [device], args, wholeOf)));
  };
}
