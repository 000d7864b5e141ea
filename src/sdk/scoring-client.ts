import { type Answer, jsonOf, objectOf } from './answer.ts';
import { checkAmount, checkHeader, checkKey, jsonText } from './arguments.ts';
import { type CallOptions, Connection, type ConnectionOptions } from './connection.ts';
import { UnexpectedAnswerError } from './errors.ts';
import type { ScoreAnswer, ScoreRequest, VerdictAnswer, VerdictRequest } from './records.ts';

/** What leads back to a verdict. */
interface VerdictOrigin {
  /** Names the decision record. */
  readonly decisionId: string;
  /** The id of the request, in the logs of both sides. */
  readonly requestId: string;
  /** To send again with the same request. */
  readonly idempotencyKey: string;
  /** The answer was given before under this key; it counted once. */
  readonly replayed: boolean;
}

/** The answer with what leads back to it; told apart by `verdict`. */
export type Verdict = VerdictAnswer & VerdictOrigin;

export interface VerdictOptions extends CallOptions {
  /** One for each time the payer tries, never one for the order; a new UUID when absent. Retries use the same. */
  readonly idempotencyKey?: string | undefined;
}

/** What a checkout asks: score, then verdict. */
export class ScoringClient {
  readonly #connection: Connection;

  /** Throws InvalidArgumentError when an option cannot work. */
  constructor(options: ConnectionOptions) {
    this.#connection = new Connection(options);
  }

  /** Before payment methods are shown; a couple of times per checkout at most. Throws a ScoringError. */
  async score(request: ScoreRequest, options?: CallOptions): Promise<ScoreAnswer> {
    checkKey('selectedMethodKey', request.selectedMethodKey);
    const answer = await this.#ask('score', request, {}, options);
    const { clientGroup, paymentScore, isBot } = objectOf(answer);
    const whole =
      typeof clientGroup === 'string' && typeof paymentScore === 'string' && typeof isBot === 'boolean';
    if (!whole) throw new UnexpectedAnswerError(answer.status, 'the answer is no score', answer.requestId);
    return jsonOf(answer);
  }

  /** Directly before a requisite is shown. Retries carry the same key, so it counts once. Throws a ScoringError. */
  async verdict(request: VerdictRequest, options: VerdictOptions = {}): Promise<Verdict> {
    const { idempotencyKey = crypto.randomUUID(), ...callOptions } = options;
    checkHeader('idempotencyKey', idempotencyKey);
    checkKey('method', request.method);
    checkKey('orderRef', request.orderRef);
    const answer = await this.#ask('verdict', request, { 'Idempotency-Key': idempotencyKey }, callOptions);
    return {
      ...verdictOf(answer),
      decisionId: answer.header('X-Decision-Id') ?? '',
      requestId: answer.header('X-Request-Id') ?? answer.requestId,
      idempotencyKey,
      replayed: answer.header('Idempotent-Replayed') === 'true',
    };
  }

  #ask(
    operation: 'score' | 'verdict',
    request: ScoreRequest | VerdictRequest,
    headers: Readonly<Record<string, string>>,
    options: CallOptions | undefined,
  ): Promise<Answer> {
    checkKey('sellPointKey', request.sellPointKey);
    checkKey('clientIdKey', request.clientIdKey);
    checkAmount('amountRequested', request.amountRequested);
    const body = { type: 'application/json', text: jsonText('request', request) };
    const path = `/v1/client/${operation}`;
    return this.#connection.send({ method: 'POST', path, body, headers, repeatable: true }, options);
  }
}

/** What the checkout acts on must be one of the four commands, with what that command needs. */
function verdictOf(answer: Answer): VerdictAnswer {
  const { verdict, waitSeconds, stickyRequisiteRef } = objectOf(answer);
  const whole =
    verdict === 'GET_NEW' ||
    verdict === 'BLOCK' ||
    (verdict === 'WAIT' && typeof waitSeconds === 'number') ||
    (verdict === 'GET_SAME_STICKY' && typeof stickyRequisiteRef === 'string');
  if (!whole) throw new UnexpectedAnswerError(answer.status, 'the answer is no verdict', answer.requestId);
  return jsonOf(answer);
}
