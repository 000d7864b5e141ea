import { join } from 'node:path';
import { type EndedProcess, runNode } from '../processes/node-process.ts';

export const SCORING = join(import.meta.dirname, '..', '..', 'src', 'cli', 'scoring.ts');

/** Runs `scoring <args>` to its end, with nothing from the environment but PATH and `env`. */
export function scoring(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd?: string,
): Promise<EndedProcess> {
  const { PATH } = process.env;
  return runNode([SCORING, ...args], { env: { PATH, ...env }, ...(cwd === undefined ? {} : { cwd }) });
}
