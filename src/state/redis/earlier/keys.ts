import type { PlatformName } from '../../../client/client-key.ts';

/**
 * The keys of the layout before this one: the hash tag of a client was the first character of its hash, and orders,
 * answers and what an erasure looks for had keys of their own.
 */
export const EARLIER_PARTITIONS: readonly string[] = [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
];

export function earlierPartitionOf(clientHash: string): string {
  return clientHash.charAt(0);
}

function home(clientHash: string): string {
  return `{${earlierPartitionOf(clientHash)}}${clientHash}`;
}

/** Stands in the place of a state that was moved: see earlier/leave-1.lua. */
export const MOVED = 'moved';

/** Before the hashes of clients in the keys of their states. */
export const STATE_PREFIX = 's:';

/** String. */
export function stateKeyOf(clientHash: string): string {
  return STATE_PREFIX + home(clientHash);
}

/** One decision record. String. */
export function recordKey(clientHash: string, seq: number): string {
  return `d:${home(clientHash)}.${seq}`;
}

/** What is known of an order's outcome. String. */
export function outcomeKey(clientHash: string, order: string): string {
  return `o:${home(clientHash)}:${order}`;
}

/** Numbers of the client's decisions about an order. Sorted set. */
export function orderNumbersKey(clientHash: string, order: string): string {
  return `l:${home(clientHash)}:${order}`;
}

/** What a verdict answered under an Idempotency-Key. String. */
export function answerKey(clientHash: string, name: string): string {
  return `a:${home(clientHash)}:${name}`;
}

/** What erasure must look for: one of `NOTES` and a name, by when it expires. Sorted set. */
export function ownedKey(clientHash: string): string {
  return `w:${home(clientHash)}`;
}

/** Clients that used an orderRef, by when. Sorted set of client hashes. */
export function orderClientsKey(platform: PlatformName, order: string): string {
  return `order-clients:${platform}:${order}`;
}

/** Set once the partition's clients may be taken into the layout of today: nothing here is changed after. String. */
export function movedKey(partition: string): string {
  return `moved:{${partition}}`;
}

/** Stands in a script's KEYS for what a call does not need. */
export function noKey(clientHash: string): string {
  return `-:{${earlierPartitionOf(clientHash)}}`;
}
