import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { workInProcess } from '../../../src/evidence/desk/limited-process.ts';

/** What the process of limited-process.test.ts is asked for. */
export type SampleTask = 'who are you' | 'throw' | 'fill the memory' | 'never end';

/** Who answered, and by which policies the scheduler treats its threads. */
export interface SampleAnswer {
  readonly processId: number;
  readonly policies: readonly number[];
  /** Of `os.constants.priority`. */
  readonly priority: number;
}

const hoard: number[][] = [];

workInProcess(async (task: SampleTask, onProgress): Promise<SampleAnswer> => {
  onProgress(1, 2);
  switch (task) {
    case 'who are you':
      return {
        processId: process.pid,
        policies: process.platform === 'linux' ? policies() : [],
        priority: getPriority(),
      };
    case 'throw':
      throw new Error('nothing was found');
    case 'fill the memory':
      for (;;) hoard.push(new Array(100_000).fill(Math.random()));
    case 'never end':
      return new Promise(() => {});
    default:
      return task satisfies never;
  }
});

/** The policy of a thread is the 41st field of its line in /proc; its name in brackets may hold blanks. */
function policies(): readonly number[] {
  const threads = readdirSync('/proc/self/task');
  const fields = threads.map((thread) =>
    readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ').at(-1)?.split(' '),
  );
  return [...new Set(fields.map((some) => Number(some?.[38])))];
}
