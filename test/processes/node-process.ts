import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { COMPILED_MODULES } from './compile-cache.ts';
import { own } from './own-process.ts';

/** A script of this repository that runs as a process of its own, and what it has printed so far. */
export interface NodeProcess {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** The exit code, once all output is there; null when a signal ended it. */
  readonly exited: Promise<number | null>;
}

export interface EndedProcess {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface NodeSettings {
  /** The whole environment; nothing is taken from ours but what is given. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** A program with arguments that is to run Node, like `setpriv --no-new-privs`. */
  readonly under?: readonly string[];
}

/** Starts it. Like everything that belongs to this process, it goes with it and never keeps it alive. */
export function startNode(args: readonly string[], { env, cwd, under = [] }: NodeSettings): NodeProcess {
  const [program = process.execPath, ...all] = [...under, process.execPath, ...args];
  const child = spawn(program, all, {
    env: { NODE_COMPILE_CACHE: COMPILED_MODULES, ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  own(child);
  const stdout = textOf(child.stdout);
  const stderr = textOf(child.stderr);
  const exited = once(child, 'close').then((): number | null => child.exitCode);
  return { child, stdout, stderr, exited };
}

/** Runs it to its end. */
export async function runNode(args: readonly string[], settings: NodeSettings): Promise<EndedProcess> {
  const { stdout, stderr, exited } = startNode(args, settings);
  const exitCode = await exited;
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

function textOf(pipe: Readable): () => string {
  let text = '';
  pipe.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  // A pipe is a socket, whatever its declared type says.
  if (pipe instanceof Socket) pipe.unref();
  return () => text;
}
