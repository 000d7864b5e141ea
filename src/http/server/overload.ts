import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleware } from 'koa';
import type { Metrics } from '../../metrics/metrics.ts';
import { Shares, TooManyTurns, Turns } from '../../work/turns.ts';
import { HttpProblem } from '../request/problems.ts';
import { OVERLOADED } from '../request/refusals.ts';
import type { RequestState } from '../request/request-state.ts';
import { refuse } from './node-refusals.ts';

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
    refuse(req, res, OVERLOADED.problem());
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
      if (isTooMuch || error instanceof TooManyTurns) await pause(refusalDelayMs(0));
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
export function ownWork(limit: WorkLimit, state: RequestState): void {
  if (state.caller === null || state.ownsWork) return;
  state.ownsWork = true;
  limit.own(state.caller.platform);
}

/** A burst of this many is taken; they are answered one after the other. */
const WORK_UNDER_WAY_MAX = 256;

/** Keeps a busy event loop busy, at a wait of about 15 ms with 300 us of work a request. */
const WORK_UNDER_WAY_MIN = 48;

/** A checkout can do without a score, but not without the verdict at its end: scores are refused first. */
const SCORE_SHARE = 0.75;

/** How often the limit is adjusted while there is work. */
const TICK_MS = 50;

/**
 * A burst is worked off by itself, and a process that has just started is slow at it: nothing is refused before that many
 * looks in a row, half a second, have found more work than the least.
 */
const BURST_LOOKS = 10;

/** While the event loop has no pause, more work under way cannot be done faster, only later. */
const BUSY = 0.95;

/**
 * When more under way than the least takes so many times as long as the least did, it only waits: for a Redis that has
 * no pause, or for cores that others use. A Redis that is merely far away takes as long for a few as for many.
 */
const SLOWER = 1.5;

/** How fast the usual time follows what is seen. */
const LEARNING_SHARE = 0.1;

/**
 * While several platforms have work, each has so many decided at once, and the others wait in front: whoever asks for
 * little is held up by a few of each neighbour's requests instead of by all of them. A bound of all together would let
 * many platforms of one person keep another's waiting.
 */
const OWNER_AT_ONCE_MIN = 8;

/**
 * While the event loop is used less than this and somebody waits, a platform may have twice as many at each look: the
 * store may be far away. Where it is near, many at once would only make each iteration of the event loop long.
 */
const HAS_PAUSES = 0.75;

/**
 * While several platforms have work, so many requests of each begin in one iteration of the event loop. All that many
 * connections sent meanwhile is read in one iteration, and a neighbour's next request only after what that began.
 */
const BEGUN_AN_ITERATION = 2;

/**
 * A platform counts as having work for so many looks after its last: a minute of those in which anybody had some. What one
 * alone has under way is worked off before the first request of another.
 */
const SEEN_LOOKS = 1200;

const SHRINK = 0.75;
const GROW = 8;

/** Lets a few requests of each owner begin in an iteration of the event loop, and the others in those that follow. */
class LoopIterations {
  #begun = new Shares();
  readonly #waiting = new Map<string, (() => void)[]>();
  /** Of all owners. */
  waiting = 0;

  begin(owner: string, start: () => void): void {
    if (this.#begun.size === 0) setImmediate(() => this.#next());
    if (this.#begun.of(owner) < BEGUN_AN_ITERATION) {
      this.#begun.take(owner);
      start();
    } else {
      this.waiting++;
      const others = this.#waiting.get(owner);
      if (others === undefined) this.#waiting.set(owner, [start]);
      else others.push(start);
    }
  }

  #next(): void {
    this.#begun = new Shares();
    for (const [owner, starts] of this.#waiting) {
      const next = starts.splice(0, BEGUN_AN_ITERATION);
      if (starts.length === 0) this.#waiting.delete(owner);
      this.waiting -= next.length;
      for (const start of next) this.begin(owner, start);
    }
  }
}

/** What was seen since the last look. */
interface SeenLoad {
  /** How much of the event loop's time was used: 0 to 1. */
  readonly utilization: number;
  /** The most that was under way at once. */
  readonly underWayMax: number;
  /** How long what was finished had taken on average; null when nothing was. */
  readonly meanMs: number | null;
}

/** How much work may be under way at once: less while more would only wait, more again when it would not. */
export class WorkLimit {
  #limit = WORK_UNDER_WAY_MAX;
  #underWay = 0;
  /** Of what is under way or waits to begin, how much is known to be whose. */
  readonly #owners = new Shares();
  readonly #iterations = new LoopIterations();
  #ownerAtOnce = OWNER_AT_ONCE_MIN;
  readonly #turns = new Turns({
    atOnceMax: Number.POSITIVE_INFINITY,
    ownerMax: () => this.#ownerAtOnce,
    waitingMax: WORK_UNDER_WAY_MAX,
  });
  /** The look at which a platform was last known to have work. */
  readonly #seenAtLook = new Map<string, number>();
  #looks = 0;
  #underWayMax = 0;
  #finished = 0;
  #tookMs = 0;
  /** How many looks in a row found that more was under way than can be done at once. */
  #standingLooks = 0;
  /** What a request takes while no more is under way than the limit ever allows. */
  #usualMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #used: EventLoopUtilization = performance.eventLoopUtilization();

  get limit(): number {
    return this.#limit;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** Whether one more request of this kind would be too much. */
  isFull(operation: 'score' | 'verdict'): boolean {
    return (
      this.#underWay + this.#iterations.waiting >= this.#limit * (operation === 'score' ? SCORE_SHARE : 1)
    );
  }

  /**
   * Whether an owner has less under way than an equal share of the limit: then one
   * more of it is taken although the limit is reached, and waits for what others have too much of.
   */
  hasShare(operation: 'score' | 'verdict', owner: string): boolean {
    const own = this.#owners.of(owner);
    const owners = this.#owners.size + (own === 0 ? 1 : 0);
    return own < (this.#limit * (operation === 'score' ? SCORE_SHARE : 1)) / owners;
  }

  /** Whether several platforms had work of late. */
  get isContended(): boolean {
    return this.#seenAtLook.size > 1;
  }

  /** Begins the owner's request in this iteration of the event loop or, when he has begun enough in it, in one of the next. */
  begin(owner: string, start: () => void): void {
    this.#owners.take(owner);
    this.#iterations.begin(owner, () => {
      this.#owners.giveBack(owner);
      start();
    });
  }

  /** Notes whose some work under way is; `run` reads it at its end. */
  own(owner: string): void {
    this.#owners.take(owner);
    this.#seenAtLook.set(owner, this.#looks);
  }

  /** Decides at once, or where several platforms have work when the owner's turn has come. */
  inTurn<T>(owner: string, decide: () => Promise<T>): Promise<T> {
    return this.isContended ? this.#turns.run(owner, decide) : decide();
  }

  /** `owner` tells at the end whose the work was known to be. */
  async run<T>(work: () => Promise<T>, owner: () => string | null = () => null): Promise<T> {
    const beganMs = performance.now();
    this.#underWay++;
    this.#underWayMax = Math.max(this.#underWayMax, this.#underWay);
    this.#watch();
    try {
      return await work();
    } finally {
      const whose = owner();
      if (whose !== null) this.#owners.giveBack(whose);
      this.#underWay--;
      this.#finished++;
      this.#tookMs += performance.now() - beganMs;
    }
  }

  /** Waiting for the caller's body does not count as work under way: it may take seconds and costs nothing. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    this.#underWay--;
    try {
      return await wait();
    } finally {
      this.#underWay++;
      this.#tookMs -= performance.now() - beganMs;
    }
  }

  /** Adjusts the limit to what was seen since the last look. */
  observe({ utilization, underWayMax, meanMs }: SeenLoad): void {
    this.#looks++;
    for (const [owner, look] of this.#seenAtLook)
      if (this.#looks - look > SEEN_LOOKS) this.#seenAtLook.delete(owner);
    this.#ownerAtOnce = this.#nextOwnerAtOnce(utilization);
    const isLittle = underWayMax <= WORK_UNDER_WAY_MIN;
    if (isLittle && meanMs !== null) this.#learn(meanMs);
    const onlyWaits = meanMs !== null && meanMs > (this.#usualMs ?? meanMs) * SLOWER;
    if (!isLittle && (utilization > BUSY || onlyWaits)) this.#noteStanding();
    else this.#noteFlowing();
  }

  #nextOwnerAtOnce(utilization: number): number {
    if (utilization > BUSY || this.#turns.waiting === 0) return OWNER_AT_ONCE_MIN;
    return utilization > HAS_PAUSES ? this.#ownerAtOnce : Math.min(WORK_UNDER_WAY_MAX, this.#ownerAtOnce * 2);
  }

  #noteStanding(): void {
    this.#standingLooks++;
    const mayBeBurst = this.#limit === WORK_UNDER_WAY_MAX && this.#standingLooks < BURST_LOOKS;
    if (!mayBeBurst) this.#limit = Math.max(WORK_UNDER_WAY_MIN, Math.floor(this.#limit * SHRINK));
  }

  #noteFlowing(): void {
    this.#standingLooks = 0;
    this.#limit = Math.min(WORK_UNDER_WAY_MAX, this.#limit + GROW);
  }

  #learn(meanMs: number): void {
    const usualMs = this.#usualMs ?? meanMs;
    this.#usualMs = usualMs + (meanMs - usualMs) * LEARNING_SHARE;
  }

  #watch(): void {
    if (this.#timer !== null) return;
    this.#used = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  #tick(): void {
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.#used);
    this.#used = used;
    const meanMs = this.#finished === 0 ? null : Math.max(0, this.#tookMs / this.#finished);
    this.observe({ utilization, underWayMax: this.#underWayMax, meanMs });
    // On SQLite all that arrived together is finished together: that nothing is under way just now says little.
    const isIdle = this.#underWayMax === 0;
    this.#underWayMax = this.#underWay;
    this.#finished = 0;
    this.#tookMs = 0;
    if (!isIdle || this.#timer === null) return;
    // An idle process has nothing to look at: it keeps no timer and starts again from the beginning.
    clearInterval(this.#timer);
    this.#timer = null;
    this.#limit = WORK_UNDER_WAY_MAX;
  }
}
