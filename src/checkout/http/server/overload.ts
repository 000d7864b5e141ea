import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware } from 'koa';
import { QueueFull } from '#base/work/turns.ts';
import { HttpProblem } from '#checkout/http/request/problems.ts';
import { OVERLOADED } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import { refuseRequest } from './node-refusals.ts';
import type { WorkLimit } from './work-limit.ts';

/**
 * A refusal waits, so that callers who ask again at once, against Retry-After, cost little: the more of them wait, the
 * longer, for about so many refusals a second.
 */
const REFUSALS_A_SECOND = 500;
const REFUSAL_DELAY_MS_MIN = 100;
const REFUSAL_DELAY_MS_MAX = 500;

/** Each waits a different time, up to so much more or less: all who were refused together would ask again together. */
const DELAY_SPREAD = 0.3;

/**
 * Refuses what is too much with 503 and Retry-After, score before verdict, and lets `answer` have the rest. A refusal
 * must cost a small part of an answer and keep little in memory while it waits, so it stands before everything else.
 * Whose key a request has is asked only then, and while platforms contend: one with less than its share under way is not
 * refused for another's, and begins before what another has too much of.
 */
export function shedOverload(
  limit: Pick<WorkLimit, 'begin' | 'hasShare' | 'isContended' | 'isFull'>,
  metrics: Metrics,
  basePath: string,
  answer: RequestListener,
  ownerOf: (req: IncomingMessage) => string | null,
): RequestListener {
  const verdictPath = `${basePath}/v1/client/verdict`;
  let waiting = 0;
  const refuseNow = (req: IncomingMessage, res: ServerResponse) => {
    waiting--;
    refuseRequest(req, res, OVERLOADED.problem());
  };
  return (req, res) => {
    const operation = isPath(req, verdictPath) ? 'verdict' : 'score';
    const isFull = limit.isFull(operation);
    if (!isFull && !limit.isContended) return answer(req, res);
    const owner = ownerOf(req);
    if (!isFull || (owner !== null && limit.hasShare(operation, owner)))
      return limit.begin(owner ?? NOBODY, () => answer(req, res));
    metrics.count('scoring_shed_total', { operation });
    waiting++;
    setTimeout(refuseNow, refusalDelayMs(waiting), req, res);
  };
}

/** The owner of all requests whose key is not known. */
const NOBODY = '';

/** The same for what a listener refuses behind its routes as too much: of a key, a platform, or a desk. */
export function delayRefusals(
  pause: (ms: number) => Promise<unknown> = (ms) => sleep(ms),
): Middleware<RequestState> {
  return async (_ctx, next) => {
    try {
      await next();
    } catch (error) {
      const isTooMuch = error instanceof HttpProblem && (error.status === 503 || error.status === 429);
      if (isTooMuch || error instanceof QueueFull) await pause(refusalDelayMs(0));
      throw error;
    }
  };
}

function refusalDelayMs(waiting: number): number {
  const wantedMs = (1000 * waiting) / REFUSALS_A_SECOND;
  const delayMs = Math.min(REFUSAL_DELAY_MS_MAX, Math.max(REFUSAL_DELAY_MS_MIN, wantedMs));
  return Math.round(delayMs * (1 - DELAY_SPREAD + 2 * DELAY_SPREAD * Math.random()));
}

function isPath({ url = '' }: IncomingMessage, path: string): boolean {
  return url.startsWith(path) && (url.length === path.length || url[path.length] === '?');
}

/** Counts a request as work under way. It stands behind the rate limit, because a request that waits there costs nothing. */
export function countWork(limit: WorkLimit): Middleware<RequestState> {
  return ({ state }, next) =>
    limit.run(next, () => (state.ownsWork ? (state.caller?.platform ?? null) : null));
}

/** Says whose a request under way is, once its key is known. */
export function assignWork(limit: WorkLimit, state: RequestState): void {
  if (state.caller === null || state.ownsWork) return;
  state.ownsWork = true;
  limit.own(state.caller.platform);
}
