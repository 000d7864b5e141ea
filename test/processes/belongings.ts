import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';

/** What may happen to a process or a folder that belongs to this process. */
export type Event = 'started' | 'ended' | 'made' | 'removed';

let reaper: Writable | null = null;

/**
 * Notes that a process (by its id) or a folder (by its path) belongs to this process, or does not any more.
 * Whatever is noted goes when this process goes, even when it is killed.
 */
export function note(event: Event, name: number | string): void {
  reaper ??= startReaper();
  reaper.write(`${event}\t${name}\n`);
}

function startReaper(): Writable {
  // In a process group of its own, so that Ctrl+C does not end it together with what it watches.
  const child = spawn(process.execPath, [join(import.meta.dirname, 'reaper.ts')], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  });
  child.unref();
  child.stdin.on('error', () => {
    // Somebody ended the reaper; the tests do not fail for it.
  });
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child.stdin;
}
