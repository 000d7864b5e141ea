import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Middleware, ParameterizedContext } from 'koa';
import { CountsByOwner } from '#base/work/fair-queue.ts';
import type { HttpProblem } from '#checkout/http/request/problems.ts';
import { findCallerAddress } from '#checkout/http/request/rate-limit.ts';
import { OVERLOADED, TOO_MANY_AT_ONCE } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { toNetwork } from '#decision/addresses.ts';

/** Requests under way at once: of the whole listener, of one platform or all who have no key, of one address, and of one key. */
interface ShareLimits {
  readonly listenerMax: number;
  readonly ownerMax: number;
  readonly addressMax: number;
  readonly keyMax: number;
}

/** An answer takes up to a megabyte until it is sent, so all of these together are far from what a process has. */
export const PLATFORM_SHARES: ShareLimits = { listenerMax: 512, ownerMax: 192, addressMax: 256, keyMax: 128 };

/** Requests of one connection that are answered at once, where nothing else bounds them. */
const PIPELINED_MAX = 8;

/** Metrics of all processes take some hundred kilobytes until they are sent. */
const METRICS_MAX = 32;

const LISTENER = 'listener';
const NOBODY = 'owner of no key';

/** Elsewhere no key is looked at: whatever header is sent there says nothing about who asks. */
const KEYED = '/v1/';

/**
 * Refuses with 429 a platform, an address or a key that has too many requests under way, and with 503 what is too much
 * for the listener or of those without a key. A request is under way until its answer is sent or its connection
 * closed, so that a caller who pipelines requests and reads no answers, or sends a body for minutes, cannot fill the
 * memory or keep others out. Keys and cookies are told apart as they were sent, because checking them is work already;
 * whose they are is known later, and `own` says it.
 */
export class ListenerShares {
  readonly #limits: ShareLimits;
  readonly #health: ReadonlySet<string>;
  readonly #trustedProxies: number;
  readonly #shares = new CountsByOwner();
  readonly #endings = new Endings();

  /** What is asked at the paths of `health` takes no share: whoever keeps the listener full takes no node out of rotation. */
  constructor(limits: ShareLimits, health: readonly string[], trustedProxies: number) {
    this.#limits = limits;
    this.#health = new Set(health);
    this.#trustedProxies = trustedProxies;
  }

  readonly limit: Middleware<RequestState> = (ctx, next) => {
    const { listenerMax, ownerMax, addressMax, keyMax } = this.#limits;
    const address = `address ${toNetwork(findCallerAddress(ctx.req, this.#trustedProxies))}`;
    const sent = sentBy(ctx.req);
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

  /** Counts the request as this platform's, too, and null as nobody's. Throws what it is refused with. */
  own(ctx: ParameterizedContext<RequestState>, platform: string | null): void {
    const max = this.#limits.ownerMax;
    if (platform !== null) {
      const problem = () => TOO_MANY_AT_ONCE.problem('platform');
      this.#take(ctx, [{ name: `owner ${platform}`, max, problem }]);
    } else if (!this.#health.has(ctx.path) && sentBy(ctx.req) !== null)
      this.#take(ctx, [{ name: NOBODY, max, problem: OVERLOADED.problem }]);
  }

  /** Until the request has ended; all of them or, with a problem, none. */
  #take({ req, res }: ParameterizedContext<RequestState>, wanted: readonly Share[]): void {
    for (const { name, max, problem } of wanted) if (this.#shares.of(name) >= max) throw problem();
    for (const { name } of wanted) this.#shares.take(name);
    this.#endings.await(
      req.socket,
      (atEnd) => res.once('close', atEnd),
      () => {
        for (const { name } of wanted) this.#shares.giveBack(name);
      },
    );
  }
}

interface Share {
  readonly name: string;
  readonly max: number;
  readonly problem: () => HttpProblem;
}

/** The key or cookie that came with a request; null where none did, or none is looked at. */
function sentBy({ url = '', headers, headersDistinct }: IncomingMessage): string | null {
  if (!url.startsWith(KEYED)) return null;
  return headersDistinct['x-ka-access-key']?.[0] ?? headers.cookie ?? null;
}

/** Says once of each request that it ended, be it by its answer or by its connection. */
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

  /** What has not ended. One listener a connection: Node tells only the first of several pipelined answers that it closed. */
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
