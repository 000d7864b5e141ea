import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../../test/simulation/seeded-random.ts';
import { KeepAliveConnection } from '../chaos/traffic/keep-alive.ts';
import { formatVerdictRequest, type ServiceAccess } from '../chaos/traffic/requests.ts';

const ANSWER_LIMIT_MS = 10_000;

/** A timer is a millisecond or two late, so the last part of a wait is spent in turns of the event loop. */
const TIMER_LATE_MS = 2;

export interface OpenLoopResult {
  /** The times from when each request was due until its answer, in ms. */
  readonly latenciesMs: readonly number[];
  /** The times from when each request was due until it was sent, in ms, which the load itself adds. */
  readonly latenessMs: readonly number[];
  /** The number of requests without an answer of 200. */
  readonly failures: number;
}

/**
 * Returns the times at which requests are due, in ms from the beginning. Payers come independently of each other, so
 * the gaps between requests are exponentially distributed. The times are the same on every run.
 */
export function planArrivals(ratePerSecond: number, seconds: number): readonly number[] {
  const random = new SeededRandom(1);
  const arrivals: number[] = [];
  for (let atMs = 0; ; ) {
    atMs -= (1000 / ratePerSecond) * Math.log(1 - random.next());
    if (atMs >= seconds * 1000) return arrivals;
    arrivals.push(atMs);
  }
}

/**
 * Asks for verdicts under Idempotency-Keys, each for a new client, at times that are fixed in advance. A service that
 * stalls gets its requests all the same, and their latency is measured from when they were due.
 */
export async function runOpenLoop(
  target: ServiceAccess,
  arrivals: readonly number[],
  prefix: string,
): Promise<OpenLoopResult> {
  const all: KeepAliveConnection[] = [];
  const idle: KeepAliveConnection[] = [];
  const latenciesMs: number[] = [];
  const latenessMs: number[] = [];
  let failures = 0;
  const ask = async (dueMs: number, place: number) => {
    let connection = idle.pop();
    if (connection === undefined) {
      connection = new KeepAliveConnection(target.callerUrl);
      all.push(connection);
    }
    latenessMs.push(performance.now() - dueMs);
    const request = { clientIdKey: `${prefix}-payer-${place}`, orderRef: `${prefix}-order-${place}` };
    const answer = await connection.ask(formatVerdictRequest(target, request, true), ANSWER_LIMIT_MS);
    latenciesMs.push(performance.now() - dueMs);
    if (typeof answer === 'string' || answer.status !== 200) failures++;
    idle.push(connection);
  };
  const begunMs = performance.now();
  const asked: Promise<void>[] = [];
  for (const [place, atMs] of arrivals.entries()) {
    await waitUntil(begunMs + atMs);
    asked.push(ask(begunMs + atMs, place));
  }
  await Promise.all(asked);
  for (const connection of all) connection.close();
  return { latenciesMs, latenessMs, failures };
}

async function waitUntil(dueMs: number): Promise<void> {
  const restMs = dueMs - performance.now();
  if (restMs > TIMER_LATE_MS) await delay(restMs - TIMER_LATE_MS);
  while (performance.now() < dueMs) await new Promise<void>((resolve) => setImmediate(resolve));
}
