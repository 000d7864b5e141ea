import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware } from 'koa';
import { QueueFull } from '#base/work/fair-queue.ts';
import { HttpProblem } from '#checkout/http/request/problems.ts';
import { OVERLOADED } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import { answerWithProblem } from './node-refusals.ts';
import type { WorkLimit } from './work-limit.ts';

/**
 * How many refusals are sent per second, roughly. A refusal is delayed, so that callers who ignore Retry-After and
 * ask again at once cost little. The delay grows with the number of waiting refusals.
 */
const REFUSALS_A_SECOND = 500;
const REFUSAL_DELAY_MS_MIN = 100;
const REFUSAL_DELAY_MS_MAX = 500;

/**
 * Each delay varies at random by up to this share. Otherwise all callers that were refused together would ask again
 * together.
 */
const DELAY_SPREAD = 0.3;

/**
 * Refuses excess requests with 503 and Retry-After. Scores are refused earlier than verdicts. All other requests go
 * to `answer`. A refusal must cost a small part of what an answer costs and use little memory while it waits, so this
 * check comes before all others. The owner of a request is looked up only if the limit is reached or several
 * platforms have work. A platform with less than its share under way is not refused because of other platforms. Its
 * requests start before the excess requests of others.
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
    answerWithProblem(req, res, OVERLOADED.problem());
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
    setTimeout(refuseNow, computeRefusalDelayMs(waiting), req, res);
  };
}

/** The owner of all requests whose key is unknown. */
const NOBODY = '';

/** Delays 503 and 429 in the same way on listeners that refuse only after routing (by key, platform or queue). */
export function delayOverloadRefusals(
  pause: (ms: number) => Promise<unknown> = (ms) => sleep(ms),
): Middleware<RequestState> {
  return async (_ctx, next) => {
    try {
      await next();
    } catch (error) {
      const isTooMuch = error instanceof HttpProblem && (error.status === 503 || error.status === 429);
      if (isTooMuch || error instanceof QueueFull) await pause(computeRefusalDelayMs(0));
      throw error;
    }
  };
}

function computeRefusalDelayMs(waiting: number): number {
  const wantedMs = (1000 * waiting) / REFUSALS_A_SECOND;
  const delayMs = Math.min(REFUSAL_DELAY_MS_MAX, Math.max(REFUSAL_DELAY_MS_MIN, wantedMs));
  return Math.round(delayMs * (1 - DELAY_SPREAD + 2 * DELAY_SPREAD * Math.random()));
}

function isPath({ url = '' }: IncomingMessage, path: string): boolean {
  return url.startsWith(path) && (url.length === path.length || url[path.length] === '?');
}

/**
 * Counts a request as work under way. The count begins after the rate limit, because a request that waits for the
 * rate limit costs nothing.
 */
export function countWork(limit: WorkLimit): Middleware<RequestState> {
  return ({ state }, next) =>
    limit.run(next, () => (state.isWorkOfPlatform ? (state.caller?.platform ?? null) : null));
}

/** Assigns a request under way to its platform, once its key is known. */
export function assignWorkToPlatform(limit: WorkLimit, state: RequestState): void {
  if (state.caller === null || state.isWorkOfPlatform) return;
  state.isWorkOfPlatform = true;
  limit.assignToOwner(state.caller.platform);
}
