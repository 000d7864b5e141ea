/** The public names of `client-scoring-client`. */

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
export {
  type FeedOptions,
  type FeedPositionStore,
  type ListChangeWithResult,
  type ListEffect,
  PlatformClient,
  type ReportWithResult,
} from './platform-client.ts';
export * from './records.ts';
export {
  computeSecondsUntil as secondsUntil,
  type Fallback,
  type Score,
  ScoringClient,
  type ScoringOptions,
  sleepUntil,
  type Verdict,
  type VerdictOptions,
  waitUntil,
} from './scoring-client.ts';
export { VERSION } from './version.ts';
