import type { DefaultState } from 'koa';
import type { Caller } from '#checkout/access/caller.ts';

/** The data that the middleware of one request share. */
export interface RequestState extends DefaultState {
  /** Taken from X-Request-Id or newly made. Every answer and log line carries it. */
  requestId: string;
  /** The name for log and metrics. `none` until a route is found. */
  operation: string;
  /** The declared path, with parameters in braces. Null until a route is found. */
  route: string | null;
  /** Null until the caller is authenticated. */
  caller: Caller | null;
  /** Whether the request is assigned to the platform of its key in the work limit. */
  ownsWork: boolean;
  /** Resolves to whether the rate limit admits the request. It may still be open while the request is read. */
  admitted: Promise<boolean>;
  /** Further members of the log line: identifiers only, nothing secret. */
  noted: Record<string, string | number | boolean>;
  /** The error inside the service, for the log. Callers never see it. */
  failure: unknown;
}
