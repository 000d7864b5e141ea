const MEMORY_EVERY_MS = 100;

/** CPU time of all threads, and the most memory that the process had meanwhile. */
export async function used<T>(work: () => Promise<T>): Promise<{
  readonly result: T;
  readonly cpuSeconds: number;
  readonly memoryMib: number;
}> {
  let bytes = 0;
  const look = setInterval(() => {
    bytes = Math.max(bytes, process.memoryUsage.rss());
  }, MEMORY_EVERY_MS);
  const before = process.cpuUsage();
  try {
    const result = await work();
    const { user, system } = process.cpuUsage(before);
    return { result, cpuSeconds: (user + system) / 1e6, memoryMib: bytes / (1 << 20) };
  } finally {
    clearInterval(look);
  }
}
