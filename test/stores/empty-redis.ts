import { type RedisServers, startStandalone } from '../servers/redis.ts';
import { command } from '../servers/redis-command.ts';
import { APPEND_ONLY } from '../servers/redis-process.ts';

let redis: Promise<RedisServers> | null = null;

/**
 * The address of the one Redis that the suites of this process share; it is emptied for each that asks, and
 * ends with the process.
 */
export async function emptyRedisUrl(): Promise<string> {
  redis ??= startStandalone(APPEND_ONLY);
  const servers = await redis;
  for (const { port } of servers.nodes) await command(port, ['FLUSHALL']);
  return servers.url;
}
