import type { IncomingMessage } from 'node:http';
import type { RequestState } from './request-state.ts';

/** A request and the answer to it, as those see them who serve it with and without Koa. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly state: RequestState;
  status: number;
  /** A text, or a value that is answered as JSON. */
  body: unknown;
  /** False when nobody waits for an answer. */
  respond?: boolean | undefined;
  set(name: string, value: string): unknown;
}
