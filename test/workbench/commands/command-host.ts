import { inspect } from 'node:util';
import { main } from '#workbench/commands/scoring.ts';
import type { EndedProcess } from '../../processes/node-process.ts';

/** A command to run, with the whole environment that it may see. */
export interface Command {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/**
 * A process that runs one command after the other, each as if it had been started for it: with its own arguments,
 * environment and working folder, and with its output and its exit code read afresh. It loads the modules once.
 */
process.on('message', (command: Command) => {
  run(command).then((ended) => process.send?.(ended));
});
process.on('disconnect', () => process.exit());

async function run({ args, env, cwd }: Command): Promise<EndedProcess> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  // Variables without a value are not set, as for a new process.
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
  process.chdir(cwd);
  process.exitCode = undefined;
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  try {
    await main(args);
    return { exitCode: Number(process.exitCode ?? 0), stdout: stdout.end(), stderr: stderr.end() };
  } catch (error) {
    // An error that would have ended the process, with its stack.
    return { exitCode: 1, stdout: stdout.end(), stderr: `${stderr.end()}${inspect(error)}` };
  }
}

/** Collects what is written to a stream. */
function capture(stream: NodeJS.WriteStream): { end(): string } {
  const { write } = stream;
  const chunks: string[] = [];
  stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]) => {
    chunks.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    for (const done of rest) if (typeof done === 'function') queueMicrotask(() => done());
    return true;
  };
  return {
    end: () => {
      stream.write = write;
      return chunks.join('');
    },
  };
}
