import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const running = new Set<ChildProcess>();

// Whatever way this process ends, those it started do not stay behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Makes a process end with this one, or earlier by `end`. */
export function own(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

export function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Waits until the process is gone. */
export async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
  if (!isRunning(child)) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
