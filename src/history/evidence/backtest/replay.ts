import { isAttempt } from '#decision/conclude-verdict.ts';
import { type DecisionStanding, decideWithoutRecord } from '#decision/decide.ts';
import {
  addClientMarks,
  type DeviceKind,
  type DeviceSharingCounts,
  NOBODY_SEEN,
  type NullableFactValue,
} from '#decision/facts/fact.ts';
import { type DrawHoldouts, type DrawnHoldout, selectSkippedHoldouts } from '#decision/holdout.ts';
import {
  endCurrentWait,
  type OutcomeChange,
  reapplyOutcome,
  setBinding,
  setOverride,
} from '#decision/payer/changes.ts';
import { type ClientKey, convertClientNumberToHash } from '#decision/payer/client-key.ts';
import {
  type ClientGroup,
  type ClientState,
  chooseEventTime,
  UNKNOWN_CLIENT_STATE,
} from '#decision/payer/client-state.ts';
import { getKnownHints } from '#decision/payer/hints.ts';
import type { DatedReport, KnownOrder, OrderStage } from '#decision/payer/order.ts';
import { getSightingMarks, type SightingMarks } from '#decision/payer/sighting-marks.ts';
import type { FactRef } from '#decision/rules/condition.ts';
import { getPlatformSettings, type RuleSet, type Verdict } from '#decision/rules/rule-set.ts';
import { applyScoreWithoutAnswer } from '#decision/score-hints.ts';
import { deleteOldest } from '#decision/simulation.ts';
import type { ReplayInput, VerdictInput } from './input.ts';

export type ChooseRulesOfRequest = (asked: Pick<VerdictInput, 'ruleVersion' | 'digest'>) => RuleSet;

/** The answer of one replay to a request, and the facts that its rules saw. */
export interface ReplayAnswer {
  readonly verdict: Verdict;
  /** The rule's name, or `otherwise`. */
  readonly rule: string;
  readonly clientGroup: ClientGroup;
  readonly isBot: boolean;
  /** The level of the ladder of a WAIT. It is 0 for every other verdict. */
  readonly level: number;
  /** The length of a WAIT. Null for every other verdict. */
  readonly waitSeconds: number | null;
  /** The rules that matched and were skipped. */
  readonly heldOut: readonly DrawnHoldout[];
  /** A value for each of the rule set's facts, in the sequence of the facts. */
  readonly values: readonly NullableFactValue[];
  /**
   * Facts that the rules compare with constants, but whose values are pseudonyms under a secret that is not
   * available. If there are any, the answer is not known.
   */
  readonly incomparable: readonly FactRef[];
}

interface ReplayedOrder {
  /** Whether a recorded request asked for the order. */
  asked: boolean;
  /** Whether a recorded request for the order was granted then. */
  grantedThen: boolean;
  /** Whether each replay granted the order. */
  readonly granted: boolean[];
  /** What each replay knows of the order. Null before the first report. */
  readonly known: (KnownOrder | null)[];
}

interface Payer {
  readonly key: ClientKey;
  /** The state in each replay. Replays with the same past share one object. */
  readonly states: ClientState[];
  /** The last ORDERS_MAX orders, oldest first. */
  readonly orders: Map<string, ReplayedOrder>;
}

/**
 * The most orders of one client that are remembered for their outcomes. The limit bounds the memory of a long replay.
 */
const ORDERS_MAX = 100;

/**
 * Replays the same inputs side by side, each replay with its own rules and from an empty state. A different verdict
 * changes the ladder and the counters of later requests. Inputs must come client by client, and the inputs of a
 * client in the sequence in which they happened. A replayed client is forgotten, so that memory does not grow with
 * the history.
 */
export class SideBySideReplays {
  readonly #rules: readonly ChooseRulesOfRequest[];
  readonly #currencyThen: (asked: VerdictInput) => string;
  readonly #holdoutDraw: DrawHoldouts;
  #payer: Payer | null = null;

  /**
   * `rulesThen` are the rule sets that decided when the inputs were recorded. A request in the currency of such a
   * rule set is replayed as one without a currency, so that each replay uses the currency of its own rule set.
   */
  constructor(
    rules: readonly ChooseRulesOfRequest[],
    rulesThen: ChooseRulesOfRequest,
    holdoutDraw: DrawHoldouts,
  ) {
    this.#rules = rules;
    this.#holdoutDraw = holdoutDraw;
    this.#currencyThen = (asked) => getPlatformSettings(rulesThen(asked), asked.platform).currency;
  }

  /**
   * Replays all inputs in turn. `visit` receives each request with the answer of each replay. `between` is called
   * after every batch, and may end the work by throwing.
   */
  async replayAll(
    batches: AsyncIterable<readonly ReplayInput[]>,
    visit: (request: VerdictInput, answers: readonly ReplayAnswer[]) => void,
    between: () => void,
  ): Promise<void> {
    for await (const inputs of batches) {
      for (const input of inputs) {
        const answers = this.replay(input);
        if (input.kind === 'verdict' && answers !== null) visit(input, answers);
      }
      between();
    }
  }

  /** Replays an input. Returns the answer of each replay to a verdict request. Returns null for any other input. */
  replay(input: ReplayInput): readonly ReplayAnswer[] | null {
    const payer = this.#payerOf(input);
    const change = (next: (state: ClientState) => ClientState) => {
      const nextOnce = callOncePerState(next);
      for (const [place, state] of payer.states.entries()) payer.states[place] = nextOnce(state);
      return null;
    };
    switch (input.kind) {
      case 'score':
        return change((state) => applyScoreWithoutAnswer(state, input.request, input.at));
      case 'verdict':
        return this.#ask(payer, input);
      case 'outcome':
        this.#tell(payer, input);
        return null;
      case 'binding':
        return change((state) => setBinding(state, input.binding, input.at));
      case 'override':
        return change((state) => setOverride(state, input.override, input.at));
      case 'waitEnded':
        return change((state) => endCurrentWait(state, state.seq, input.at));
      default:
        return input satisfies never;
    }
  }

  #ask(payer: Payer, asked: VerdictInput): readonly ReplayAnswer[] {
    const standing = this.#standingOf(payer, asked);
    const order = this.#order(payer, asked.orderRef);
    order.asked = true;
    if (isAttempt(asked.verdict)) order.grantedThen = true;
    const judged: Judged[] = [];
    return this.#rules.map((rulesOf, place) => {
      const rules = rulesOf(asked);
      const state = payer.states[place] ?? UNKNOWN_CLIENT_STATE;
      const known = judged.find((other) => other.rules === rules && other.state === state);
      const { answer, nextState } =
        known ?? this.#judge(judged, rules, { ...standing(rules, state), state }, asked);
      payer.states[place] = nextState;
      if (isAttempt(answer.verdict)) order.granted[place] = true;
      return answer;
    });
  }

  #judge(judged: Judged[], rules: RuleSet, standing: DecisionStanding, asked: VerdictInput): Judged {
    const { state } = standing;
    const currency = asked.currency === this.#currencyThen(asked) ? null : asked.currency;
    const { assessment, concluded, nextState } = decideWithoutRecord(rules, standing, { ...asked, currency });
    const { verdict, rule, waitSeconds, ladderAfter } = concluded;
    const answer: ReplayAnswer = {
      values: assessment.values,
      incomparable: assessment.incomparableFacts,
      verdict,
      rule,
      clientGroup: assessment.clientGroup,
      isBot: assessment.isBot,
      level: verdict === 'WAIT' ? ladderAfter.level : 0,
      waitSeconds,
      heldOut: listHeldOutRules(assessment.drawnHoldouts, concluded.drawnHoldouts),
    };
    const made = { rules, state, answer, nextState };
    judged.push(made);
    return made;
  }

  /** Prepares everything from which the replays decide, apart from their own states. */
  #standingOf({ key, states }: Payer, { sightings, at }: VerdictInput) {
    const [state = UNKNOWN_CLIENT_STATE] = states;
    const hints = getKnownHints(state.hints, chooseEventTime(state, at));
    const shown = { fingerprint: hints.fingerprints.length > 0, ip: hints.ips.length > 0 };
    const seen = (kind: DeviceKind, { sharing }: RuleSet, own: SightingMarks) => {
      const { windowsMs, marks, verdictWindowsMs } = sharing[kind];
      const counts = (windowMs: number) => {
        const seen = addClientMarks(sightings[kind].get(windowMs) ?? SEEN_ALONE, own, marks);
        return verdictWindowsMs.includes(windowMs) ? seen : { ...seen, verdicts: 0 };
      };
      return new Map(shown[kind] ? windowsMs.map((windowMs) => [windowMs, counts(windowMs)]) : []);
    };
    return (rules: RuleSet, from: ClientState): Omit<DecisionStanding, 'state'> => ({
      client: key,
      sightings: {
        fingerprint: seen('fingerprint', rules, getSightingMarks(from, at)),
        ip: seen('ip', rules, getSightingMarks(from, at)),
        ...(sightings.attributes === undefined ? {} : { attributes: sightings.attributes }),
      },
      holdoutDraw: this.#holdoutDraw,
      now: at,
    });
  }

  #tell(payer: Payer, { orderRef, report, orderStage, at }: Extract<ReplayInput, { kind: 'outcome' }>): void {
    const order = this.#order(payer, orderRef);
    const changes: ReportedChange[] = [];
    for (const place of this.#rules.keys()) {
      const here = findReplayOrderStage(order, order.granted[place] === true, orderStage, report);
      if (here === null) continue;
      const from = payer.states[place] ?? UNKNOWN_CLIENT_STATE;
      const known = order.known[place] ?? null;
      const isSame = (other: ReportedChange) =>
        other.from === from && other.known === known && other.orderStage === here;
      const same = changes.find(isSame);
      const made = same ?? reapplyOutcome(from, known, { ...report, orderRef }, at, here);
      if (same === undefined) changes.push({ ...made, from, known, orderStage: here });
      payer.states[place] = made.state;
      order.known[place] = made.order;
    }
  }

  #payerOf({ platform, clientIdKey, clientHash }: ReplayInput): Payer {
    const before = this.#payer;
    if (before?.key.clientIdKey === clientIdKey && before.key.platform === platform) return before;
    const states = this.#rules.map(() => UNKNOWN_CLIENT_STATE);
    const key = { platform, clientIdKey, hash: convertClientNumberToHash(clientHash) };
    const payer = { key, states, orders: new Map() };
    this.#payer = payer;
    return payer;
  }

  #order({ orders }: Payer, orderRef: string): ReplayedOrder {
    const known = orders.get(orderRef);
    if (known !== undefined) return known;
    const order: ReplayedOrder = { asked: false, grantedThen: false, granted: [], known: [] };
    orders.set(orderRef, order);
    deleteOldest(orders, ORDERS_MAX);
    return order;
  }
}

/**
 * Decides how far an order had come in a replay when its outcome was reported. Returns null if the report could
 * only follow a grant and this replay granted nothing. The report is then skipped. A report on an order that was not
 * granted in the history needs no grant.
 */
function findReplayOrderStage(
  { asked, grantedThen }: ReplayedOrder,
  granted: boolean,
  then: OrderStage,
  { outcome }: DatedReport,
): OrderStage | null {
  if (!asked) return then;
  // The order had been turned away when the failure was reported, so the payer could not pay it. The report says
  // nothing about the payer in any replay.
  if (granted) return then === 'turnedAway' && outcome === 'UNPAID' ? then : 'granted';
  return grantedThen && then !== 'turnedAway' ? null : then;
}

const SEEN_ALONE: DeviceSharingCounts = { ...NOBODY_SEEN, clients: 1, verdicts: 1 };

interface ReportedChange extends OutcomeChange {
  readonly from: ClientState;
  readonly known: KnownOrder | null;
  readonly orderStage: OrderStage;
}

/** Lists the rules of both lists that were skipped. In most cases both lists are empty, and nothing is copied. */
function listHeldOutRules(
  one: readonly DrawnHoldout[],
  other: readonly DrawnHoldout[],
): readonly DrawnHoldout[] {
  return one.length + other.length === 0 ? one : selectSkippedHoldouts([...one, ...other]);
}

interface Judged {
  readonly rules: RuleSet;
  readonly state: ClientState;
  readonly answer: ReplayAnswer;
  readonly nextState: ClientState;
}

/** Wraps a function so that it runs once for each state. Replays that share a state still share it afterwards. */
function callOncePerState(next: (state: ClientState) => ClientState): (state: ClientState) => ClientState {
  const made = new Map<ClientState, ClientState>();
  return (state) => {
    return made.getOrInsertComputed(state, () => next(state));
  };
}
