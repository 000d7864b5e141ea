import { CLIENTS_ON_DEVICE_MAX, type Sightings } from '../../facts/fact.ts';
import { deviceKey, deviceMember } from '../keys.ts';
import { RETENTION } from '../retention.ts';
import type { RunCall } from '../run-call.ts';
import type { SightingsAsk } from '../store.ts';
import type { RedisConnection } from './connection/connection.ts';
import { BadReply, itemsOf, wholeOf } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const sightingsScript = new RedisScript('sightings.lua');

/** One sorted set in which a client is noted, counted, or both. */
interface Place {
  readonly key: string;
  readonly member: string;
  readonly keptMs: number;
  readonly length: number;
  readonly windowsMs: readonly number[];
}

/** Who was seen on which device. */
export class RedisSightings {
  readonly #connection: RedisConnection;
  readonly #runOn: (key: string) => RunCall;

  constructor(connection: RedisConnection, runOn: (key: string) => RunCall) {
    this.#connection = connection;
    this.#runOn = runOn;
  }

  /** One command; in a cluster one a key, because the keys lie on different servers. */
  async see(ask: SightingsAsk): Promise<Sightings> {
    const fingerprint = devicePlace(ask, 'fingerprint');
    const ip = devicePlace(ask, 'ip');
    const places = [fingerprint, ip].filter((place) => place !== null);
    const counts = this.#connection.sharded
      ? (await Promise.all(places.map((place) => this.#count(ask, [place])))).flat()
      : await this.#count(ask, places);
    const ofFingerprint = counts.slice(0, fingerprint?.windowsMs.length ?? 0);
    const ofIp = counts.slice(ofFingerprint.length);
    return { fingerprint: byWindow(fingerprint, ofFingerprint), ip: byWindow(ip, ofIp) };
  }

  async #count(ask: SightingsAsk, places: readonly Place[]): Promise<readonly number[]> {
    const [first] = places;
    if (first === undefined) return [];
    const keys = places.map(({ key }) => key);
    const args = [String(ask.at), ask.record ? '1' : '0', ...places.flatMap(placeArgs)];
    return this.#runOn(first.key)(async () => {
      const counts = itemsOf(
        'sightings.lua',
        await sightingsScript.run(this.#connection.commands, keys, args),
      );
      const asked = places.reduce((sum, { windowsMs }) => sum + windowsMs.length, 0);
      if (counts.length !== asked) throw new BadReply('sightings.lua', counts);
      return counts.map((count) => wholeOf('sightings.lua', count));
    });
  }
}

function devicePlace(ask: SightingsAsk, kind: keyof Sightings): Place | null {
  const { client, windowsMs } = ask;
  const id = ask[kind];
  if (id === null) return null;
  return {
    key: deviceKey(kind, client.platform, id),
    member: deviceMember(client.hash),
    keptMs: RETENTION.sightingMs,
    length: CLIENTS_ON_DEVICE_MAX,
    windowsMs: windowsMs[kind],
  };
}

function placeArgs({ member, keptMs, length, windowsMs }: Place): readonly string[] {
  return [member, keptMs, length, windowsMs.length, ...windowsMs].map(String);
}

function byWindow(place: Place | null, counts: readonly number[]): ReadonlyMap<number, number> {
  const windowsMs = place?.windowsMs ?? [];
  return new Map(windowsMs.map((windowMs, index) => [windowMs, counts[index] ?? 1]));
}
