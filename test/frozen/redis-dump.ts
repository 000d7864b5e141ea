import { createClient, RESP_TYPES } from '@redis/client';
import type { RedisServers } from '../servers/redis.ts';

interface DumpedKey {
  readonly key: string;
  /** As DUMP gives it, base64: Redis takes what an older Redis gave. */
  readonly value: string;
}

/** All keys of a server without their expiry: what is frozen must not end. */
export async function raw(servers: RedisServers): Promise<Buffer> {
  const client = createClient({ url: servers.url }).on('error', () => {});
  await client.connect();
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const keys: DumpedKey[] = [];
  for await (const some of client.scanIterator()) {
    for (const key of some) {
      const value = await bytes.dump(key);
      if (Buffer.isBuffer(value)) keys.push({ key, value: value.toString('base64') });
    }
  }
  client.destroy();
  const sorted = keys.toSorted((a, b) => a.key.localeCompare(b.key, 'en'));
  return Buffer.from(sorted.map((one) => JSON.stringify(one)).join('\n'));
}

export async function restore(servers: RedisServers, dump: Buffer): Promise<void> {
  const client = createClient({ url: servers.url }).on('error', () => {});
  await client.connect();
  for (const line of dump.toString().split('\n')) {
    const { key, value }: DumpedKey = JSON.parse(line);
    await client.restore(key, 0, Buffer.from(value, 'base64'));
  }
  client.destroy();
}
