/** What `client-scoring-client` offers. */
export type { Attempt, CallOptions, ConnectionOptions } from './connection.ts';
export {
  BadRequestError,
  ConnectionError,
  HeldBackError,
  IdempotencyKeyReusedError,
  InvalidArgumentError,
  MalformedBodyError,
  NoAnswerError,
  NotFoundError,
  NotProvisionedError,
  type Problem,
  ProposedError,
  RefusedError,
  RolloutRefusedError,
  ScoringError,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
  UnknownKeyError,
} from './errors.ts';
export type { Fallback } from './fallback.ts';
export {
  type FeedOptions,
  type FeedPlace,
  type ListEffect,
  type MadeListChange,
  PlatformClient,
  type ReportedOutcome,
} from './platform-client.ts';
export type { DecisionQuery, HistoryQuery, LinksQuery, ListEntryQuery } from './query.ts';
export * from './records.ts';
export {
  type Score,
  ScoringClient,
  type ScoringOptions,
  type Verdict,
  type VerdictOptions,
} from './scoring-client.ts';
export { VERSION } from './version.ts';
export { secondsUntil, sleepUntil, waitUntil } from './wait.ts';
