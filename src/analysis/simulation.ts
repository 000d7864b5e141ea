import { recordOutcome, setBinding, setOverride } from '../client/changes.ts';
import { clientKey, type PlatformName } from '../client/client-key.ts';
import { type Binding, type ClientState, type Override, UNKNOWN_CLIENT } from '../client/client-state.ts';
import type { OrderOutcome, OutcomeEffect } from '../client/outcomes.ts';
import {
  decideScore,
  decideVerdict,
  type ScoreRequest,
  type ScoreResult,
  type VerdictRequest,
} from '../decision/decide.ts';
import type { Decision } from '../decision/decision.ts';
import type { Sightings } from '../facts/fact.ts';
import { currentHints } from '../facts/hints.ts';
import type { RuleSet } from '../rules/rule-set.ts';

type Device = Readonly<Record<keyof Sightings, string | null>>;

/**
 * The service's life in memory, for a rule set and inputs with times of their own: the same core and
 * the same steps as `service.ts`, no store. Rule tests and backtests run on it.
 */
export class Simulation {
  readonly #rules: RuleSet;
  readonly #platform: PlatformName;
  readonly #states = new Map<string, ClientState>();
  readonly #orders = new Map<string, OrderOutcome>();
  readonly #lastSeen = new Map<string, Map<string, number>>();

  constructor(rules: RuleSet, platform: PlatformName) {
    this.#rules = rules;
    this.#platform = platform;
  }

  score(clientIdKey: string, request: ScoreRequest, now: number): ScoreResult {
    const client = clientKey(this.#platform, clientIdKey);
    const sightings = this.#sightings(clientIdKey, request, now);
    const result = decideScore(this.#rules, client, this.#state(clientIdKey), sightings, request, now);
    this.#states.set(clientIdKey, result.nextState);
    return result;
  }

  verdict(clientIdKey: string, request: VerdictRequest, now: number): Decision {
    const client = clientKey(this.#platform, clientIdKey);
    const state = this.#state(clientIdKey);
    const device = currentHints(state.hints, now) ?? { fingerprint: null, ip: null };
    this.#record(clientIdKey, device, now);
    const sightings = this.#sightings(clientIdKey, device, now);
    const { decision, nextState } = decideVerdict(this.#rules, client, state, sightings, request, now);
    this.#states.set(clientIdKey, nextState);
    return decision;
  }

  outcome(clientIdKey: string, orderRef: string, report: OrderOutcome, now: number): OutcomeEffect {
    const key = `${clientIdKey}\0${orderRef}`;
    const previous = this.#orders.get(key) ?? null;
    const { effect, state, order } = recordOutcome(this.#state(clientIdKey), orderRef, previous, report, now);
    this.#states.set(clientIdKey, state);
    this.#orders.set(key, order);
    return effect;
  }

  bind(clientIdKey: string, binding: Binding | null, now: number): void {
    this.#states.set(clientIdKey, setBinding(this.#state(clientIdKey), binding, now));
  }

  override(clientIdKey: string, override: Override | null, now: number): void {
    this.#states.set(clientIdKey, setOverride(this.#state(clientIdKey), override, now));
  }

  #state(clientIdKey: string): ClientState {
    return this.#states.get(clientIdKey) ?? UNKNOWN_CLIENT;
  }

  #record(clientIdKey: string, device: Device, now: number): void {
    for (const kind of ['fingerprint', 'ip'] as const) {
      const id = device[kind];
      if (id === null) continue;
      const clients = this.#lastSeen.get(`${kind}/${id}`) ?? new Map<string, number>();
      clients.set(clientIdKey, Math.max(now, clients.get(clientIdKey) ?? 0));
      this.#lastSeen.set(`${kind}/${id}`, clients);
    }
  }

  #sightings(clientIdKey: string, device: Device, now: number): Sightings {
    const counts = (kind: keyof Sightings) => {
      const clients =
        device[kind] === null
          ? null
          : (this.#lastSeen.get(`${kind}/${device[kind]}`) ?? new Map<string, number>());
      if (clients === null) return new Map<number, number>();
      const others = [...clients].filter(([client]) => client !== clientIdKey);
      const within = (windowMs: number) => others.filter(([, at]) => at > now - windowMs).length;
      return new Map(this.#rules.sharingWindowsMs[kind].map((windowMs) => [windowMs, within(windowMs) + 1]));
    };
    return { fingerprint: counts('fingerprint'), ip: counts('ip') };
  }
}
