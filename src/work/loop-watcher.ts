import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { Standstill, type Watched } from './loop-watch.ts';

/** The thread of `watchEventLoop`. */

const LOOK_EVERY_MS = 500;

const { beats, standstillMsMax }: Watched = workerData;
const standstill = new Standstill(LOOK_EVERY_MS, performance.now());

setInterval(() => {
  if (standstill.stoodMs(Atomics.load(beats, 0), performance.now()) < standstillMsMax) return;
  // The log is written by the thread that stands still.
  const msg = `the event loop has stood still for ${standstillMsMax / 1000} s: the process is ended`;
  writeSync(2, `${JSON.stringify({ level: 60, time: Date.now(), service: 'client-scoring', msg })}\n`);
  process.kill(process.pid, 'SIGKILL');
}, LOOK_EVERY_MS);
