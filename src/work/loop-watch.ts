import { Worker } from 'node:worker_threads';

/** Far above the pauses of a sound process: garbage collection takes less than a second, and long work runs elsewhere. */
const STANDSTILL_MS_MAX = 10_000;

const BEAT_MS = 500;

/** What the thread that watches is given. */
export interface Watched {
  /** One number, which the event loop counts up for as long as it runs. */
  readonly beats: Int32Array;
  readonly standstillMsMax: number;
}

/**
 * Has a thread of its own end this process with SIGKILL once the event loop has stood still for too long, so that whoever
 * started the process starts it anew. A process that hangs would keep its connections, and its callers waiting.
 */
export function watchEventLoop(
  onTrouble: (message: string, error: unknown) => void,
  standstillMsMax = STANDSTILL_MS_MAX,
): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const workerData: Watched = { beats, standstillMsMax };
  const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };
  new Worker(new URL('./loop-watcher.ts', import.meta.url), { workerData, resourceLimits })
    .on('error', (error) => onTrouble('nobody watches any more whether the event loop stands still', error))
    .unref();
}

/** Tells by looks how long the event loop has stood still. It knows no clock and no thread. */
export class Standstill {
  readonly #lookEveryMs: number;
  #beats = 0;
  #stoodMs = 0;
  #lookedAtMs: number;

  constructor(lookEveryMs: number, nowMs: number) {
    this.#lookEveryMs = lookEveryMs;
    this.#lookedAtMs = nowMs;
  }

  /** Gives how long, ms. A look that is late was late because the whole process was stopped, which does not count. */
  stoodMs(beats: number, nowMs: number): number {
    const passedMs = Math.min(nowMs - this.#lookedAtMs, 2 * this.#lookEveryMs);
    this.#stoodMs = beats === this.#beats ? this.#stoodMs + passedMs : 0;
    this.#beats = beats;
    this.#lookedAtMs = nowMs;
    return this.#stoodMs;
  }
}
