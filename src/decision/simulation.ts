import { isAttempt } from './conclude-verdict.ts';
import { type DecisionStanding, decideScore, decideVerdict, type ScoreResult } from './decide.ts';
import type { Decision } from './decision.ts';
import { DeviceSightingsInMemory, type ShownDevices } from './device-sightings.ts';
import { listCountedAttributeValues } from './facts/attribute.ts';
import type { AskedAttribute, Sightings } from './facts/fact.ts';
import { type DrawHoldouts, type IsHeldOut, NO_HOLDOUTS } from './holdout.ts';
import { type OutcomeEffect, recordOutcome, setBinding, setOverride } from './payer/changes.ts';
import { type ClientKey, ClientKeys, type PlatformName } from './payer/client-key.ts';
import {
  type Binding,
  type ClientState,
  chooseEventTime,
  type Override,
  toShortHash,
  UNKNOWN_CLIENT_STATE,
} from './payer/client-state.ts';
import { getKnownHints } from './payer/hints.ts';
import { type ReportedOutcome, toAskedOrderStage } from './payer/order.ts';
import { decodeOrder, encodeOrder } from './payer/order-text.ts';
import { getSightingMarks, toPaymentNote } from './payer/sighting-marks.ts';
import { roundTripState } from './payer/state-document.ts';
import type { ScoreRequest, VerdictRequest } from './requests.ts';
import type { RuleSet } from './rules/rule-set.ts';
import { noteScoreToAnswer } from './score-hints.ts';
import { NO_LISTS, type SharedLists } from './shared-lists.ts';

interface SimulatedPayer {
  readonly key: ClientKey;
  state: ClientState;
  /**
   * The stored text of each order that the state has dropped, by the token of the order. The order that was dropped
   * first comes first.
   */
  readonly orders: Map<string, string>;
  /** Whether a requisite was granted for each of the newest requested orders, by the token of the order. */
  readonly granted: Map<string, boolean>;
}

/** A simulation stores nothing, so its salt need not be a secret. */
const SIMULATED_CLIENTS = new ClientKeys('-'.repeat(22));

/** How many older orders of a client can still be corrected. The limit bounds the memory of a long replay. */
const ORDERS_MAX = 100;

/**
 * Runs a rule set in memory on inputs that have times of their own. A simulation takes the same steps as
 * `checkout/scoring/scoring.ts`, without a store. All data goes through the stored forms, so a simulation knows
 * nothing that a store would forget. The tests of rules use simulations. The memory that a simulation needs grows
 * with the number of clients and devices, not with the number of their requests.
 */
export class Simulation {
  readonly rules: RuleSet;
  readonly #platform: PlatformName;
  readonly #lists: SharedLists;
  #holdoutDraw: DrawHoldouts = NO_HOLDOUTS;
  readonly #payers = new Map<string, SimulatedPayer>();
  readonly #devices = new DeviceSightingsInMemory();

  constructor(rules: RuleSet, platform: PlatformName, lists: SharedLists = NO_LISTS) {
    this.rules = rules;
    this.#platform = platform;
    this.#lists = lists;
  }

  /** Sets who is held out of which rules from now on. Before the first call nobody is held out. */
  holdOut(isHeldOut: IsHeldOut): void {
    this.#holdoutDraw = () => isHeldOut;
  }

  score(clientIdKey: string, request: ScoreRequest, now: number): ScoreResult {
    const payer = this.#payer(clientIdKey);
    const known = noteScoreToAnswer(payer.state, request, chooseEventTime(payer.state, now)).known();
    const sightings = this.#sightings(
      payer,
      known,
      now,
      listCountedAttributeValues(this.rules.sharing, known),
    );
    const result = decideScore(this.rules, this.#standing(payer, sightings, now), request);
    payer.state = roundTripState(result.nextState);
    return result;
  }

  verdict(clientIdKey: string, request: VerdictRequest, now: number): Decision {
    const payer = this.#payer(clientIdKey);
    const hints = getKnownHints(payer.state.hints, chooseEventTime(payer.state, now));
    this.#devices.recordDevices(
      clientIdKey,
      hints,
      now,
      getSightingMarks(payer.state, now),
      this.rules.sharing,
    );
    const values = listCountedAttributeValues(this.rules.sharing, hints, () => request);
    this.#devices.recordValues(clientIdKey, values, now);
    const sightings = this.#sightings(payer, hints, now, values);
    const standing = this.#standing(payer, sightings, now);
    const { decision, nextState } = decideVerdict(this.rules, standing, request);
    payer.state = roundTripState(nextState);
    const order = toShortHash(request.orderRef);
    payer.granted.set(order, isAttempt(decision.verdict) || payer.granted.get(order) === true);
    deleteOldest(payer.granted, ORDERS_MAX);
    return decision;
  }

  outcome(clientIdKey: string, orderRef: string, report: ReportedOutcome, now: number): OutcomeEffect {
    const payer = this.#payer(clientIdKey);
    const older = payer.orders.get(toShortHash(orderRef));
    const reported = { ...report, orderRef };
    const known = older === undefined ? null : decodeOrder(older);
    const granted = payer.granted.get(toShortHash(orderRef));
    const orderStage = granted === undefined ? 'notAsked' : toAskedOrderStage(granted);
    const change = recordOutcome(payer.state, known, reported, now, orderStage);
    const { effect, state, displaced } = change;
    payer.state = roundTripState(state);
    const payment = toPaymentNote(change, now);
    if (payment !== null) this.#devices.notePayment(clientIdKey, payment.since, payment.isUnpaid);
    for (const order of displaced) {
      payer.orders.delete(order.token);
      payer.orders.set(order.token, encodeOrder(order));
    }
    deleteOldest(payer.orders, ORDERS_MAX);
    return effect;
  }

  bind(clientIdKey: string, binding: Binding | null, now: number): void {
    const payer = this.#payer(clientIdKey);
    payer.state = roundTripState(setBinding(payer.state, binding, now));
  }

  override(clientIdKey: string, override: Override | null, now: number): void {
    const payer = this.#payer(clientIdKey);
    payer.state = roundTripState(setOverride(payer.state, override, now));
  }

  #sightings(
    { key, state }: SimulatedPayer,
    devices: ShownDevices,
    now: number,
    values: readonly AskedAttribute[],
  ): Sightings {
    const marks = getSightingMarks(state, now);
    const seen = this.#devices.countClientsOnDevices(
      key.clientIdKey,
      devices,
      this.rules.sharing,
      now,
      marks,
    );
    if (values.length === 0) return seen;
    return { ...seen, attributes: this.#devices.countClientsWithValues(key.clientIdKey, values, now) };
  }

  #payer(clientIdKey: string): SimulatedPayer {
    const known = this.#payers.get(clientIdKey);
    if (known !== undefined) return known;
    const payer: SimulatedPayer = {
      key: SIMULATED_CLIENTS.of(this.#platform, clientIdKey),
      state: UNKNOWN_CLIENT_STATE,
      orders: new Map(),
      granted: new Map(),
    };
    this.#payers.set(clientIdKey, payer);
    return payer;
  }

  #standing({ key, state }: SimulatedPayer, sightings: Sightings, now: number): DecisionStanding {
    return { client: key, state, sightings, lists: this.#lists, holdoutDraw: this.#holdoutDraw, now };
  }
}

/** Deletes the oldest entries. A Map keeps the sequence of insertion, so its first entries are the oldest. */
export function deleteOldest(entries: Map<string, unknown>, keep: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= keep) return;
    entries.delete(key);
  }
}
