import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { type JobContext, serveWork } from '#base/work/serve-work.ts';

const hoard: object[][] = [];

/** The jobs of background-work.test.ts. */
const works = {
  'who are you': (_task: null, { progress }: JobContext<string>) => {
    progress('looking');
    return { processId: process.pid, threadId, policies: policies(), priority: getPriority() };
  },
  add: (numbers: ReadonlySet<number>) => [...numbers].reduce((sum, one) => sum + one, 0),
  throw: (message: string) => {
    throw new RangeError(message);
  },
  'fill the memory': () => {
    for (;;) hoard.push(new Array(100_000).fill({ kept: hoard.length }));
  },
  spin: () => {
    for (;;);
  },
  'stand still': (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
  'never end': () => new Promise<void>(() => {}),
  'tell and stop': async (times: number, { progress }: JobContext<number>) => {
    for (let time = 1; time <= times; time++) {
      progress(time);
      await sleep(800);
    }
    process.kill(process.pid, 'SIGSTOP');
  },
  'tidy up when asked': async (_task: null, { progress, signal }: JobContext<'begun'>) => {
    progress('begun');
    while (!signal.aborted) await sleep(10);
    return 'tidy';
  },
};

export type SampleWorks = typeof works;

/**
 * The scheduling policies of our threads: the 41st field of a thread's line, whose name in brackets may hold blanks.
 */
function policies(): readonly number[] {
  if (process.platform !== 'linux') return [];
  const fields = readdirSync('/proc/self/task').map((thread) =>
    readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ').at(-1)?.split(' '),
  );
  return [...new Set(fields.map((some) => Number(some?.[38])))];
}

serveWork(works);
