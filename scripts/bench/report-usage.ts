import { childIds } from '../../test/processes/child-ids.ts';
import { usedCpuSeconds } from '../../test/processes/used-cpu.ts';

/**
 * Each measured process loads this file with `--import`. It answers the bench's questions about what the process has
 * used.
 */
process.on('message', (message) => {
  if (message === 'cpu') {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system + childrenMicros());
  }
  // The system counts written blocks of 512 bytes.
  if (message === 'written') process.send?.(process.resourceUsage().fsWrite * 512);
  if (message === 'heap') {
    // The heap is collected twice, because the first collection may leave objects with finalizers.
    globalThis.gc?.();
    globalThis.gc?.();
    process.send?.(process.memoryUsage().heapUsed);
  }
});
// The channel must not keep the process alive.
process.channel?.unref();

/** Returns the CPU time, in us, of the running child processes. The service has one, the shipper. */
function childrenMicros(): number {
  if (process.platform !== 'linux') return 0;
  return childIds(process.pid).reduce((sum, child) => sum + 1e6 * usedCpuSeconds(child), 0);
}
