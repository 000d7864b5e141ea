import { type CallOptions, Connection, type ConnectionOptions, jsonOf } from './connection.ts';

/** The payer's segment. */
export type ClientGroup = 'NEW' | 'STICKY' | 'PAYING' | 'TRUSTED' | 'BLOCKED';

/** Contract, section 2.1. Amounts are strings with a decimal number, like "25.00". */
export interface ScoreRequest {
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly amountRequested: string;
  readonly selectedMethodKey: string;
  readonly toPayCurrency?: string;
  readonly fingerprint?: string;
  readonly ip?: string;
  readonly userAgent?: string;
  readonly clientHints?: { readonly jsOk?: boolean; readonly honeypotTriggered?: boolean };
}

/** Contract, section 2.2. */
export interface ScoreAnswer {
  readonly clientGroup: ClientGroup;
  /** 4 decimal places; "0.5000" for a new client. */
  readonly paymentScore: string;
  readonly isBot: boolean;
  /** Only for STICKY. */
  readonly preferredAcceptorKey?: readonly string[];
  /** Only when the platform enables scoring limits: items like "EUR:250.00". */
  readonly payLimitValue?: readonly string[];
}

/** Contract, section 2.3. */
export interface VerdictRequest {
  readonly sellPointKey: string;
  readonly clientIdKey: string;
  readonly method: string;
  readonly amountRequested: string;
  readonly orderRef: string;
  readonly toPayCurrency?: string;
}

interface VerdictBasis {
  /** For people. */
  readonly reason: string;
  /** To quote with the orderRef in a dispute. */
  readonly ruleVersion: string;
  readonly isBot: boolean;
}

/** Contract, section 2.4: one of four commands, told apart by `verdict`. */
export type VerdictAnswer = VerdictBasis &
  (
    | { readonly verdict: 'GET_NEW' }
    | { readonly verdict: 'GET_SAME_STICKY'; readonly stickyRequisiteRef: string }
    | { readonly verdict: 'WAIT'; readonly waitSeconds: number }
    | { readonly verdict: 'BLOCK' }
  );

/** A verdict with what leads back to it. */
export interface Verdict {
  readonly answer: VerdictAnswer;
  /** Names the decision record. */
  readonly decisionId: string;
  /** To send again with the same request. */
  readonly idempotencyKey: string;
  /** The answer was given before under this key; it counted once. */
  readonly replayed: boolean;
}

export interface VerdictOptions extends CallOptions {
  /** One of its own for every verdict when absent; the retry uses the same. */
  readonly idempotencyKey?: string;
}

/** What a checkout asks: score, then verdict. */
export class ScoringClient {
  readonly #connection: Connection;

  constructor(options: ConnectionOptions) {
    this.#connection = new Connection(options);
  }

  /** Before payment methods are shown; a couple of times per checkout at most. Throws a ScoringError. */
  async score(request: ScoreRequest, options?: CallOptions): Promise<ScoreAnswer> {
    const body = { type: 'application/json', text: JSON.stringify(request) };
    const path = '/v1/client/score';
    return jsonOf(await this.#connection.send({ method: 'POST', path, body, repeatable: true }, options));
  }

  /** Directly before a requisite is shown. The retry carries the same key, so it counts once. Throws a ScoringError. */
  async verdict(request: VerdictRequest, options: VerdictOptions = {}): Promise<Verdict> {
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    const incoming = await this.#connection.send(
      {
        method: 'POST',
        path: '/v1/client/verdict',
        body: { type: 'application/json', text: JSON.stringify(request) },
        headers: { 'Idempotency-Key': idempotencyKey },
        repeatable: true,
      },
      options,
    );
    return {
      answer: jsonOf(incoming),
      decisionId: incoming.headers.get('X-Decision-Id') ?? '',
      idempotencyKey,
      replayed: incoming.headers.get('Idempotent-Replayed') === 'true',
    };
  }
}
