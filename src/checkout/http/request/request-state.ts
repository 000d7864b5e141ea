import type { DefaultState } from 'koa';
import type { Caller } from '#checkout/access/caller.ts';

/** What the middleware of one request tell each other. */
export interface RequestState extends DefaultState {
  /** Taken from X-Request-Id or made; in every answer and log line. */
  requestId: string;
  /** For log and metrics; `none` until a route is known. */
  operation: string;
  /** The path as it is declared, with parameters in braces; null until a route is known. */
  route: string | null;
  /** Null until it is known who asks. */
  caller: Caller | null;
  /** The work limit knows that the request is the key's platform's. */
  ownsWork: boolean;
  /** Whether the rate limit admits the request; the answer may still be on its way while the request is read. */
  admitted: Promise<boolean>;
  /** What the log line says besides the usual; identifiers only, nothing secret. */
  noted: Record<string, string | number | boolean>;
  /** What went wrong inside, for the log; never shown to callers. */
  failure: unknown;
}
