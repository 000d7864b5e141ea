import { type OutcomeEffect, recordOutcome, setBinding, setOverride } from '../client/changes.ts';
import { type ClientKey, clientKey, type PlatformName } from '../client/client-key.ts';
import {
  type Binding,
  type ClientState,
  momentFor,
  type Override,
  UNKNOWN_CLIENT,
} from '../client/client-state.ts';
import { type KnownHints, knownHints } from '../client/hints.ts';
import type { KnownOrder, OrderOutcome } from '../client/order.ts';
import {
  decideScore,
  decideVerdict,
  hintsAfter,
  type ScoreRequest,
  type ScoreResult,
  type Standing,
  type VerdictRequest,
} from '../decision/decide.ts';
import type { Decision } from '../decision/decision.ts';
import {
  CLIENTS_ON_DEVICE_MAX,
  mostShared,
  NO_SIGHTINGS,
  SHARING_WINDOW_MS_MAX,
  type Sightings,
} from '../facts/fact.ts';
import type { RuleSet } from '../rules/rule-set.ts';

type Devices = Pick<KnownHints, 'fingerprints' | 'ips'>;

type DeviceName = `${keyof Sightings}/${string}`;

interface Payer {
  readonly key: ClientKey;
  state: ClientState;
  /** The newest known outcomes by orderRef, oldest first. */
  readonly orders: Map<string, KnownOrder>;
}

/** Outcomes of one client that can still be corrected; bounds the memory of a long replay. */
const ORDERS_MAX = 100;

/**
 * The service's life in memory, for a rule set and inputs with times of their own: the same core and
 * the same steps as `service.ts`, no store. Rule tests and backtests run on it. Its memory grows with the
 * number of clients and devices, not with what happens to them.
 */
export class Simulation {
  #rules: RuleSet;
  readonly #platform: PlatformName;
  readonly #payers = new Map<string, Payer>();
  /** By device: when each client was last seen there, the longest ago first. */
  readonly #lastSeen = new Map<string, Map<string, number>>();

  constructor(rules: RuleSet, platform: PlatformName) {
    this.#rules = rules;
    this.#platform = platform;
  }

  /** Lets another rule set decide from now on, as a rollout does. */
  use(rules: RuleSet): void {
    this.#rules = rules;
  }

  score(clientIdKey: string, request: ScoreRequest, now: number): ScoreResult {
    const payer = this.#payer(clientIdKey);
    const { known } = hintsAfter(payer.state, request, momentFor(payer.state, now));
    const sightings = this.#sightings(clientIdKey, known, now);
    const result = decideScore(this.#rules, standingOf(payer, sightings, now), request);
    payer.state = result.nextState;
    return result;
  }

  verdict(clientIdKey: string, request: VerdictRequest, now: number): Decision {
    const payer = this.#payer(clientIdKey);
    const hints = knownHints(payer.state.hints, momentFor(payer.state, now));
    this.#record(clientIdKey, hints, now);
    const sightings = this.#sightings(clientIdKey, hints, now);
    const standing = standingOf(payer, sightings, now);
    const { decision, nextState } = decideVerdict(this.#rules, standing, request);
    payer.state = nextState;
    return decision;
  }

  outcome(clientIdKey: string, orderRef: string, report: OrderOutcome, now: number): OutcomeEffect {
    const payer = this.#payer(clientIdKey);
    const previous = payer.orders.get(orderRef) ?? null;
    const { effect, state, order } = recordOutcome(payer.state, previous, report, now);
    payer.state = state;
    payer.orders.delete(orderRef);
    payer.orders.set(orderRef, order);
    forgetOldest(payer.orders, ORDERS_MAX);
    return effect;
  }

  bind(clientIdKey: string, binding: Binding | null, now: number): void {
    const payer = this.#payer(clientIdKey);
    payer.state = setBinding(payer.state, binding, now);
  }

  override(clientIdKey: string, override: Override | null, now: number): void {
    const payer = this.#payer(clientIdKey);
    payer.state = setOverride(payer.state, override, now);
  }

  #payer(clientIdKey: string): Payer {
    const known = this.#payers.get(clientIdKey);
    if (known !== undefined) return known;
    const payer: Payer = {
      key: clientKey(this.#platform, clientIdKey),
      state: UNKNOWN_CLIENT,
      orders: new Map(),
    };
    this.#payers.set(clientIdKey, payer);
    return payer;
  }

  #record(clientIdKey: string, devices: Devices, now: number): void {
    for (const device of namesOf(devices)) {
      const clients = this.#lastSeen.get(device) ?? new Map<string, number>();
      const at = Math.max(now, clients.get(clientIdKey) ?? 0);
      clients.delete(clientIdKey);
      clients.set(clientIdKey, at);
      forgetOldest(clients, CLIENTS_ON_DEVICE_MAX);
      forgetBefore(clients, now - SHARING_WINDOW_MS_MAX);
      this.#lastSeen.set(device, clients);
    }
  }

  /** Of several devices the most shared one counts. */
  #sightings(clientIdKey: string, devices: Devices, now: number): Sightings {
    const seen = namesOf(devices).map((device) => this.#counts(device, clientIdKey, now));
    return seen.reduce(mostShared, NO_SIGHTINGS);
  }

  #counts(device: DeviceName, clientIdKey: string, now: number): Sightings {
    const kind = device.startsWith('ip/') ? 'ip' : 'fingerprint';
    const counts = new Map<number, number>();
    const clients = this.#lastSeen.get(device);
    for (const windowMs of this.#rules.sharingWindowsMs[kind]) {
      let others = 0;
      for (const [client, at] of clients ?? []) {
        if (at > now - windowMs && client !== clientIdKey) others++;
      }
      counts.set(windowMs, Math.min(CLIENTS_ON_DEVICE_MAX, others + 1));
    }
    return { ...NO_SIGHTINGS, [kind]: counts };
  }
}

function namesOf({ fingerprints, ips }: Devices): readonly DeviceName[] {
  return [
    ...fingerprints.map((id): DeviceName => `fingerprint/${id}`),
    ...ips.map((id): DeviceName => `ip/${id}`),
  ];
}

function standingOf({ key, state }: Payer, sightings: Sightings, now: number): Standing {
  return { client: key, state, sightings, now };
}

/** A Map keeps the order of insertion, so the oldest entries are its first. */
function forgetOldest(entries: Map<string, unknown>, keep: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= keep) return;
    entries.delete(key);
  }
}

function forgetBefore(clients: Map<string, number>, oldest: number): void {
  for (const [client, at] of clients) {
    if (at > oldest) return;
    clients.delete(client);
  }
}
