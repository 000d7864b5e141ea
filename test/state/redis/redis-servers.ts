import { expect } from 'chai';
import { stateKey } from '#state/keys.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import type { RedisServers } from '../../servers/redis.ts';
import { accepts, command } from '../../servers/redis-command.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { describeStore } from '../store-conformance.ts';

/** The conformance of stores, on Redis servers of some kind. */
export function describeRedis(name: string, start: () => Promise<RedisServers>): void {
  describeWithServer('redis-server', `with servers for ${name}`, () => {
    describeStore(name, async () => {
      const servers = await start();
      const store = await openPatiently(servers.url);
      return {
        store,
        dump: () => dump(servers),
        spoil: async ({ hash }, text) => {
          // In a cluster only the master of its slot takes it.
          const args = ['SET', stateKey(hash), text, 'KEEPTTL'];
          const taken = await Promise.all(servers.nodes.map(({ port }) => accepts(port, args)));
          expect(taken.filter(Boolean)).to.have.length(1);
        },
        end: async () => {
          await store.close();
          await servers.stop();
        },
      };
    });
  });
}

/** What a call failed with; null when it did not. */
export async function failureOf(call: Promise<unknown>): Promise<Error | null> {
  try {
    await call;
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Every key with its value, of all masters. */
export async function dump({ nodes }: RedisServers): Promise<string> {
  const dumps = await Promise.all(nodes.map(({ port }) => dumpOf(port)));
  return dumps.join('\n');
}

/** One command for a server: thousands of keys, each asked for by itself, take longer than all else. */
async function dumpOf(port: number): Promise<string> {
  try {
    return String(await command(port, ['EVAL', DUMP, '0']));
  } catch (error) {
    // A replica redirects reads to its master, which is dumped itself.
    if (error instanceof Error && /MOVED|non local key/.test(error.message)) return 'on its master';
    throw error;
  }
}

const DUMP = `
  local lines = {}
  local read = {
    string = function(key) return redis.call('GET', key) end,
    stream = function(key) return redis.call('XRANGE', key, '-', '+') end,
    hash = function(key) return redis.call('HGETALL', key) end,
    list = function(key) return redis.call('LRANGE', key, 0, -1) end,
    set = function(key) return redis.call('SMEMBERS', key) end,
    zset = function(key) return redis.call('ZRANGE', key, 0, -1) end,
  }
  for _, key in ipairs(redis.call('KEYS', '*')) do
    local kind = redis.call('TYPE', key).ok
    lines[#lines + 1] = key .. ' ' .. cjson.encode(read[kind](key))
  end
  return table.concat(lines, '\\n')`;
