import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { own } from '../servers/own-process.ts';
import type { HeaderList } from './http-call.ts';

/** The whole service as a process of its own, as `npm start` runs it. */
export interface ServiceProcess {
  readonly callerUrl: string;
  readonly platformUrl: string;
  stdout(): string;
  stderr(): string;
  signal(signal: NodeJS.Signals): void;
  /** The exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Ends it with SIGTERM and gives the exit code. */
  stop(): Promise<number | null>;
}

export interface EndedProcess {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the real process on free ports and waits for its start-up line; throws with its output if it ends. */
export async function spawnService(dataDir: string, env: HeaderList = {}): Promise<ServiceProcess> {
  const { child, stdout, stderr, exited } = spawnMain(dataDir, env);
  const { promise: started, resolve } = Promise.withResolvers<RegExpExecArray>();
  child.stdout?.on('data', () => {
    const line = /callers (\S+), platform (\S+), store .*\n/.exec(stdout());
    if (line !== null) resolve(line);
  });
  const first = await Promise.race([started, exited]);
  if (first === null || typeof first === 'number') {
    throw new Error(`the service ended with ${first} before it was up:\n${stdout()}${stderr()}`);
  }
  const [, callerUrl = '', platformUrl = ''] = first;
  return {
    callerUrl,
    platformUrl,
    stdout,
    stderr,
    exited,
    signal: (signal) => child.kill(signal),
    stop: async () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

/** Runs the real process where it is expected to end by itself. */
export async function runService(dataDir: string, env: HeaderList): Promise<EndedProcess> {
  const { stdout, stderr, exited } = spawnMain(dataDir, env);
  const exitCode = await exited;
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

function spawnMain(dataDir: string, env: HeaderList) {
  const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
  const defaults = { HOST: '127.0.0.1', PORT: '0', PLATFORM_PORT: '0', RATE_LIMIT_PER_SECOND: '0' };
  const child = spawn(process.execPath, [main], {
    env: { ...defaults, DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  own(child);
  // A test that fails leaves its process behind; the test run ends all the same, and then ends that too.
  child.unref();
  unref(child.stdout);
  unref(child.stderr);
  const texts = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    texts.stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    texts.stderr += chunk;
  });
  const exited = once(child, 'close').then((): number | null => child.exitCode);
  return { child, stdout: () => texts.stdout, stderr: () => texts.stderr, exited };
}

/** A pipe is a socket, whatever its declared type says. */
function unref(pipe: Readable): void {
  if (pipe instanceof Socket) pipe.unref();
}
