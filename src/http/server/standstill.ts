import type { Server } from 'node:http';
import { REQUEST_TIMEOUT_MS, TIMEOUT_CHECK_MS } from './time-limits.ts';

/** The time of one look that nobody made. */
interface Lost {
  readonly atMs: number;
  readonly lostMs: number;
}

/**
 * Gives callers back the time for which this process did not run: paused, moved to another machine, or without a
 * processor. Node would count it against them and refuse what had arrived meanwhile, unread, as too slow. Must be
 * called before the server listens, so that each look comes before Node's own.
 */
export function forgiveStandstill(server: Server): void {
  const { headersTimeout, requestTimeout } = server;
  let lost: readonly Lost[] = [];
  let lookedAtMs = performance.now();
  const look = setInterval(() => {
    const atMs = performance.now();
    const lostMs = atMs - lookedAtMs - TIMEOUT_CHECK_MS;
    lookedAtMs = atMs;
    const isLate = lostMs > TIMEOUT_CHECK_MS;
    if (!isLate && lost.length === 0) return;
    // What was sent before that has had its time by now.
    lost = [...lost, ...(isLate ? [{ atMs, lostMs }] : [])].filter(
      (one) => atMs - one.atMs < REQUEST_TIMEOUT_MS,
    );
    const forgivenMs = lost.reduce((sum, one) => sum + one.lostMs, 0);
    server.headersTimeout = headersTimeout + forgivenMs;
    server.requestTimeout = requestTimeout + forgivenMs;
  }, TIMEOUT_CHECK_MS).unref();
  server.once('close', () => clearInterval(look));
}
