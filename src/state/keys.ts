import { hash } from 'node:crypto';
import type { PlatformName } from '../client/client-key.ts';
import type { Sightings } from '../facts/fact.ts';
import type { TextKind, TextPlace } from './health/stored-texts.ts';

/**
 * Every key name in Redis. What belongs to a client carries the first character of the client's hash as
 * its hash tag: 64 partitions, each in one slot together with its journal, so that one script can write
 * all of a change also in a cluster. Names that exist once a client are short, because they are a good
 * part of what a client costs.
 */

/** The hash tags of clients: the base64url alphabet. */
export const PARTITIONS: readonly string[] = [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
];

function home(clientHash: string): string {
  return `{${clientHash.charAt(0)}}${clientHash}`;
}

/** The client's state. String. */
export function stateKey(clientHash: string): string {
  return `s:${home(clientHash)}`;
}

/** One decision record. String. */
export function decisionKey(clientHash: string, seq: number): string {
  return `d:${home(clientHash)}.${seq}`;
}

/** What is known of an order's outcome. String. */
export function outcomeKey(clientHash: string, order: string): string {
  return `o:${home(clientHash)}:${order}`;
}

/** Numbers of the client's decisions about an order. Sorted set: a small one takes less than a list. */
export function orderDecisionsKey(clientHash: string, order: string): string {
  return `l:${home(clientHash)}:${order}`;
}

/** What a verdict answered under an Idempotency-Key. String. */
export function answerKey(clientHash: string, name: string): string {
  return `a:${home(clientHash)}:${name}`;
}

/** What erasure must look for: one of `OWNED` and a name, by when it expires. Sorted set. */
export function ownedKey(clientHash: string): string {
  return `w:${home(clientHash)}`;
}

export const OWNED = { order: 'o', answer: 'a', fingerprint: 'f', ip: 'i' } as const;

/** The journal of a partition. Stream. */
export function journalKey(partition: string): string {
  return `journal:{${partition}}`;
}

/** What a partition's journal lost to its bound: how many entries, their first and last id. Hash. */
export function journalLossKey(partition: string): string {
  return `journal-loss:{${partition}}`;
}

export function partitionOf(clientHash: string): string {
  return clientHash.charAt(0);
}

/** Stands in a script's KEYS for what a call does not need; never written. In the client's slot. */
export function unusedKey(clientHash: string): string {
  return `-:{${partitionOf(clientHash)}}`;
}

/** Clients seen on a device of a platform, by last seen. Sorted set of `deviceMember`. */
export function deviceKey(kind: keyof Sightings, platform: PlatformName, id: string): string {
  return `${kind === 'ip' ? 'i' : 'f'}:${platform}:${id}`;
}

/** 72 bits tell the few clients of one device apart. */
export function deviceMember(clientHash: string): string {
  return clientHash.slice(0, 12);
}

/** Clients that used an orderRef, by when. Sorted set of client hashes. */
export function orderClientsKey(platform: PlatformName, order: string): string {
  return `order-clients:${platform}:${order}`;
}

/** The request that first came with an Idempotency-Key. String. */
export function claimKey(platform: PlatformName, name: string): string {
  return `claim:${platform}:${name}`;
}

export function rateKey(bucket: string): string {
  return `rate:${bucket}`;
}

/** A text that changes by compare-and-set; there are few, and none expires. String. */
export function registerKey(name: string): string {
  return `register:${name}`;
}

/** What people and keys changed. Stream. */
export const AUDIT = 'audit';

/** The shared lists, in one slot: see the scripts `write-lists` and `read-lists`. */
export const LISTS = {
  records: '{lists}:records',
  numbers: '{lists}:numbers',
  removals: '{lists}:removals',
  head: '{lists}:head',
} as const;

/** All documents share one slot, so that a collection can be listed in one step. */
export const DOCUMENTS = '{documents}';

/** The names of a collection, by when they were last written. Sorted set. */
export function documentNamesKey(collection: string): string {
  return `${DOCUMENTS}:names:${collection}`;
}

/** Before each name of a collection. */
export function documentPrefix(collection: string): string {
  return `${DOCUMENTS}:document:${collection}/`;
}

/** What an operator may look at, and where it is kept; null for every other key. */
export function textPlaceOf(key: string): TextPlace | null {
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

/** 128 bits of sha256: names an orderRef or Idempotency-Key whatever characters the caller chose. */
export function nameOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}
