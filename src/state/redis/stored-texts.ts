import type { FollowedVersions } from '#state/documents.ts';
import { documentPrefix, registerKey, stateKey } from '#state/keys.ts';
import { RETENTION } from '#state/retention.ts';
import {
  getCollectionOrRegister,
  type StatesPage,
  type StoredText,
  type StoredTexts,
  type TextKind,
  type TextPlace,
} from '#state/store.ts';
import { compareAndSet, computeStamp, readStamped } from './compare-and-set.ts';
import type { RedisConnection } from './connection/connection.ts';
import type { ServerCalls } from './connection/server-calls.ts';
import type { ClientErasure } from './erasure.ts';

/** The most keys that one step reads. A step takes well under a millisecond, during which no request is served. */
const SCAN_KEYS = 500;

/** Reads and replaces the texts of states, documents and registers on every server. */
export function createRedisStoredTexts(
  connection: RedisConnection,
  calls: ServerCalls,
  erasure: ClientErasure,
  versions: FollowedVersions,
): StoredTexts {
  const keyOf = ({ kind, name }: TextPlace): string => {
    switch (kind) {
      case 'client':
        return stateKey(name);
      case 'document':
        return documentPrefix('').slice(0, -1) + name;
      case 'register':
        return registerKey(name);
      default:
        return kind satisfies never;
    }
  };
  const door = { connection, runOn: calls.on };
  return {
    all: () => readAllTexts(connection, calls),
    read: (place) => readStamped(door, keyOf(place)),
    replace: async (place, stamp, next) => {
      const keptMs = place.kind === 'client' ? RETENTION.stateMs : undefined;
      const replaced = await compareAndSet(door, keyOf(place), stamp, next, keptMs);
      if (replaced) await versions.writeNewVersion(getCollectionOrRegister(place));
      return replaced;
    },
    states: (from) => readStatesPage(connection, calls, from),
    replaceState: (clientHash, text, next) =>
      compareAndSet(door, stateKey(clientHash), computeStamp(text), next),
    findNewestDecisionNumber: (clientHash) => erasure.findNewestDecisionNumber(clientHash),
  };
}

/**
 * Reads a page of states. A cursor names the current server and the position there. Servers that are added during the
 * pass wait for the next pass.
 */
async function readStatesPage(
  connection: RedisConnection,
  calls: ServerCalls,
  from: string | null,
): Promise<StatesPage> {
  const nodes = connection.servers();
  const [cursor = '0', started] = from?.split(' ') ?? [];
  const place = started === undefined ? 0 : nodes.indexOf(started);
  const node = nodes[place];
  // The server is gone, and its clients are on other servers, so the pass ends here.
  if (node === undefined) return { states: [], next: null };
  const page = await calls.onServer(node)(() => connection.scanOn(node, cursor, SCAN_KEYS, 's:*'));
  const states = await Promise.all(
    page.keys.map(async (key) => {
      const found = parseTextPlace(key);
      const text = await calls.on(key)(() => connection.commands.get(key));
      return found === null || text === null ? [] : [{ name: found.name, text }];
    }),
  );
  const following = nodes[place + 1];
  const next =
    page.cursor !== '0' ? `${page.cursor} ${node}` : following === undefined ? null : `0 ${following}`;
  return { states: states.flat(), next };
}

async function* readAllTexts(connection: RedisConnection, calls: ServerCalls): AsyncGenerator<StoredText> {
  const { commands } = connection;
  for (const node of connection.servers()) {
    let cursor = '0';
    do {
      const from: string = cursor;
      const page = await calls.onServer(node)(() => connection.scanOn(node, from, SCAN_KEYS));
      cursor = page.cursor;
      for (const key of page.keys) {
        const place = parseTextPlace(key);
        const text = place === null ? null : await calls.on(key)(() => commands.get(key));
        if (place !== null && text !== null) yield { ...place, text };
      }
    } while (cursor !== '0');
  }
}

/** Finds which stored text a key holds. Returns null for a key without such a text. */
function parseTextPlace(key: string): TextPlace | null {
  const place = (kind: TextKind, pattern: RegExp) => {
    const name = pattern.exec(key)?.[1];
    return name === undefined ? null : { kind, name };
  };
  return (
    place('client', /^s:\{[^}]*\}(.+)$/) ??
    place('document', /^\{documents\}:document:(.+)$/) ??
    place('register', /^register:(.+)$/)
  );
}
