import { readFileSync } from 'node:fs';

/**
 * Loaded into every measured process with `--import`: tells the bench, when asked, what the process has
 * used. Costs nothing while nobody asks.
 */
process.on('message', (message) => {
  if (message === 'cpu') {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system + childrenMicros());
  }
  if (message === 'heap') {
    // Twice, because the first collection may leave what finalizers let go.
    globalThis.gc?.();
    globalThis.gc?.();
    process.send?.(process.memoryUsage().heapUsed);
  }
});
// It must not keep a process alive that has nothing else to do.
process.channel?.unref();

/** Linux counts in ticks of 10 ms; the 12th and 13th field behind the name in brackets are the user's and the system's. */
const TICK_MICROS = 10_000;
const USER = 11;
const SYSTEM = 12;

/** CPU time of the processes that this one has started and that still run: the one that ships, with the service. */
function childrenMicros(): number {
  if (process.platform !== 'linux') return 0;
  const { pid } = process;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const ticks = children.map((child) => {
    const fields = readFileSync(`/proc/${child}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return Number(fields[USER]) + Number(fields[SYSTEM]);
  });
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MICROS;
}
