import { type ChildProcess, spawn } from 'node:child_process';
import { freePort } from '../../../test/servers/free-port.ts';
import { end, own } from '../../../test/servers/own-process.ts';
import { command } from '../../../test/servers/redis-command.ts';
import { until } from '../../../test/servers/until.ts';

/** One redis-server that writes an append-only file, flushed to disk every second. */
export interface DurableRedis {
  readonly url: string;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts it again on the same port with what its file holds. */
  restart(): Promise<void>;
}

/** Starts it on a free port of 127.0.0.1 with its file in this folder. */
export async function startDurableRedis(folder: string): Promise<DurableRedis> {
  const port = await freePort();
  const persistence = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', ''];
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...persistence];
  let child = await start(args, port);
  return {
    url: `redis://127.0.0.1:${port}`,
    kill: () => end(child),
    restart: async () => {
      child = await start(args, port);
    },
  };
}

async function start(args: readonly string[], port: number): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  own(child);
  await until(`redis-server answers on ${port}`, () => answers(port));
  return child;
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await command(port, ['PING'])) === 'PONG';
  } catch {
    return false;
  }
}
