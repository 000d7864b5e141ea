import { hash } from 'node:crypto';
import { RESP_TYPES } from '@redis/client';
import type { StampedText } from '#state/store.ts';
import type { RedisAccess } from './connection/connection.ts';
import { callChecked, requireWhole } from './connection/reply.ts';
import { RedisScript } from './script.ts';

/**
 * The one way in which a text in Redis changes that was read before: it is replaced or removed only if it is still what was
 * read. Its stamp says so, because a damaged text may be no UTF-8 that could be sent back.
 */

type Door = Pick<RedisAccess, 'connection' | 'runOn'>;

export function computeStamp(text: string | Buffer): string {
  return hash('sha1', text);
}

/** A text with the stamp of its bytes; null when there is none. */
export async function readStamped({ connection, runOn }: Door, key: string): Promise<StampedText | null> {
  const inBytes = connection.commands.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const isBytesOrNothing = (reply: unknown) => reply === null || Buffer.isBuffer(reply);
  const bytes = await runOn(key)(() => callChecked('GET', inBytes.get(key), isBytesOrNothing));
  return Buffer.isBuffer(bytes) ? { text: bytes.toString(), stamp: computeStamp(bytes) } : null;
}

const compareAndSetScript = new RedisScript('compare-and-set-1.lua');

/**
 * Puts `next` in the place of the text that had the stamp, or with null removes it; false when the text has changed. Without
 * `keptMs` it ends when it would have ended anyway.
 */
export async function compareAndSet(
  door: Door,
  key: string,
  stamp: string,
  next: string | null,
  keptMs?: number,
): Promise<boolean> {
  const args = [stamp, next === null ? '0' : '1', next ?? '', keptMs === undefined ? '' : String(keptMs)];
  return (await compareAndSetScript.on(door, [key], args, requireWhole)) === 1;
}
