import type { AccessKey } from '../../access/access-keys.ts';
import type { ScoringService } from '../../service.ts';
import type { Listener, OperationSpec } from '../operation/operation.ts';
import type { RequestBody } from '../operation/request-body.ts';
import { authenticate, type Grant } from '../request/authenticate.ts';
import type { Exchange } from '../request/exchange.ts';

/** A caller's request whose key was granted the operation. */
export interface CallerAsked<Body> {
  readonly exchange: Exchange;
  readonly key: AccessKey;
  /** Reads the body, and throws 415, 413 or 400; what else may be wrong is best looked at before. */
  readonly body: () => Promise<Body>;
}

interface CallerOperationSpec<Body> extends OperationSpec {
  readonly grant: Grant;
  readonly body: RequestBody<Body>;
  /** What is answered, as JSON. */
  readonly answer: (asked: CallerAsked<Body>, service: ScoringService) => Promise<object>;
}

/** What an operation for callers is served with. */
export interface CallerDesk extends Pick<Listener, 'keys'> {
  readonly service: ScoringService;
  /** Goes around the reading of every body. */
  readonly whileReading: <T>(exchange: Exchange, read: () => Promise<T>) => Promise<T>;
}

/** One operation of the interface: its place in the API document, and how it is answered. */
export interface CallerOperation extends OperationSpec {
  readonly grant: Grant;
  readonly body: RequestBody<unknown>;
  readonly serve: (exchange: Exchange, desk: CallerDesk) => Promise<void>;
}

/** Declares an operation that checkouts ask for: it is answered without Koa, which costs a tenth of a verdict. */
export function callerOperation<Body>(spec: CallerOperationSpec<Body>): CallerOperation {
  const { answer, ...described } = spec;
  const { grant, body, path } = described;
  return {
    ...described,
    serve: async (exchange, { service, keys, whileReading }) => {
      exchange.state.route = path;
      const key = await authenticate(exchange, keys, grant);
      const read = () => whileReading(exchange, () => body.read(exchange.req));
      exchange.body = await answer({ exchange, key, body: read }, service);
      exchange.status = 200;
    },
  };
}
