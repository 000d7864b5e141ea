import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Exchange } from '../request/exchange.ts';
import type { RequestState } from '../request/request-state.ts';
import { freshState, sharedHeaders } from '../server/request-log.ts';

/** A request that is answered with nothing between it and Node's own HTTP. */
export class DirectExchange implements Exchange {
  readonly req: IncomingMessage;
  readonly state: RequestState;
  status = 404;
  body: unknown = null;
  respond = true;
  readonly #res: ServerResponse;
  #type = 'application/json; charset=utf-8';
  /** Names and values in turns, as Node takes them without looking at each again. */
  readonly #headers: string[] = [];

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.req = req;
    this.#res = res;
    this.state = freshState(req);
    const shared = sharedHeaders(this.state.requestId);
    for (const name in shared) this.#headers.push(name, shared[name] ?? '');
  }

  set(name: string, value: string): void {
    if (name === 'Content-Type') this.#type = value;
    else this.#headers.push(name, value);
  }

  /** Answers; false when the connection was closed before. */
  send(): boolean {
    const res = this.#res;
    if (res.writableEnded || this.req.socket.destroyed) return false;
    const text = typeof this.body === 'string' ? this.body : JSON.stringify(this.body);
    this.#headers.push('Content-Type', this.#type, 'Content-Length', String(Buffer.byteLength(text)));
    res.writeHead(this.status, this.#headers);
    res.end(text);
    return true;
  }
}
