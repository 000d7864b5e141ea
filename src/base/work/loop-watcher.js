// @ts-check The thread of `watchEventLoop`. This file is JavaScript, because a thread that strips types takes 20 MB.
import { writeSync } from 'node:fs';
import { isMainThread, workerData } from 'node:worker_threads';

const LOOK_EVERY_MS = 500;

/** Measures how long an event loop has been blocked. */
export class StandstillMeter {
  #beats = 0;
  #stoodMs = 0;
  #lookedAtMs = 0;

  /** @param {number} nowMs by any clock that only goes forward */
  constructor(nowMs) {
    this.#lookedAtMs = nowMs;
  }

  /**
   * Returns how long the loop has been blocked, ms. When this call itself comes late, the whole process was paused,
   * and the pause is not counted. @param {number} beats the loop's counter @param {number} nowMs
   */
  measureMs(beats, nowMs) {
    const passedMs = Math.min(nowMs - this.#lookedAtMs, 2 * LOOK_EVERY_MS);
    this.#stoodMs = beats === this.#beats ? this.#stoodMs + passedMs : 0;
    this.#beats = beats;
    this.#lookedAtMs = nowMs;
    return this.#stoodMs;
  }
}

function watch() {
  /** @type {import('./loop-watch.ts').WatcherInput} */
  const { beats, standstillMsMax } = workerData;
  const standstill = new StandstillMeter(performance.now());
  setInterval(() => {
    if (standstill.measureMs(Atomics.load(beats, 0), performance.now()) < standstillMsMax) return;
    // This thread writes the line itself: the thread that writes the log is blocked.
    const msg = `the event loop has stood still for ${standstillMsMax / 1000} s: the process is ended`;
    writeSync(2, `${JSON.stringify({ level: 60, time: Date.now(), service: 'client-scoring', msg })}\n`);
    process.kill(process.pid, 'SIGKILL');
  }, LOOK_EVERY_MS);
}

if (!isMainThread) watch();
