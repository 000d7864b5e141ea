import { Worker } from 'node:worker_threads';

/**
 * The limit is far above the pauses of a healthy process. Garbage collection takes less than a second, and long work
 * runs on other threads.
 */
const STANDSTILL_MS_MAX = 10_000;

const BEAT_MS = 500;

/** The data that the watching thread is given (its workerData). */
export interface WatcherInput {
  /** A counter that the event loop increments as long as it runs. */
  readonly beats: Int32Array;
  readonly standstillMsMax: number;
}

/**
 * Starts a thread that ends this process with SIGKILL when the event loop has been blocked for ten seconds. A
 * supervisor then starts the process again. A hanging process would keep its connections and let its callers wait.
 */
export function watchEventLoop(onTrouble: (message: string, error: unknown) => void): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const workerData: WatcherInput = { beats, standstillMsMax: STANDSTILL_MS_MAX };
  const resourceLimits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 };
  new Worker(new URL('./loop-watcher.js', import.meta.url), { workerData, resourceLimits })
    .on('error', (error) =>
      onTrouble(
        'the thread that watches the event loop has ended; a process that hangs is no longer killed',
        error,
      ),
    )
    .unref();
}
