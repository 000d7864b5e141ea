import { startStandalone } from '../servers/redis.ts';
import { command } from '../servers/redis-command.ts';
import { APPEND_ONLY } from '../servers/redis-process.ts';

let alone: Promise<string> | null = null;

/**
 * The address of the one database that the suites of this process share, emptied for each that asks. It is one of the
 * Redis of the whole run; a process that runs alone starts one, which ends with it.
 */
export async function emptyRedisUrl(): Promise<string> {
  const { SHARED_REDIS, MOCHA_WORKER_ID = '0' } = process.env;
  alone ??= startAlone(SHARED_REDIS);
  const url = `${await alone}/${MOCHA_WORKER_ID}`;
  await command(url, ['FLUSHDB']);
  return url;
}

async function startAlone(shared: string | undefined): Promise<string> {
  return shared ?? (await startStandalone(APPEND_ONLY)).url;
}
