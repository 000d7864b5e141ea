import { hash } from 'node:crypto';
import { RESP_TYPES } from '@redis/client';
import type { StampedText } from '#state/store.ts';
import type { RedisAccess } from './connection/connection.ts';
import { callChecked, requireWholeNumber } from './connection/reply.ts';
import { RedisScript } from './script.ts';

/**
 * The only functions that change a text in Redis after it was read. The text is replaced or removed only if it is
 * still the same. A stamp, which is a hash of the text's bytes, stands for the text, because a damaged text may not
 * be UTF-8 and could not be sent back.
 */

type RedisDoor = Pick<RedisAccess, 'connection' | 'runOn'>;

/** Returns the SHA-1 of a text, by which `compareAndSet` notices that the text has changed. */
export function computeStamp(text: string | Buffer): string {
  return hash('sha1', text);
}

/** Reads a text with the stamp of its bytes. Returns null if there is none. */
export async function readStamped(
  { connection, runOn }: RedisDoor,
  key: string,
): Promise<StampedText | null> {
  const inBytes = connection.commands.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const isBytesOrNothing = (reply: unknown) => reply === null || Buffer.isBuffer(reply);
  const bytes = await runOn(key)(() => callChecked('GET', inBytes.get(key), isBytesOrNothing));
  return Buffer.isBuffer(bytes) ? { text: bytes.toString(), stamp: computeStamp(bytes) } : null;
}

const compareAndSetScript = new RedisScript('compare-and-set-1.lua');

/**
 * Replaces the text that has the stamp. Removes it if `next` is null. Returns false if the text has changed. If
 * `keptMs` is missing, the new text expires when the old one would have.
 */
export async function compareAndSet(
  door: RedisDoor,
  key: string,
  stamp: string,
  next: string | null,
  keptMs?: number,
): Promise<boolean> {
  const args = [stamp, next === null ? '0' : '1', next ?? '', keptMs === undefined ? '' : String(keptMs)];
  return (await compareAndSetScript.on(door, [key], args, requireWholeNumber)) === 1;
}
