import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { COMPILED_MODULES } from '../../processes/compile-cache.ts';
import type { EndedProcess } from '../../processes/node-process.ts';
import { own } from '../../processes/own-process.ts';
import type { Command } from './command-host.ts';

export const SCORING = join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  'src',
  'workbench',
  'commands',
  'scoring.ts',
);

/** Processes that have loaded the commands and wait for the next. */
const idle: ChildProcess[] = [];

/**
 * Runs `scoring <args>` to its end, with nothing from the environment but PATH and `env`. It runs in a reused
 * process, which saves a start; a test about the process itself starts `SCORING`.
 */
export async function scoring(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd = process.cwd(),
): Promise<EndedProcess> {
  const { PATH } = process.env;
  const host = idle.pop() ?? startHost();
  const command: Command = { args, env: { PATH, ...env }, cwd };
  const ended = await answer(host, command);
  idle.push(host);
  return ended;
}

function startHost(): ChildProcess {
  const host = fork(join(import.meta.dirname, 'command-host.ts'), {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILED_MODULES },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  return own(host);
}

async function answer(host: ChildProcess, command: Command): Promise<EndedProcess> {
  const waiting = new AbortController();
  const { signal } = waiting;
  host.channel?.ref();
  try {
    const answered = once(host, 'message', { signal });
    const gone = once(host, 'exit', { signal }).then(() => {
      throw new Error(`it ended the process that it ran in: scoring ${command.args.join(' ')}`);
    });
    host.send(command);
    const [ended] = await Promise.race([answered, gone]);
    return ended;
  } finally {
    waiting.abort();
    host.channel?.unref();
  }
}
