/**
 * Loaded into every measured process with `--import`: tells the bench, when asked, what the process has
 * used. Costs nothing while nobody asks.
 */
process.on('message', (message) => {
  if (message === 'cpu') {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
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
