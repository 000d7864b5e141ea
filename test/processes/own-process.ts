import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { note } from './belongings.ts';

const owned = new Set<number>();

/** The ids of the processes that belong to this one and have not ended. */
export function ownedIds(): ReadonlySet<number> {
  return owned;
}

/** Makes a process end with this one, or earlier by `end`. It never keeps this one alive. */
export function own<Child extends ChildProcess>(child: Child): Child {
  child.unref();
  const { pid } = child;
  if (pid === undefined) return child;
  owned.add(pid);
  note('started', pid);
  child.once('exit', () => {
    owned.delete(pid);
    note('ended', pid);
  });
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
