// @ts-check
// The thread of `watchEventLoop`. It is JavaScript, because to strip types a thread takes 20 MB.
import { writeSync } from 'node:fs';
import { isMainThread, workerData } from 'node:worker_threads';

const LOOK_EVERY_MS = 500;

/** Tells by looks how long an event loop has stood still. */
export class Standstill {
  #beats = 0;
  #stoodMs = 0;
  #lookedAtMs = 0;

  /** @param {number} nowMs by any clock that only goes forward */
  constructor(nowMs) {
    this.#lookedAtMs = nowMs;
  }

  /**
   * Gives how long, ms. A look that is late was late because the whole process was stopped, which does not count.
   * @param {number} beats what the loop has counted up to
   * @param {number} nowMs
   */
  stoodMs(beats, nowMs) {
    const passedMs = Math.min(nowMs - this.#lookedAtMs, 2 * LOOK_EVERY_MS);
    this.#stoodMs = beats === this.#beats ? this.#stoodMs + passedMs : 0;
    this.#beats = beats;
    this.#lookedAtMs = nowMs;
    return this.#stoodMs;
  }
}

function watch() {
  /** @type {import('./loop-watch.ts').WatchedProcess} */
  const { beats, standstillMsMax } = workerData;
  const standstill = new Standstill(performance.now());
  setInterval(() => {
    if (standstill.stoodMs(Atomics.load(beats, 0), performance.now()) < standstillMsMax) return;
    // The log is written by the thread that stands still.
    const msg = `the event loop has stood still for ${standstillMsMax / 1000} s: the process is ended`;
    writeSync(2, `${JSON.stringify({ level: 60, time: Date.now(), service: 'client-scoring', msg })}\n`);
    process.kill(process.pid, 'SIGKILL');
  }, LOOK_EVERY_MS);
}

if (!isMainThread) watch();
