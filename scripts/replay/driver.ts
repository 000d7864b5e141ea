import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '#base/files/json-object.ts';
import type { Decision, ScoreAnswer, VerdictAnswer } from '#decision/decision.ts';
import type { RecordedBinding, RecordedOutcome, RecordedPayment } from './recorded-payments.ts';

/** The operations that a replay uses. */
export type DrivenOperation = 'score' | 'verdict' | 'outcomes' | 'clients' | 'decisions';

/** How often a replay used each operation. */
export type OperationCounts = Readonly<Record<DrivenOperation, number>>;

/** The addresses of the service, and the access key. */
export interface Endpoints {
  readonly callerUrl: string;
  readonly platformUrl: string;
  readonly key: string;
}

/** An unexpected answer. The message has the request and the answer. */
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
  readonly path: string;
  readonly body?: object;
  /** Under the same Idempotency-Key, a repeated request is decided once. */
  readonly idempotencyKey?: string;
}

/** The status of a service whose store is slow. The request is tried again, up to `TRIES_MAX` times. */
const UNAVAILABLE = 503;
const TRIES_MAX = 20;
const PAUSE_MS = 250;

interface Answer<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

/**
 * Calls the service over HTTP as a caller and as the platform do, one request after the other. Tries again after a
 * 503.
 */
export class Driver {
  readonly operationCounts = { score: 0, verdict: 0, outcomes: 0, clients: 0, decisions: 0 };
  readonly #endpoints: Endpoints;

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints;
  }

  /** Asks for a score (interface, section 4.1). */
  async score(payment: RecordedPayment): Promise<ScoreAnswer> {
    const { sellPointKey, clientIdKey, amountRequested, method } = payment;
    const { toPayCurrency, fingerprint, ip, userAgent, clientHints } = payment;
    const more = removeNulls({ toPayCurrency, fingerprint, ip, userAgent, clientHints });
    const body = { sellPointKey, clientIdKey, amountRequested, selectedMethodKey: method, ...more };
    return (await this.#ask<ScoreAnswer>({ operation: 'score', method: 'POST', path: 'client/score', body }))
      .body;
  }

  /** Asks for a verdict (interface, section 4.2). Returns the answer and the id of its decision. */
  async verdict(payment: RecordedPayment): Promise<{ answer: VerdictAnswer; decisionId: string }> {
    const { sellPointKey, clientIdKey, method, amountRequested, orderRef, toPayCurrency, line } = payment;
    const asked = {
      sellPointKey,
      clientIdKey,
      method,
      amountRequested,
      orderRef,
      ...removeNulls({ toPayCurrency }),
    };
    const { body, headers } = await this.#ask<VerdictAnswer>({
      operation: 'verdict',
      method: 'POST',
      path: 'client/verdict',
      body: asked,
      idempotencyKey: `line-${line}`,
    });
    return { answer: body, decisionId: String(headers.get('x-decision-id')) };
  }

  /** Reports an outcome, as the platform does. */
  async reportOutcome({
    clientIdKey,
    orderRef,
    outcome,
    cause,
  }: Pick<RecordedOutcome, 'clientIdKey' | 'orderRef' | 'outcome' | 'cause'>): Promise<void> {
    const body = { clientIdKey, orderRef, outcome, ...removeNulls({ cause }) };
    await this.#ask({ operation: 'outcomes', method: 'POST', path: 'platform/outcomes', body });
  }

  /** Binds a client to a requisite, or unbinds it. */
  async bind({ clientIdKey, binding, method, expiresAt }: RecordedBinding): Promise<void> {
    const path = `platform/client/binding?clientIdKey=${encodeURIComponent(clientIdKey)}`;
    if (binding === null) await this.#ask({ operation: 'clients', method: 'DELETE', path });
    else {
      const end = expiresAt === null ? null : new Date(expiresAt).toISOString();
      const body = { ...binding, ...removeNulls({ method, expiresAt: end }) };
      await this.#ask({ operation: 'clients', method: 'PUT', path, body });
    }
  }

  /** Reads the record of a decision. It says more than the answer, like the level of the ladder. */
  async decision(decisionId: string): Promise<Decision> {
    const path = `platform/decisions/${decisionId}`;
    return (await this.#ask<Decision>({ operation: 'decisions', method: 'GET', path })).body;
  }

  async #ask<Body>({ operation, method, path, body, idempotencyKey }: Call): Promise<Answer<Body>> {
    const { callerUrl, platformUrl, key } = this.#endpoints;
    const url = `${path.startsWith('platform/') ? platformUrl : callerUrl}/v1/${path}`;
    const headers = new Headers({ 'X-KA-Access-Key': key });
    if (body !== undefined) headers.set('Content-Type', 'application/json');
    if (idempotencyKey !== undefined) headers.set('Idempotency-Key', idempotencyKey);
    const sent = body === undefined ? null : JSON.stringify(body);
    const exchange = () => fetch(url, { method, headers, body: sent });
    let answer = await exchange();
    for (let tries = 1; answer.status === UNAVAILABLE && tries < TRIES_MAX; tries++) {
      await answer.body?.cancel();
      await delay(PAUSE_MS);
      answer = await exchange();
    }
    this.operationCounts[operation] += 1;
    const text = await answer.text();
    if (answer.ok) return { body: JSON.parse(text || 'null'), headers: answer.headers };
    const asked = `${method} ${new URL(url).pathname} ${sent ?? ''}`.trimEnd();
    throw new UnexpectedAnswer(asked, answer.status, text);
  }
}

/** Leaves out null members, which a body does not have. */
function removeNulls(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
