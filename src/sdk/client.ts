/** What `client-scoring-service/client` offers. */
export type { Attempt, CallOptions, ConnectionOptions } from './connection.ts';
export {
  BadRequestError,
  ConnectionError,
  IdempotencyKeyReusedError,
  InvalidArgumentError,
  MalformedBodyError,
  NotFoundError,
  NotProvisionedError,
  type PointedDetail,
  type Problem,
  RefusedError,
  RolloutRefusedError,
  ScoringError,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
  UnknownKeyError,
} from './errors.ts';
export {
  type DecisionQuery,
  type HistoryQuery,
  type NewBinding,
  type NewOverride,
  type OutcomeEffect,
  type OutcomeReport,
  type OutcomeResult,
  PlatformClient,
  type ReportedOutcome,
  type RollbackRequest,
  type RolloutRequest,
} from './platform-client.ts';
export type * from './records.ts';
export {
  type ClientGroup,
  type ScoreAnswer,
  type ScoreRequest,
  ScoringClient,
  type Verdict,
  type VerdictAnswer,
  type VerdictOptions,
  type VerdictRequest,
} from './scoring-client.ts';
export { VERSION } from './version.ts';
export { secondsUntil, sleepUntil, waitUntil } from './wait.ts';
