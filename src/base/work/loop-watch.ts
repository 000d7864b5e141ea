import { Worker } from 'node:worker_threads';

/** Far above the pauses of a sound process: garbage collection takes less than a second, and long work runs elsewhere. */
const STANDSTILL_MS_MAX = 10_000;

const BEAT_MS = 500;

/** What the thread that watches is given. */
export interface WatchedProcess {
  /** One number, which the event loop counts up for as long as it runs. */
  readonly beats: Int32Array;
  readonly standstillMsMax: number;
}

/**
 * Has a thread of its own end this process with SIGKILL once the event loop has stood still for ten seconds, so that
 * whoever started the process starts it anew. A process that hangs would keep its connections, and its callers waiting.
 */
export function watchEventLoop(onTrouble: (message: string, error: unknown) => void): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const workerData: WatchedProcess = { beats, standstillMsMax: STANDSTILL_MS_MAX };
  const resourceLimits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 };
  new Worker(new URL('./loop-watcher.js', import.meta.url), { workerData, resourceLimits })
    .on('error', (error) => onTrouble('nobody watches any more whether the event loop stands still', error))
    .unref();
}
