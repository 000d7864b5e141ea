import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Decision, ScoreAnswer, VerdictAnswer } from '../../src/decision/decision.ts';
import type { JsonObject } from '../../src/files/json-object.ts';
import type { RecordedBinding, RecordedOutcome, RecordedPayment } from './recorded-payments.ts';

/** The operations that a replay uses, and how often it used them. */
export type DrivenOperation = 'score' | 'verdict' | 'outcomes' | 'clients' | 'decisions';

export type Use = Readonly<Record<DrivenOperation, number>>;

/** Where the service is, and the key that opens it. */
export interface Endpoints {
  readonly callerUrl: string;
  readonly platformUrl: string;
  readonly key: string;
}

/** An unexpected answer; the message has the request and the answer. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
  readonly status: number;

  constructor(asked: string, status: number, answered: string) {
    super(`the service answered ${status} ${answered} to ${asked}`);
    this.status = status;
  }
}

interface Call {
  readonly operation: DrivenOperation;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly body: object | null;
  /** With it, a repeated request counts once. */
  readonly idempotencyKey?: string;
}

/** Retries while the store is slow; a replay without a store ends. */
const UNAVAILABLE = 503;
const TRIES_MAX = 20;
const PAUSE_MS = 250;

interface Answer {
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
}

/** Calls the service over HTTP as a caller and as the platform do, one request after the other, and again after a 503. */
export class Driver {
  readonly use = { score: 0, verdict: 0, outcomes: 0, clients: 0, decisions: 0 };
  readonly #endpoints: Endpoints;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints;
  }

  /** Interface, section 4.1. */
  async score(payment: RecordedPayment): Promise<ScoreAnswer> {
    const { sellPointKey, clientIdKey, amountRequested, method } = payment;
    const { toPayCurrency, fingerprint, ip, userAgent, clientHints } = payment;
    const body = {
      sellPointKey,
      clientIdKey,
      amountRequested,
      selectedMethodKey: method,
      ...given({ toPayCurrency, fingerprint, ip, userAgent, clientHints }),
    };
    const url = `${this.#endpoints.callerUrl}/v1/client/score`;
    const { text } = await this.#ask({ operation: 'score', method: 'POST', url, body });
    const answer: ScoreAnswer = JSON.parse(text);
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
      method: 'POST',
      url,
      body,
      idempotencyKey: `line-${line}`,
    });
    const answer: VerdictAnswer = JSON.parse(text);
    return { answer, decisionId: String(headers['x-decision-id']) };
  }

  /** Reports an outcome, as the platform does. */
  async reportOutcome({
    clientIdKey,
    orderRef,
    outcome,
    cause,
  }: Pick<RecordedOutcome, 'clientIdKey' | 'orderRef' | 'outcome' | 'cause'>): Promise<void> {
    const url = `${this.#endpoints.platformUrl}/v1/platform/outcomes`;
    const body = { clientIdKey, orderRef, outcome, ...given({ cause }) };
    await this.#ask({ operation: 'outcomes', method: 'POST', url, body });
  }

  /** Binds a client to a requisite, or unbinds it. */
  async bind({ clientIdKey, binding, method, expiresAt }: RecordedBinding): Promise<void> {
    const url = `${this.#endpoints.platformUrl}/v1/platform/client/binding?clientIdKey=${encodeURIComponent(clientIdKey)}`;
    const end = expiresAt === null ? null : new Date(expiresAt).toISOString();
    const body = binding === null ? null : { ...binding, ...given({ method, expiresAt: end }) };
    await this.#ask({ operation: 'clients', method: body === null ? 'DELETE' : 'PUT', url, body });
  }

  /** The record of a decision, which has more than the answer, like the level of the ladder. */
  async decision(decisionId: string): Promise<Decision> {
    const url = `${this.#endpoints.platformUrl}/v1/platform/decisions/${decisionId}`;
    const answer = await this.#ask({ operation: 'decisions', method: 'GET', url, body: null });
    const decision: Decision = JSON.parse(answer.text);
    return decision;
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #ask(call: Call): Promise<Answer> {
    const body = call.body === null ? null : JSON.stringify(call.body);
    let { status, ...answer } = await this.#exchange(call, body);
    for (let tries = 1; status === UNAVAILABLE && tries < TRIES_MAX; tries++) {
      await delay(PAUSE_MS);
      ({ status, ...answer } = await this.#exchange(call, body));
    }
    this.use[call.operation] += 1;
    if (status === 200 || status === 204) return answer;
    const asked = `${call.method} ${new URL(call.url).pathname} ${body ?? ''}`.trimEnd();
    throw new UnexpectedAnswer(asked, status, answer.text);
  }

  #exchange(
    { method, url, idempotencyKey }: Call,
    body: string | null,
  ): Promise<Answer & { readonly status: number }> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer & { readonly status: number }>();
    const content =
      body === null ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const once = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    const options = {
      agent: this.#agent,
      method,
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

/** Without null members, which a body leaves out. */
function given(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
