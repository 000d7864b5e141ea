import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ownedIds } from '../processes/own-process.ts';

/**
 * How long a busy machine gave no processor to what wanted to run: this process and those that belong to it.
 * Deadlines that the product promises are judged by the time that is left, so that a test asks on a busy
 * machine for no less than on a calm one. Linux tells the waiting time of every process; elsewhere nothing
 * counts as a standstill.
 */

const SAMPLE_MS = 50;
const SAMPLES_MAX = 4096;

interface Sample {
  readonly atMs: number;
  /** How long each process had waited for a processor since it started, ms, by its id. */
  readonly waitedMs: ReadonlyMap<number, number>;
}

const samples: Sample[] = [];
let sampler: NodeJS.Timeout | null = null;

/** Starts to watch; only what is watched counts. Calling it again does no harm. */
export function watchStandstills(): void {
  if (sampler !== null) return;
  takeSample();
  sampler = setInterval(takeSample, SAMPLE_MS).unref();
}

/**
 * The part of a time span, ms by performance.now(), in which we stood still: this process and then, as one
 * waits for the other, whichever of the others stood still longest.
 */
export function stoodStillMs(fromMs: number, toMs: number = performance.now()): number {
  takeSample();
  const before = samples.findLast(({ atMs }) => atMs <= fromMs) ?? samples[0];
  const after = samples.find(({ atMs }) => atMs >= toMs) ?? samples.at(-1);
  if (before === undefined || after === undefined) return 0;
  let own = 0;
  let longest = 0;
  for (const [id, waitedMs] of after.waitedMs) {
    const stood = waitedMs - (before.waitedMs.get(id) ?? 0);
    if (id === process.pid) own = stood;
    else longest = Math.max(longest, stood);
  }
  return own + longest;
}

/** The time that the machine has let us use since then, ms. */
export function usableMsSince(startedMs: number): number {
  return performance.now() - startedMs - stoodStillMs(startedMs);
}

/** Standing still this long within a second explains why a service had no answer from its Redis. */
const EXPLAINS_REFUSAL_MS = 100;
const TRIES_MAX = 50;

/**
 * Asks again while the answer is 503 and the machine stood still shortly before it: a service that gives up a
 * Redis which got no processor keeps its promise, and its caller tries again later.
 */
export function askUnlessStandstill<Answer extends { readonly status: number }>(
  ask: () => Promise<Answer>,
): Promise<Answer> {
  return againAfterStandstill(ask, ({ status }) => status === 503);
}

/** The same for whatever else gives a Redis up. */
export async function againAfterStandstill<Result>(
  attempt: () => Promise<Result>,
  isRefused: (result: Result) => boolean,
): Promise<Result> {
  watchStandstills();
  for (let tries = 1; ; tries++) {
    const result = await attempt();
    if (!isRefused(result) || tries === TRIES_MAX) return result;
    if (stoodStillMs(performance.now() - 1000) < EXPLAINS_REFUSAL_MS) return result;
    await delay(SAMPLE_MS);
  }
}

function takeSample(): void {
  const waitedMs = new Map<number, number>();
  for (const id of [process.pid, ...ownedIds()]) {
    const waited = waitedFor(id);
    if (waited !== null) waitedMs.set(id, waited);
  }
  // A process that has ended keeps what it had waited until it was last seen.
  for (const [id, waited] of samples.at(-1)?.waitedMs ?? []) {
    if (!waitedMs.has(id)) waitedMs.set(id, waited);
  }
  samples.push({ atMs: performance.now(), waitedMs });
  if (samples.length > SAMPLES_MAX) samples.shift();
}

/** What a process had waited for a processor, ms; null when it is gone or the system does not tell. */
function waitedFor(processId: number): number | null {
  try {
    const [, waitedNanoseconds] = readFileSync(`/proc/${processId}/schedstat`, 'utf8').split(' ');
    return Number(waitedNanoseconds) / 1e6;
  } catch {
    return null;
  }
}
