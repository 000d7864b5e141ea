import { readFileSync } from 'node:fs';

/**
 * Loaded into every measured process with `--import`: answers the bench's questions about what the process has used.
 */
process.on('message', (message) => {
  if (message === 'cpu') {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system + childrenMicros());
  }
  if (message === 'heap') {
    // Twice, because the first collection may leave objects with finalizers.
    globalThis.gc?.();
    globalThis.gc?.();
    process.send?.(process.memoryUsage().heapUsed);
  }
});
// The channel must not keep the process alive.
process.channel?.unref();

/** Linux counts in ticks of 10 ms; user and system time are the 12th and 13th fields after the name in brackets. */
const TICK_MICROS = 10_000;
const USER = 11;
const SYSTEM = 12;

/** CPU time of the running child processes: with the service, that of the shipper. */
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
