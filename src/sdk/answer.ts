import {
  type CallRef,
  ProposedError,
  type ScoringError,
  toProblemError,
  UnexpectedAnswerError,
} from './errors.ts';
import type { PointedDetail } from './records.ts';

/** An answer over HTTP, from the service or from a proxy before it. */
export interface Answer {
  readonly status: number;
  /** The call that was answered. Its request id is also in the service's log. */
  readonly origin: CallRef;
  readonly text: string;
  header(name: string): string | null;
}

/** Stands for the answer of a load balancer without a node behind it. Such an answer is not a problem document. */
const NOT_THE_SERVICE: Readonly<Record<string, unknown>> = {
  title: 'unavailable',
  detail: 'what answered is not the service, which could not be reached through it',
};

/** Parses a JSON object. Throws UnexpectedAnswerError for other texts. */
export function parseObject(answer: Answer, text: string = answer.text): Readonly<Record<string, unknown>> {
  const value = parseOrUndefined(text);
  if (isObject(value)) return value;
  throw new UnexpectedAnswerError(answer.status, 'the answer is no JSON object', answer.origin);
}

/** Parses the JSON object of an answer. Its members are not checked. */
export function parseUncheckedJson<T extends object>(answer: Answer, text: string = answer.text): T {
  parseObject(answer, text);
  const value: T = JSON.parse(text);
  return value;
}

/** Parses the answer of an operation that may need approval. Throws ProposedError if the operation needs approval. */
export function parseUnlessProposed<T extends object>(answer: Answer): T {
  if (answer.status !== 202) return parseUncheckedJson(answer);
  const { proposalId, expiresAt } = parseObject(answer);
  if (typeof proposalId === 'string' && typeof expiresAt === 'string')
    throw new ProposedError(proposalId, expiresAt, answer.origin);
  throw new UnexpectedAnswerError(answer.status, 'the answer names no proposal', answer.origin);
}

/** Creates the error for an answer that is not a success. */
export function toAnswerError(answer: Answer): ScoringError {
  const { status, origin } = answer;
  if (status >= 300 && status < 400) {
    return new UnexpectedAnswerError(status, 'redirects are not followed; correct baseUrl', origin);
  }
  const members = readProblemMembers(answer);
  const isPassing = status >= 500 || status === 408 || status === 429;
  if (members === null && !isPassing) {
    return new UnexpectedAnswerError(status, 'the answer is not one of the service', origin);
  }
  const { title, code, detail, errors, requestId, retryable } = members ?? NOT_THE_SERVICE;
  const problem = {
    title: toText(title, 'refused'),
    status,
    code: typeof code === 'string' ? code : null,
    detail: toText(detail, 'no reason was given'),
    errors: Array.isArray(errors) ? errors.filter(isPointed) : [],
    retryable: typeof retryable === 'boolean' ? retryable : isPassing,
    requestId: toText(requestId, origin.requestId),
  };
  return toProblemError(problem, readRetryAfterSeconds(answer), origin);
}

/** Returns the members of a problem document. Returns null if the answer is not a problem document. */
function readProblemMembers(answer: Answer): Readonly<Record<string, unknown>> | null {
  if (!answer.header('Content-Type')?.startsWith('application/problem+json')) return null;
  const value = parseOrUndefined(answer.text);
  return isObject(value) ? value : null;
}

/** Parses JSON. Returns undefined if the text is not JSON. */
function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPointed(value: unknown): value is PointedDetail {
  if (!isObject(value) || typeof value['detail'] !== 'string') return false;
  return typeof value['pointer'] === 'string' || typeof value['header'] === 'string';
}

function toText(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

/** Reads the header Retry-After, which is a number of seconds or a date. Returns null without a valid header. */
function readRetryAfterSeconds(answer: Answer): number | null {
  const text = answer.header('Retry-After');
  if (text === null) return null;
  if (/^\d+$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
