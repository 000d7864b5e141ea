import { type Answer, parseObject, parseUncheckedJson } from './answer.ts';
import { checkAmount, checkHeaderValue, checkIdentifier, formatJson } from './arguments.ts';
import {
  type CallOptions,
  Connection,
  type ConnectionOptions,
  type OutgoingRequest,
  pause,
  type Signal,
} from './connection.ts';
import { InvalidArgumentError, NoAnswerError, UnexpectedAnswerError } from './errors.ts';
import type { ScoreAnswer, ScoreRequest, VerdictAnswer, VerdictRequest } from './records.ts';

export interface ScoringOptions extends ConnectionOptions {
  /** The answer to use if the service gives none. If missing, a NoAnswerError is thrown. */
  readonly fallback?: Fallback | undefined;
}

interface AnswerOrigin {
  /** The id of the request, which is in the logs of both sides. */
  readonly requestId: string;
  /** Whether the answer comes from `fallback`, because the service did not answer. */
  readonly fallback: boolean;
  /** Why the service did not answer. Null if it did. */
  readonly noAnswer: NoAnswerError | null;
}

interface VerdictOrigin extends AnswerOrigin {
  /** The id of the decision record. Empty for a fallback. */
  readonly decisionId: string;
  /** The key of the request. Send it with a repeat of the same request. */
  readonly idempotencyKey: string;
  /** Whether the same answer was given before under this key. The verdict counts only once. */
  readonly replayed: boolean;
}

export type Score = ScoreAnswer & AnswerOrigin;

/** The answer and its origin. The type is a union that `verdict` distinguishes. */
export type Verdict = VerdictAnswer & VerdictOrigin;

export interface VerdictOptions extends CallOptions {
  /**
   * One key for each attempt of the payer, never one for the order. The default is a new UUID. Retries use the same
   * key.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The operations of a checkout: score, then verdict. */
export class ScoringClient {
  readonly #connection: Connection;
  readonly #fallback: Fallback | undefined;

  /** Throws InvalidArgumentError if an option is not valid. */
  constructor(options: ScoringOptions) {
    if (options.fallback !== undefined) checkFallback(options.fallback);
    this.#connection = new Connection(options);
    this.#fallback = options.fallback;
  }

  /**
   * Scores a payer. Call it before payment methods are shown, at most a couple of times in a checkout. Throws a
   * ScoringError.
   */
  async score(request: ScoreRequest, options?: CallOptions): Promise<Score> {
    checkIdentifier('selectedMethodKey', request.selectedMethodKey);
    const sent = createOutgoing('score', request);
    try {
      const answer = await this.#connection.send(sent, options);
      return { ...parseScore(answer), ...toAnswerOrigin(answer) };
    } catch (error) {
      if (!(error instanceof NoAnswerError) || this.#fallback === undefined) throw error;
      return { ...FALLBACK_SCORE, ...toFallbackOrigin(error) };
    }
  }

  /**
   * Asks for a verdict. Call it directly before a requisite is shown. Retries carry the same key, so the verdict
   * counts once. Throws a ScoringError.
   */
  async verdict(request: VerdictRequest, options: VerdictOptions = {}): Promise<Verdict> {
    const { idempotencyKey = crypto.randomUUID(), ...callOptions } = options;
    checkHeaderValue('idempotencyKey', idempotencyKey);
    checkIdentifier('method', request.method);
    checkIdentifier('orderRef', request.orderRef);
    const sent = { ...createOutgoing('verdict', request), idempotencyKey };
    try {
      const answer = await this.#connection.send(sent, callOptions);
      const decisionId = answer.header('X-Decision-Id') ?? '';
      const replayed = answer.header('Idempotent-Replayed') === 'true';
      return { ...parseVerdict(answer), ...toAnswerOrigin(answer), decisionId, idempotencyKey, replayed };
    } catch (error) {
      if (!(error instanceof NoAnswerError) || this.#fallback === undefined) throw error;
      const instead = createFallbackVerdict(this.#fallback, request);
      return { ...instead, ...toFallbackOrigin(error), decisionId: '', idempotencyKey, replayed: false };
    }
  }
}

function createOutgoing(
  operation: 'score' | 'verdict',
  request: ScoreRequest | VerdictRequest,
): OutgoingRequest {
  checkIdentifier('sellPointKey', request.sellPointKey);
  checkIdentifier('clientIdKey', request.clientIdKey);
  checkAmount('amountRequested', request.amountRequested);
  const body = { type: 'application/json', text: formatJson('request', request) };
  return { method: 'POST', path: `/v1/client/${operation}`, body, repeatable: true };
}

function toAnswerOrigin(answer: Answer): AnswerOrigin {
  const requestId = answer.header('X-Request-Id') ?? answer.origin.requestId;
  return { requestId, fallback: false, noAnswer: null };
}

function toFallbackOrigin(noAnswer: NoAnswerError): AnswerOrigin {
  return { requestId: noAnswer.requestId ?? '', fallback: true, noAnswer };
}

function parseScore(answer: Answer): ScoreAnswer {
  const { clientGroup, paymentScore, isBot } = parseObject(answer);
  const whole =
    typeof clientGroup === 'string' && typeof paymentScore === 'string' && typeof isBot === 'boolean';
  if (!whole) throw new UnexpectedAnswerError(answer.status, 'the answer is no score', answer.origin);
  return parseUncheckedJson(answer);
}

/**
 * Checks a verdict. The checkout acts on it, so it must be one of the four commands with the members that the command
 * needs.
 */
function parseVerdict(answer: Answer): VerdictAnswer {
  const { verdict, waitSeconds, stickyRequisiteRef } = parseObject(answer);
  const whole =
    verdict === 'GET_NEW' ||
    verdict === 'BLOCK' ||
    (verdict === 'WAIT' && typeof waitSeconds === 'number') ||
    (verdict === 'GET_SAME_STICKY' && typeof stickyRequisiteRef === 'string');
  if (!whole) throw new UnexpectedAnswerError(answer.status, 'the answer is no verdict', answer.origin);
  return parseUncheckedJson(answer);
}

/**
 * The decision of a checkout that gets no answer. `open` shows requisites, and `closed` shows none. `{ openUpTo: {
 * EUR: '50.00' } }` shows requisites up to an amount by currency, and not for larger amounts or other currencies.
 */
export type Fallback = 'open' | 'closed' | { readonly openUpTo: Readonly<Record<string, string>> };

const ALWAYS = { ruleVersion: 'fallback', isBot: false } as const;

/** The score of a new payer. It neither favours nor blocks the payer, so only the fallback of the verdict decides. */
const FALLBACK_SCORE: ScoreAnswer = { clientGroup: 'NEW', paymentScore: '0.5000', isBot: false };

function checkFallback(fallback: Fallback): void {
  if (fallback === 'open' || fallback === 'closed') return;
  if (typeof fallback !== 'object' || typeof fallback.openUpTo !== 'object') {
    throw new InvalidArgumentError('fallback', 'must be open, closed, or { openUpTo: { EUR: "50.00" } }');
  }
  for (const [currency, amount] of Object.entries(fallback.openUpTo)) {
    checkAmount(`fallback.openUpTo.${currency}`, amount);
  }
}

/** Creates an answer in the form of the service's own. */
function createFallbackVerdict(fallback: Fallback, request: VerdictRequest): VerdictAnswer {
  return isOpen(fallback, request)
    ? { verdict: 'GET_NEW', reason: 'The scoring service did not answer; open by fallback.', ...ALWAYS }
    : { verdict: 'BLOCK', reason: 'The scoring service did not answer; closed by fallback.', ...ALWAYS };
}

function isOpen(fallback: Fallback, { amountRequested, toPayCurrency }: VerdictRequest): boolean {
  if (typeof fallback === 'string') return fallback === 'open';
  const limits = Object.entries(fallback.openUpTo);
  const limit = limits.find(([currency]) => currency.toUpperCase() === toPayCurrency?.toUpperCase());
  return limit !== undefined && isAtMost(amountRequested, limit[1]);
}

/** Compares decimal texts of any length, which numbers cannot hold. */
function isAtMost(amount: string, limit: string): boolean {
  const [whole = '', fraction = ''] = amount.split('.');
  const [limitWhole = '', limitFraction = ''] = limit.split('.');
  const digits = Math.max(fraction.length, limitFraction.length);
  const scaled = BigInt(whole + fraction.padEnd(digits, '0'));
  return scaled <= BigInt(limitWhole + limitFraction.padEnd(digits, '0'));
}

/** Timers may fire early, and asking early makes the wait longer. */
const MARGIN_MS = 250;
/** A long sleep is split into pauses of at most an hour, because setTimeout takes at most 2^31 ms. */
const PAUSE_MS_MAX = 3_600_000;

/**
 * Returns the earliest time to ask again after WAIT. Returns null for any other verdict. The wait begins when the
 * answer arrives, at `answeredAt`. The default is now.
 */
export function waitUntil(answer: VerdictAnswer, answeredAt: Date = new Date()): Date | null {
  if (answer.verdict !== 'WAIT') return null;
  return new Date(answeredAt.getTime() + answer.waitSeconds * 1000 + MARGIN_MS);
}

/** Returns the whole seconds for a timer to show. Returns 0 if the moment has come. */
export function computeSecondsUntil(moment: Date, now: Date = new Date()): number {
  return Math.max(0, Math.ceil((moment.getTime() - now.getTime()) / 1000));
}

/** Resolves at the given moment, never before. Rejects with the signal's reason if the signal is aborted. */
export async function sleepUntil(moment: Date, signal?: Signal | undefined): Promise<void> {
  for (;;) {
    const leftMs = moment.getTime() - Date.now();
    if (leftMs <= 0) return;
    await pause(Math.min(leftMs, PAUSE_MS_MAX), signal);
  }
}
