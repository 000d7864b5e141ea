import { spawn } from 'node:child_process';
import { end, isRunning, own } from '../processes/own-process.ts';
import { accepts } from './redis-command.ts';
import { until } from './until.ts';

/** A redis-server on a port of 127.0.0.1 that ends with the process that started it. */
export interface RedisProcess {
  readonly port: number;
  readonly url: string;
  /** Stops it without closing its connections, like a machine that hangs. */
  suspend(): void;
  resume(): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with what its files hold. */
  restart(): Promise<void>;
}

/** Keeps nothing on disk, and lets a replica follow at once. */
export const MEMORY_ONLY: readonly string[] = [
  '--save',
  '',
  '--appendonly',
  'no',
  '--repl-diskless-sync-delay',
  '0',
];

/** Writes an append-only file, flushed to disk every second. */
export const APPEND_ONLY: readonly string[] = [
  '--save',
  '',
  '--appendonly',
  'yes',
  '--appendfsync',
  'everysec',
];

/** The same, flushed before each answer: with `everysec` and a slow disk a kill loses the last answers, too. */
export const FLUSHED_AT_ONCE: readonly string[] = [...APPEND_ONLY, '--appendfsync', 'always'];

/** Starts it with its files in this folder, and waits until it answers. */
export async function startRedis(
  directory: string,
  port: number,
  options: readonly string[],
): Promise<RedisProcess> {
  return startRedisProcess([...addressOptions(directory, port), ...options], port);
}

/** Starts a Sentinel that reads this file and writes into it. */
export async function startSentinelProcess(
  directory: string,
  port: number,
  configFile: string,
): Promise<RedisProcess> {
  return startRedisProcess([configFile, '--sentinel', ...addressOptions(directory, port)], port);
}

function addressOptions(directory: string, port: number): readonly string[] {
  return ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory];
}

async function startRedisProcess(args: readonly string[], port: number): Promise<RedisProcess> {
  const start = async () => {
    const started = own(spawn('redis-server', args, { stdio: 'ignore' }));
    try {
      await until(`redis-server answers on ${port}`, async () => {
        if (isRunning(started)) return accepts(port, ['PING']);
        throw new Error(`redis-server ended with ${started.exitCode ?? started.signalCode} on port ${port}`);
      });
      return started;
    } catch (error) {
      await end(started);
      throw error;
    }
  };
  let child = await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    suspend: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    kill: () => end(child),
    restart: async () => {
      child = await start();
    },
  };
}
