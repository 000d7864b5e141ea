import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A process that outlives the one that started it by a moment. It is told, a line each, which processes and
 * folders belong to that one; when its input ends, that one is gone, and so are these. An exit hook cannot do
 * this, because a process that is killed runs none.
 */
const processIds = new Set<number>();
const directories = new Set<string>();

/** Time for killed processes to stop writing into their folders. */
const SETTLE_MS = 100;

function note(line: string): void {
  const [word, name = ''] = line.split('\t');
  if (word === 'started') processIds.add(Number(name));
  if (word === 'ended') processIds.delete(Number(name));
  if (word === 'made') directories.add(name);
  if (word === 'removed') directories.delete(name);
}

function kill(processId: number): void {
  try {
    process.kill(processId, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

let unfinished = '';
for await (const chunk of process.stdin.setEncoding('utf8')) {
  const lines = `${unfinished}${chunk}`.split('\n');
  unfinished = lines.pop() ?? '';
  for (const line of lines) note(line);
}
for (const processId of processIds) kill(processId);
await delay(SETTLE_MS);
for (const directory of directories) rmSync(directory, { recursive: true, force: true });
