import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Middleware, ParameterizedContext } from 'koa';
import { PerOwnerCounter } from '#base/work/fair-queue.ts';
import type { HttpProblem } from '#checkout/http/request/problems.ts';
import { getCallerAddress } from '#checkout/http/request/rate-limit.ts';
import { OVERLOADED, TOO_MANY_AT_ONCE } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { toNetworkOfAddress } from '#decision/addresses.ts';

/**
 * The most requests under way at once: of the whole listener, of one platform (or of all without a key together), of
 * one address, and of one key.
 */
interface ShareLimits {
  readonly listenerMax: number;
  readonly ownerMax: number;
  readonly addressMax: number;
  readonly keyMax: number;
}

/**
 * How many requests may be under way on the platform's listener: in all, and for one owner, address and key. An
 * answer takes up to a megabyte until it is sent. All of these together stay far below the memory of a process.
 */
export const PLATFORM_LISTENER_LIMITS: ShareLimits = {
  listenerMax: 512,
  ownerMax: 192,
  addressMax: 256,
  keyMax: 128,
};

/** The most requests of one connection that are answered at once, if no other limit applies. */
const PIPELINED_MAX = 8;

/**
 * The most requests for metrics at once. The metrics of all processes take some hundred kilobytes until they are
 * sent.
 */
const METRICS_MAX = 32;

const LISTENER = 'listener';
const NOBODY = 'owner of no key';

/** The path below which keys are checked. On other paths a key's header says nothing about the caller. */
const KEYED = '/v1/';

/**
 * Refuses requests if too many are under way: with 429 for a platform, an address or a key, and with 503 for the
 * whole listener and for requests without a key. A request is under way until its answer is sent or its connection
 * closes. So a caller who pipelines requests without reading answers, or sends a body for minutes, cannot fill the
 * memory or keep others out. Keys and cookies are compared as they were sent, because checking them takes work. Their
 * platform is known only after the check, and its requests are counted from then on.
 */
export class ListenerShares {
  readonly #limits: ShareLimits;
  readonly #health: ReadonlySet<string>;
  readonly #trustedProxies: number;
  readonly #shares = new PerOwnerCounter();
  readonly #endings = new Endings();

  /**
   * Requests to the paths in `health` take no share of the listener, so that nobody who fills the listener can take a
   * node out of rotation.
   */
  constructor(limits: ShareLimits, health: readonly string[], trustedProxies: number) {
    this.#limits = limits;
    this.#health = new Set(health);
    this.#trustedProxies = trustedProxies;
  }

  readonly limit: Middleware<RequestState> = (ctx, next) => {
    const { listenerMax, ownerMax, addressMax, keyMax } = this.#limits;
    const address = `address ${toNetworkOfAddress(getCallerAddress(ctx.req, this.#trustedProxies))}`;
    const sent = readCredential(ctx.req);
    const ofAddress = () => TOO_MANY_AT_ONCE.problem('address');
    if (this.#health.has(ctx.path)) {
      if (this.#endings.of(ctx.req.socket).size >= PIPELINED_MAX)
        throw TOO_MANY_AT_ONCE.problem('connection');
      const max = ctx.path === '/metrics' ? METRICS_MAX : Number.POSITIVE_INFINITY;
      this.#take(ctx, [{ name: `${ctx.path} ${address}`, max, problem: ofAddress }]);
      return next();
    }
    this.#take(ctx, [
      { name: LISTENER, max: listenerMax, problem: OVERLOADED.problem },
      ...(sent === null ? [{ name: NOBODY, max: ownerMax, problem: OVERLOADED.problem }] : []),
      { name: address, max: addressMax, problem: ofAddress },
      {
        name: `key ${sent ?? `of nobody at ${address}`}`,
        max: keyMax,
        problem: () => TOO_MANY_AT_ONCE.problem('access key'),
      },
    ]);
    return next();
  };

  /**
   * Counts the request also for its platform. If `platform` is null, counts it among all requests without a key.
   * Throws the refusal if there are too many.
   */
  own(ctx: ParameterizedContext<RequestState>, platform: string | null): void {
    const max = this.#limits.ownerMax;
    if (platform !== null) {
      const problem = () => TOO_MANY_AT_ONCE.problem('platform');
      this.#take(ctx, [{ name: `owner ${platform}`, max, problem }]);
    } else if (!this.#health.has(ctx.path) && readCredential(ctx.req) !== null)
      this.#take(ctx, [{ name: NOBODY, max, problem: OVERLOADED.problem }]);
  }

  /**
   * Takes all wanted shares until the request has ended. If one is used up, takes none of them and throws its
   * problem.
   */
  #take({ req, res }: ParameterizedContext<RequestState>, wanted: readonly Share[]): void {
    for (const { name, max, problem } of wanted) if (this.#shares.getCount(name) >= max) throw problem();
    for (const { name } of wanted) this.#shares.increment(name);
    this.#endings.await(
      req.socket,
      (atEnd) => res.once('close', atEnd),
      () => {
        for (const { name } of wanted) this.#shares.decrement(name);
      },
    );
  }
}

interface Share {
  readonly name: string;
  readonly max: number;
  readonly problem: () => HttpProblem;
}

/** Returns the key or cookie of a request. Returns null if there is none, or if the path needs none. */
function readCredential({ url = '', headers, headersDistinct }: IncomingMessage): string | null {
  if (!url.startsWith(KEYED)) return null;
  return headersDistinct['x-ka-access-key']?.[0] ?? headers.cookie ?? null;
}

/** Calls a function once when a request has ended, by its answer or by its connection. */
class Endings {
  readonly #open = new WeakMap<Socket, Set<() => void>>();

  await(socket: Socket, listen: (atEnd: () => void) => void, onEnd: () => void): void {
    const waiting = this.of(socket);
    const atEnd = () => {
      if (waiting.delete(atEnd)) onEnd();
    };
    waiting.add(atEnd);
    listen(atEnd);
  }

  /**
   * Returns the requests of a connection that have not ended. Each connection has one handler for its close, because
   * Node reports the close only to the first of several pipelined answers.
   */
  of(socket: Socket): Set<() => void> {
    const known = this.#open.get(socket);
    if (known !== undefined) return known;
    const waiting = new Set<() => void>();
    this.#open.set(socket, waiting);
    socket.once('close', () => {
      for (const atEnd of waiting) atEnd();
    });
    return waiting;
  }
}
