import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface EndedCommand {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const SCORING = join(import.meta.dirname, '..', '..', 'src', 'cli', 'scoring.ts');

/** Runs `scoring <args>` to its end, with nothing from the environment but PATH and `env`. */
export async function scoring(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<EndedCommand> {
  const child = spawn(process.execPath, [SCORING, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    texts.stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    texts.stderr += chunk;
  });
  await once(child, 'close');
  return { exitCode: child.exitCode, ...texts };
}
