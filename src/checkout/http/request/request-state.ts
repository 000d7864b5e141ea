import type { DefaultState } from 'koa';
import type { Caller } from '#checkout/access/caller.ts';

/** The data that the middleware of one request share. */
export interface RequestState extends DefaultState {
  /** The id is taken from X-Request-Id or newly made. Every answer and log line carries it. */
  requestId: string;
  /** The name for log and metrics. `none` until a route is found. */
  operation: string;
  /** The declared path, with parameters in braces. Null until a route is found. */
  route: string | null;
  /** Null until the caller is authenticated. */
  caller: Caller | null;
  /** Whether the work limit counts the request as work of the platform of its key. */
  isWorkOfPlatform: boolean;
  /** Resolves to whether the rate limit admits the request. The promise may still be open while the request is read. */
  admitted: Promise<boolean>;
  /** Further members of the log line. They are identifiers and never secret. */
  extraLogMembers: Record<string, string | number | boolean>;
  /** The error inside the service, for the log. Callers never see it. */
  failure: unknown;
}
