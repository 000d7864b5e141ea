import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { end, own } from '../../test/processes/own-process.ts';

export interface MeasuredProcess {
  readonly url: string;
  /** Returns the CPU time since the start, in us. */
  cpuMicros(): Promise<number>;
  /** Returns the bytes of the heap after a full garbage collection. */
  heapBytes(): Promise<number>;
  /** Returns the bytes written to the disk since the start. Returns NaN on systems other than Linux. */
  writtenBytes(): Promise<number>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 20_000;

/**
 * Settings with a rate limit that nobody reaches. The limit is not off, so that every request still takes its token.
 */
const OPEN_SERVICE = {
  HOST: '127.0.0.1',
  PORT: '0',
  PLATFORM_PORT: '0',
  RATE_LIMIT_PER_SECOND: '1000000',
  RATE_LIMIT_BURST: '1000000',
  LOG_LEVEL: 'info',
  SIGNAL_SECRET: 'a secret of the bench, long enough',
  REDIS_URL: '',
};

/** Starts a script that prints `callers <url>,` when it listens. The script's log is discarded. */
export async function startMeasuredProcess(
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<MeasuredProcess> {
  const preload = join(import.meta.dirname, 'report-usage.ts');
  const child = fork(join(import.meta.dirname, '..', '..', script), {
    execArgv: ['--expose-gc', '--import', preload],
    env: { ...process.env, ...OPEN_SERVICE, ...env },
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  });
  own(child);
  const url = await readUrl(child, script);
  return {
    url,
    cpuMicros: () => ask(child, 'cpu'),
    heapBytes: () => ask(child, 'heap'),
    writtenBytes: async () => (process.platform === 'linux' ? ask(child, 'written') : Number.NaN),
    stop: () => end(child),
  };
}

async function ask(child: ChildProcess, what: 'cpu' | 'heap' | 'written'): Promise<number> {
  const answer = once(child, 'message');
  child.send(what);
  const [value]: unknown[] = await answer;
  return Number(value);
}

async function readUrl(child: ChildProcess, script: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk;
    const [, url] = /callers (\S+),/.exec(printed) ?? [];
    if (url !== undefined) resolve(url);
  });
  child.once('exit', (code) =>
    reject(new Error(`${script} ended with ${code} before it listened:\n${printed}`)),
  );
  const limit = setTimeout(() => {
    child.kill('SIGKILL');
    reject(new Error(`${script} does not listen after ${START_LIMIT_MS} ms:\n${printed}`));
  }, START_LIMIT_MS);
  return promise.finally(() => clearTimeout(limit));
}
