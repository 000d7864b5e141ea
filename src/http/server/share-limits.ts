import type { Socket } from 'node:net';
import type { Middleware } from 'koa';
import { networkOf } from '../../decision/requests.ts';
import { Shares } from '../../work/turns.ts';
import { OVERLOADED, TOO_MANY_AT_ONCE } from '../request/refusals.ts';
import type { RequestState } from '../request/request-state.ts';

/** Requests under way at once: of the whole listener, of one address, and of one access key. */
export interface ShareLimits {
  readonly listenerMax: number;
  readonly addressMax: number;
  readonly keyMax: number;
}

/** An answer takes up to a megabyte until it is sent, so all of these together are far from what a process has. */
export const PLATFORM_SHARES: ShareLimits = { listenerMax: 512, addressMax: 256, keyMax: 128 };

/** Everybody's share. */
const LISTENER = 'listener';

/**
 * Refuses with 429 an address or key that has too many requests under way, and with 503 what is too much for the
 * listener. A request is under way until its answer is sent or its connection closed, so that a caller who
 * pipelines requests and reads no answers cannot fill the memory. Keys and cookies are told apart as they were sent, because
 * checking them is work already.
 */
export function limitShares({ listenerMax, addressMax, keyMax }: ShareLimits): Middleware<RequestState> {
  const shares = new Shares();
  const endings = new Endings();
  return async ({ req, res }, next) => {
    const address = `address ${networkOf(req.socket.remoteAddress ?? 'unknown')}`;
    const sent = req.headersDistinct['x-ka-access-key']?.[0] ?? req.headers.cookie;
    const key = `key ${sent ?? `of nobody at ${address}`}`;
    if (shares.of(LISTENER) >= listenerMax) throw OVERLOADED.problem();
    if (shares.of(address) >= addressMax) throw TOO_MANY_AT_ONCE.problem('address');
    if (shares.of(key) >= keyMax) throw TOO_MANY_AT_ONCE.problem('access key');
    const names = [LISTENER, address, key];
    for (const name of names) shares.take(name);
    endings.await(
      req.socket,
      (atEnd) => res.once('close', atEnd),
      () => {
        for (const name of names) shares.giveBack(name);
      },
    );
    return next();
  };
}

/** Says once of each request that it ended, be it by its answer or by its connection. */
class Endings {
  readonly #open = new WeakMap<Socket, Set<() => void>>();

  await(socket: Socket, listen: (atEnd: () => void) => void, onEnd: () => void): void {
    const waiting = this.#of(socket);
    const atEnd = () => {
      if (waiting.delete(atEnd)) onEnd();
    };
    waiting.add(atEnd);
    listen(atEnd);
  }

  /** One listener a connection: Node tells only the first of several pipelined answers that it closed. */
  #of(socket: Socket): Set<() => void> {
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
