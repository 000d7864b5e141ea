import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { type EndedProcess, type NodeProcess, runNode, startNode } from '../processes/node-process.ts';
import { againAfterStandstill } from '../servers/standstill.ts';
import type { HeaderList } from './http-call.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

/** The whole service as a process of its own, as `npm start` runs it. */
export interface ServiceProcess {
  readonly child: ChildProcess;
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

/**
 * Starts the real process on free ports and waits for its start-up line; throws with its output if it ends. Started
 * again when it gave up on a Redis that got no CPU.
 */
export async function spawnService(
  dataDir: string,
  env: HeaderList = {},
  under: readonly string[] = [],
): Promise<ServiceProcess> {
  const started = await againAfterStandstill(
    () => tryToSpawn(dataDir, env, under),
    (tried) => tried instanceof Error && tried.message.includes('Cannot start: Redis at '),
  );
  if (started instanceof Error) throw started;
  return started;
}

async function tryToSpawn(
  dataDir: string,
  env: HeaderList,
  under: readonly string[],
): Promise<ServiceProcess | Error> {
  const { child, stdout, stderr, exited } = beginService(dataDir, env, under);
  const { promise: started, resolve } = Promise.withResolvers<RegExpExecArray>();
  child.stdout?.on('data', () => {
    const line = /callers (\S+), platform (\S+), store .*\n/.exec(stdout());
    if (line !== null) resolve(line);
  });
  const first = await Promise.race([started, exited]);
  if (first === null || typeof first === 'number') {
    return new Error(`the service ended with ${first} before it was up:\n${stdout()}${stderr()}`);
  }
  const [, callerUrl = '', platformUrl = ''] = first;
  return {
    child,
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

/** Starts the real process, for a test about what happens before it serves. */
export function beginService(
  dataDir: string,
  env: HeaderList = {},
  under: readonly string[] = [],
): NodeProcess {
  return startNode([MAIN], { env: environment(dataDir, env), under });
}

/** Runs the real process until it ends by itself. */
export function runService(dataDir: string, env: HeaderList): Promise<EndedProcess> {
  return runNode([MAIN], { env: environment(dataDir, env) });
}

function environment(dataDir: string, env: HeaderList): HeaderList {
  const defaults = {
    HOST: '127.0.0.1',
    PORT: '0',
    PLATFORM_PORT: '0',
    RATE_LIMIT_PER_SECOND: '0',
    DRAIN_GRACE: '0',
  };
  return { ...defaults, DATA_DIR: dataDir, ...env };
}
