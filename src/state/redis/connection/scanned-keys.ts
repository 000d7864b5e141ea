import type { RedisConnection } from './connection.ts';

/** Keys that one command looks at: some tenths of a millisecond, in which no request is served. */
const KEYS_AT_ONCE = 500;

/** The keys of a server that match, some at a time; one written meanwhile may be left out. */
export async function* scannedKeys(
  connection: RedisConnection,
  node: string,
  match: string,
): AsyncGenerator<readonly string[]> {
  for (let from = '0'; ; ) {
    const { cursor, keys } = await connection.scanOn(node, from, KEYS_AT_ONCE, match);
    yield keys;
    if (cursor === '0') return;
    from = cursor;
  }
}
