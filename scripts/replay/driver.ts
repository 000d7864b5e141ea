import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome, OutcomeCause } from '../../src/client/order.ts';
import type { Decision, ScoreAnswer, VerdictAnswer } from '../../src/decision/decision.ts';
import type { RecordedPayment } from './recorded-payments.ts';

/** The operations that a replay uses, and how much they were used. */
export type DrivenOperation = 'score' | 'verdict' | 'outcomes' | 'decisions';

export interface OperationUse {
  count: number;
  /** Time from asking to the whole answer, summed. */
  ms: number;
}

export type Use = Readonly<Record<DrivenOperation, OperationUse>>;

/** Where the service is, and the key that opens it. */
export interface Endpoints {
  readonly callerUrl: string;
  readonly platformUrl: string;
  readonly key: string;
}

/** The service answered something else than 200; the message holds what was asked and answered. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
  readonly status: number;

  constructor(asked: string, line: number, status: number, answered: string) {
    super(
      `the service did not answer 200 to line ${line}\n  asked:    ${asked}\n  answered: ${status} ${answered}`,
    );
    this.status = status;
  }
}

interface Call {
  readonly operation: DrivenOperation;
  readonly url: string;
  /** Null for GET. */
  readonly body: object | null;
  /** Of the recorded payment that it is about. */
  readonly line: number;
  /** With it, asking again counts once. */
  readonly idempotencyKey?: string;
}

/** A store that was too slow answers again soon; one that is gone ends the replay. */
const UNAVAILABLE = 503;
const TRIES_MAX = 20;
const PAUSE_MS = 250;

interface Answer {
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
}

/** Calls the service over HTTP as a caller and as the platform do, one request after the other, and again after a 503. */
export class Driver {
  readonly use: Use = {
    score: { count: 0, ms: 0 },
    verdict: { count: 0, ms: 0 },
    outcomes: { count: 0, ms: 0 },
    decisions: { count: 0, ms: 0 },
  };
  readonly #endpoints: Endpoints;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints;
  }

  /** Interface, section 4.1. */
  async score(payment: RecordedPayment): Promise<ScoreAnswer> {
    const { sellPointKey, clientIdKey, amountRequested, method, line } = payment;
    const { toPayCurrency, fingerprint, ip, userAgent } = payment;
    const body = {
      sellPointKey,
      clientIdKey,
      amountRequested,
      selectedMethodKey: method,
      ...given({ toPayCurrency, fingerprint, ip, userAgent }),
    };
    const url = `${this.#endpoints.callerUrl}/v1/client/score`;
    const answer: ScoreAnswer = JSON.parse((await this.#ask({ operation: 'score', url, body, line })).text);
    return answer;
  }

  /** Interface, section 4.2; with the id of the decision behind the answer. */
  async verdict(payment: RecordedPayment): Promise<{ answer: VerdictAnswer; decisionId: string }> {
    const { sellPointKey, clientIdKey, method, amountRequested, orderRef, toPayCurrency, line } = payment;
    const body = {
      sellPointKey,
      clientIdKey,
      method,
      amountRequested,
      orderRef,
      ...given({ toPayCurrency }),
    };
    const url = `${this.#endpoints.callerUrl}/v1/client/verdict`;
    const { text, headers } = await this.#ask({
      operation: 'verdict',
      url,
      body,
      line,
      idempotencyKey: `line-${line}`,
    });
    const answer: VerdictAnswer = JSON.parse(text);
    return { answer, decisionId: String(headers['x-decision-id']) };
  }

  /** Tells how an order ended, as the platform does. */
  async reportOutcome(
    { clientIdKey, orderRef, line }: RecordedPayment,
    told: { readonly outcome: Outcome; readonly cause?: OutcomeCause },
  ): Promise<void> {
    const url = `${this.#endpoints.platformUrl}/v1/platform/outcomes`;
    await this.#ask({ operation: 'outcomes', url, body: { clientIdKey, orderRef, ...told }, line });
  }

  /** The record of a decision: it holds what the answer does not, like the level of the ladder. */
  async decision(decisionId: string, { line }: RecordedPayment): Promise<Decision> {
    const url = `${this.#endpoints.platformUrl}/v1/platform/decisions/${decisionId}`;
    const answer = await this.#ask({ operation: 'decisions', url, body: null, line });
    const decision: Decision = JSON.parse(answer.text);
    return decision;
  }

  /** Lets go of the connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #ask(call: Call): Promise<Answer> {
    const startedMs = performance.now();
    const body = call.body === null ? null : JSON.stringify(call.body);
    let { status, ...answer } = await this.#exchange(call, body);
    for (let tries = 1; status === UNAVAILABLE && tries < TRIES_MAX; tries++) {
      await delay(PAUSE_MS);
      ({ status, ...answer } = await this.#exchange(call, body));
    }
    const use = this.use[call.operation];
    use.count += 1;
    use.ms += performance.now() - startedMs;
    if (status === 200) return answer;
    const asked = `${body === null ? 'GET' : 'POST'} ${new URL(call.url).pathname} ${body ?? ''}`.trimEnd();
    throw new UnexpectedAnswer(asked, call.line, status, answer.text);
  }

  #exchange(
    { url, idempotencyKey }: Call,
    body: string | null,
  ): Promise<Answer & { readonly status: number }> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer & { readonly status: number }>();
    const content =
      body === null ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const once = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    const options = {
      agent: this.#agent,
      method: body === null ? 'GET' : 'POST',
      headers: { 'X-KA-Access-Key': this.#endpoints.key, ...content, ...once },
    };
    const asked = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    asked.on('error', reject);
    asked.end(body ?? undefined);
    return promise;
  }
}

/** The members that are there: an absent one is left out of a body, not sent as null. */
function given(members: Readonly<Record<string, string | null>>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
