import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision, ScoreAnswer, VerdictAnswer } from '#decision/decision.ts';
import type { NextVerdict } from '#decision/next-verdict.ts';
import { type Answer, call, type HeaderList, type Problem } from './http-call.ts';
import { scoreBody, verdictBody } from './request-bodies.ts';

export interface DecisionList {
  readonly decisions: readonly Decision[];
  readonly next: string | null;
  readonly lookedAt: { readonly complete: boolean };
}

type DecisionQuery = Readonly<Record<string, string>>;

/** The view of a client, as far as tests read it. */
export interface ClientBody {
  readonly clientIdKey: string;
  readonly clientGroup: string;
  readonly paymentScore: string;
  readonly isBot: boolean;
  readonly decisionCount: number;
  readonly ladder: { readonly level: number; readonly attemptOpen: boolean };
  readonly outcomes: { readonly paidCount: number; readonly unpaidCount: number };
  readonly binding: { readonly requisiteRef: string } | null;
  readonly override: { readonly group: string } | null;
  readonly nextVerdict: NextVerdict;
  readonly decisions: readonly Decision[];
}

/** Where a service listens. */
type Place = Readonly<Record<'callerUrl' | 'platformUrl', string>>;

/** One platform of a running service: its key, and a method for each operation. */
export class Tenant {
  readonly #place: Place;
  readonly #key: () => string;

  constructor(place: Place, key: string | (() => string)) {
    this.#place = place;
    this.#key = typeof key === 'string' ? () => key : key;
  }

  get callerUrl(): string {
    return this.#place.callerUrl;
  }

  get platformUrl(): string {
    return this.#place.platformUrl;
  }

  get key(): string {
    return this.#key();
  }

  score(members: object = {}, headers: HeaderList = {}): Promise<Answer<ScoreAnswer>> {
    return this.post('score', scoreBody(members), headers);
  }

  verdict(members: object = {}, headers: HeaderList = {}): Promise<Answer<VerdictAnswer>> {
    return this.post('verdict', verdictBody(members), headers);
  }

  /** To the caller's API, whatever the body is. */
  post<Body = Problem>(
    operation: 'score' | 'verdict',
    body: object | string | Uint8Array<ArrayBuffer>,
    headers: HeaderList = {},
  ): Promise<Answer<Body>> {
    return call('POST', `${this.callerUrl}/v1/client/${operation}`, this.#with(headers), body);
  }

  /** To the platform's API. */
  ask<Body = Problem>(
    method: string,
    path: string,
    body?: object | string | Uint8Array<ArrayBuffer>,
    headers: HeaderList = {},
  ): Promise<Answer<Body>> {
    return call(method, `${this.platformUrl}/v1/platform/${path}`, this.#with(headers), body);
  }

  outcome(clientIdKey: string, orderRef: string, outcome: 'PAID' | 'UNPAID', more: object = {}) {
    const report = { clientIdKey, orderRef, outcome, ...more };
    return this.ask<{ result: string }>('POST', 'outcomes', report);
  }

  bind(clientIdKey: string, more: object = {}) {
    const binding = { requisiteRef: 'requisite-7', acceptorKeys: ['acceptor-1', 'acceptor-2'], ...more };
    return this.ask('PUT', `client/binding?clientIdKey=${encodeURIComponent(clientIdKey)}`, binding);
  }

  override(clientIdKey: string, group: 'BLOCKED' | 'TRUSTED', more: object = {}) {
    const override = { group, reason: 'looked at by hand', ...more };
    return this.ask('PUT', `client/override?clientIdKey=${encodeURIComponent(clientIdKey)}`, override);
  }

  client(clientIdKey: string): Promise<Answer<ClientBody>> {
    return this.ask('GET', `client?clientIdKey=${encodeURIComponent(clientIdKey)}`);
  }

  /** The newest matching ones, as many as one answer has. */
  async decisions(query: DecisionQuery = {}): Promise<readonly Decision[]> {
    return (await this.#listed(query)).decisions;
  }

  /** All matching ones, page by page. */
  async allDecisions(query: DecisionQuery): Promise<readonly Decision[]> {
    const found: Decision[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const after = next === '' ? {} : { after: next };
      const { decisions, next: place, lookedAt } = await this.#listed({ ...query, limit: '500', ...after });
      found.push(...decisions);
      if (place === null && !lookedAt.complete) throw new Error('not all decisions could be looked at');
      next = place;
    }
    return found;
  }

  /** Retries where the store answers too late on a busy machine. */
  async #listed(query: DecisionQuery, tries = 5): Promise<DecisionList> {
    const answer = await this.ask<DecisionList>('GET', `decisions?${new URLSearchParams(query)}`);
    if (answer.status === 200) return answer.body;
    if (answer.status === 503 && tries > 1) {
      await sleep(1000);
      return this.#listed(query, tries - 1);
    }
    throw new Error(`decisions answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  #with(headers: HeaderList): HeaderList {
    return { 'X-KA-Access-Key': this.key, ...headers };
  }
}
