import { type OutcomeEffect, recordOutcome, setBinding, setOverride } from '../client/changes.ts';
import { type ClientKey, ClientKeys, type PlatformName } from '../client/client-key.ts';
import {
  type Binding,
  type ClientState,
  momentFor,
  type Override,
  token,
  UNKNOWN_CLIENT,
} from '../client/client-state.ts';
import { type KnownHints, knownHints } from '../client/hints.ts';
import { exposureOf, type ReportedOutcome } from '../client/order.ts';
import { decodeOrder, encodeOrder } from '../client/order-text.ts';
import { asStored } from '../client/state-document.ts';
import { isGrant } from '../decision/conclude-verdict.ts';
import { decideScore, decideVerdict, type ScoreResult, type Standing } from '../decision/decide.ts';
import type { Decision } from '../decision/decision.ts';
import { type HoldoutDraw, type IsHeldOut, NO_HOLDOUTS } from '../decision/holdout.ts';
import type { ScoreRequest, VerdictRequest } from '../decision/requests.ts';
import { contactByScore } from '../decision/score-hints.ts';
import { NO_LISTS, type SharedLists } from '../decision/shared-lists.ts';
import { CLIENTS_ON_DEVICE_MAX, SHARING_WINDOW_MS_MAX, type Sightings } from '../facts/fact.ts';
import type { RuleSet } from '../rules/rule-set.ts';

interface Payer {
  readonly key: ClientKey;
  state: ClientState;
  /** Orders that the state does not remember, by their tokens, those displaced first in front, in their stored form. */
  readonly orders: Map<string, string>;
  /** Whether the newest orders that were asked for were granted, by their tokens. */
  readonly granted: Map<string, boolean>;
}

/** A simulation keeps nothing, so its salt need not be a secret. */
const SIMULATED_CLIENTS = new ClientKeys('-'.repeat(22));

/** Older orders of one client that can still be corrected; bounds the memory of a long replay. */
const ORDERS_MAX = 100;

/**
 * The service's life in memory, for a rule set and inputs with times of their own: the same core and the same steps
 * as `service/scoring.ts`, no store. All data goes through the stored forms, so that a simulation knows nothing that
 * a store would forget. Rule tests run on it. Its memory grows with the number of clients and devices, not with what
 * happens to them.
 */
export class Simulation {
  readonly #rules: RuleSet;
  readonly #platform: PlatformName;
  readonly #lists: SharedLists;
  #holdoutDraw: HoldoutDraw = NO_HOLDOUTS;
  readonly #payers = new Map<string, Payer>();
  readonly #devices = new DeviceBook();

  constructor(rules: RuleSet, platform: PlatformName, lists: SharedLists = NO_LISTS) {
    this.#rules = rules;
    this.#platform = platform;
    this.#lists = lists;
  }

  /** Sets who is held out of which rules from now on; before, nobody is. */
  holdOut(isHeldOut: IsHeldOut): void {
    this.#holdoutDraw = () => isHeldOut;
  }

  score(clientIdKey: string, request: ScoreRequest, now: number): ScoreResult {
    const payer = this.#payer(clientIdKey);
    const known = contactByScore(payer.state, request, momentFor(payer.state, now)).known();
    const sightings = this.#sightings(clientIdKey, known, now);
    const result = decideScore(this.#rules, this.#standing(payer, sightings, now), request);
    payer.state = asStored(result.nextState);
    return result;
  }

  verdict(clientIdKey: string, request: VerdictRequest, now: number): Decision {
    const payer = this.#payer(clientIdKey);
    const hints = knownHints(payer.state.hints, momentFor(payer.state, now));
    this.#devices.record(clientIdKey, hints, now);
    const sightings = this.#sightings(clientIdKey, hints, now);
    const standing = this.#standing(payer, sightings, now);
    const { decision, nextState } = decideVerdict(this.#rules, standing, request);
    payer.state = asStored(nextState);
    const order = token(request.orderRef);
    payer.granted.set(order, isGrant(decision.verdict) || payer.granted.get(order) === true);
    forgetOldest(payer.granted, ORDERS_MAX);
    return decision;
  }

  outcome(clientIdKey: string, orderRef: string, report: ReportedOutcome, now: number): OutcomeEffect {
    const payer = this.#payer(clientIdKey);
    const older = payer.orders.get(token(orderRef));
    const told = { ...report, orderRef };
    const known = older === undefined ? null : decodeOrder(older);
    const granted = payer.granted.get(token(orderRef));
    const exposure = granted === undefined ? 'notAsked' : exposureOf(granted);
    const { effect, state, displaced } = recordOutcome(payer.state, known, told, now, exposure);
    payer.state = asStored(state);
    for (const order of displaced) {
      payer.orders.delete(order.token);
      payer.orders.set(order.token, encodeOrder(order));
    }
    forgetOldest(payer.orders, ORDERS_MAX);
    return effect;
  }

  bind(clientIdKey: string, binding: Binding | null, now: number): void {
    const payer = this.#payer(clientIdKey);
    payer.state = asStored(setBinding(payer.state, binding, now));
  }

  override(clientIdKey: string, override: Override | null, now: number): void {
    const payer = this.#payer(clientIdKey);
    payer.state = asStored(setOverride(payer.state, override, now));
  }

  #sightings(clientIdKey: string, devices: Devices, now: number): Sightings {
    return this.#devices.sightings(clientIdKey, devices, this.#rules.sharingWindowsMs, now);
  }

  #payer(clientIdKey: string): Payer {
    const known = this.#payers.get(clientIdKey);
    if (known !== undefined) return known;
    const payer: Payer = {
      key: SIMULATED_CLIENTS.of(this.#platform, clientIdKey),
      state: UNKNOWN_CLIENT,
      orders: new Map(),
      granted: new Map(),
    };
    this.#payers.set(clientIdKey, payer);
    return payer;
  }

  #standing({ key, state }: Payer, sightings: Sightings, now: number): Standing {
    return { client: key, state, sightings, lists: this.#lists, holdoutDraw: this.#holdoutDraw, now };
  }
}

type Devices = Pick<KnownHints, 'fingerprints' | 'ips'>;

type Kind = keyof Sightings;

/** Which clients of a platform were seen on which devices, as the stores count it, in memory. */
export class DeviceBook<Client = string> {
  readonly #lastSeen: Readonly<Record<Kind, Map<string, OnlyClient<Client> | SeenClients<Client>>>> = {
    fingerprint: new Map(),
    ip: new Map(),
  };

  record(client: Client, { fingerprints, ips }: Devices, now: number): void {
    for (const id of fingerprints) this.#see('fingerprint', id, client, now);
    for (const id of ips) this.#see('ip', id, client, now);
  }

  /** How many clients were seen on the devices, for each of the windows; of several devices the most shared one counts. */
  sightings(
    client: Client,
    { fingerprints, ips }: Devices,
    windowsMs: RuleSet['sharingWindowsMs'],
    now: number,
  ): Sightings {
    return {
      fingerprint: this.#counts('fingerprint', fingerprints, client, windowsMs.fingerprint, now),
      ip: this.#counts('ip', ips, client, windowsMs.ip, now),
    };
  }

  #see(kind: Kind, id: string, client: Client, now: number): void {
    const devices = this.#lastSeen[kind];
    const seen = devices.get(id);
    if (seen === undefined) devices.set(id, { client, at: now });
    else if (seen instanceof SeenClients) seen.note(client, now);
    else if (seen.client === client) seen.at = Math.max(now, seen.at);
    else {
      const clients = new SeenClients<Client>();
      clients.note(seen.client, seen.at);
      clients.note(client, now);
      devices.set(id, clients);
    }
  }

  #counts(
    kind: Kind,
    ids: readonly string[],
    client: Client,
    windowsMs: readonly number[],
    now: number,
  ): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const id of ids) {
      const seen = this.#lastSeen[kind].get(id);
      for (const windowMs of windowsMs) {
        const clients = Math.min(CLIENTS_ON_DEVICE_MAX, 1 + othersSince(seen, client, now - windowMs));
        counts.set(windowMs, Math.max(clients, counts.get(windowMs) ?? 0));
      }
    }
    return counts;
  }
}

/** Most devices belong to one client and need no more than this. */
interface OnlyClient<Client> {
  readonly client: Client;
  at: number;
}

class SeenClients<Client> {
  /** The one seen longest ago comes first. */
  readonly #lastAt = new Map<Client, number>();
  /** The same times in order, so that counting needs no walk over a thousand clients. */
  readonly #times: number[] = [];

  note(client: Client, now: number): void {
    const before = this.#lastAt.get(client);
    const at = Math.max(now, before ?? 0);
    this.#forget(client);
    this.#lastAt.set(client, at);
    this.#times.splice(firstAfter(this.#times, at), 0, at);
    for (const [oldest, seenAt] of this.#lastAt) {
      const kept = this.#lastAt.size <= CLIENTS_ON_DEVICE_MAX && seenAt > now - SHARING_WINDOW_MS_MAX;
      if (kept) return;
      this.#forget(oldest);
    }
  }

  /** How many clients but this one were seen after `since`. */
  othersSince(client: Client, since: number): number {
    const all = this.#times.length - firstAfter(this.#times, since);
    return (this.#lastAt.get(client) ?? since) > since ? all - 1 : all;
  }

  #forget(client: Client): void {
    const at = this.#lastAt.get(client);
    if (at === undefined) return;
    this.#lastAt.delete(client);
    this.#times.splice(firstAfter(this.#times, at) - 1, 1);
  }
}

function othersSince<Client>(
  seen: OnlyClient<Client> | SeenClients<Client> | undefined,
  client: Client,
  since: number,
): number {
  if (seen === undefined) return 0;
  if (seen instanceof SeenClients) return seen.othersSince(client, since);
  return seen.at > since && seen.client !== client ? 1 : 0;
}

/** The place of the first of some ordered times that is after `since`; their number when none is. */
function firstAfter(times: readonly number[], since: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) > since) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A Map keeps the order of insertion, so the oldest entries are its first. */
export function forgetOldest(entries: Map<string, unknown>, keep: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= keep) return;
    entries.delete(key);
  }
}
