import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { note } from './belongings.ts';

/** Makes a process end with this one, or earlier by `end`. It never keeps this one alive. */
export function own<Child extends ChildProcess>(child: Child): Child {
  child.unref();
  const { pid } = child;
  if (pid === undefined) return child;
  note('started', pid);
  child.once('exit', () => note('ended', pid));
  return child;
}

export function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Waits until the process is gone. */
export async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
  if (!isRunning(child)) return;
  child.ref();
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
