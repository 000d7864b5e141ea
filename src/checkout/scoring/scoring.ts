import type { Actor } from '#checkout/access/caller.ts';
import type { Metrics } from '#checkout/metrics/metrics.ts';
import type { ReportingListener } from '#checkout/metrics/reporting-listener.ts';
import {
  type CountedOutcome,
  type CountedVerdict,
  type RuleChoice,
  type RuleSource,
  toCountedOutcome,
} from '#checkout/rollout/loaded-rules.ts';
import { readDevice } from '#decision/body-hints.ts';
import { isAttempt } from '#decision/conclude-verdict.ts';
import { type DecisionStanding, decideScore, decideVerdict, type VerdictResult } from '#decision/decide.ts';
import { type Decision, type ScoreAnswer, toVerdictAnswer, type VerdictAnswer } from '#decision/decision.ts';
import { getRecordDictionary } from '#decision/decision-record.ts';
import { type DrawHoldouts, NO_HOLDOUTS } from '#decision/holdout.ts';
import type { NodeSecretIds } from '#decision/payer/attribute-secrets.ts';
import {
  type EndWaitResult,
  endWaitIfAllowed,
  isCurrentWait,
  type OutcomeEffect,
  recordOutcome,
  setBinding,
  setOverride,
} from '#decision/payer/changes.ts';
import type { ClientKey, PlatformName } from '#decision/payer/client-key.ts';
import { type Binding, type ClientState, EVENTS_MAX, type Override } from '#decision/payer/client-state.ts';
import type { PaymentNote } from '#decision/payer/sighting-marks.ts';
import {
  addDeclaredAttributes,
  type Pseudonymizers,
  type ScoreBody,
  toScoreRequest,
  toVerdictRequest,
  type VerdictBody,
} from '#decision/requests.ts';
import { getPlatformSettings, type RuleSet } from '#decision/rules/rule-set.ts';
import { noteScoreToAnswer } from '#decision/score-hints.ts';
import { NO_LISTS, type SharedLists } from '#decision/shared-lists.ts';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import { type ArchivedOrders, PrefetchedOrders } from './archived-orders.ts';
import { type DecideBy, decideByChoice, decideByShadowIfAny } from './chosen-rules.ts';
import {
  ClientUpdates,
  type LoadedClient,
  type MonotonicClock,
  type ResultAndChange,
} from './client-updates.ts';
import {
  countSightings,
  findPaymentToNote,
  hasNoDevicesOrAttributes,
  recordVerdictSightings,
  SIGHTINGS_WITHOUT_DEVICE,
  type SightingsAndOwnMarks,
} from './device-sightings.ts';
import { WaitEndingLimit } from './ended-waits.ts';
import type { ErasureFinder } from './erasure-finder.ts';
import { claimIdempotencyKeyIfAdmitted } from './idempotency-claim.ts';
import { isAskedOnlyByOthers, readOrderOutcomeAndStage } from './known-order.ts';
import { type OrderReport, toJournaledOutcome, toReportWithCurrency } from './order-report.ts';
import { RequestFieldCounts } from './request-field-counts.ts';

export interface ScoringServiceParts extends Pseudonymizers {
  readonly store: Store;
  /** The source of rule sets. Each request asks it once and keeps the answer. */
  readonly ruleSource: RuleSource;
  /** This node's copy of the shared lists. If missing, nobody is on any list. */
  readonly lists?: SharedLists;
  /** Draws who is held out of a rule. If missing, nobody is held out. */
  readonly holdoutDraw?: DrawHoldouts;
  /** The attribute secrets of this node. If missing, every stored pseudonym is used unchanged. */
  readonly secrets?: NodeSecretIds;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly metrics: Metrics;
  /** Receives every attempt and report, to notice when a platform stops reporting. */
  readonly reporting?: ReportingListener;
  /** Finds orders that the store has forgotten. Missing or null if there is no archive. */
  readonly archivedOrders?: Pick<ArchivedOrders, 'find'> | null;
  /** Finds erasures of payers. If missing, no erasure is known. */
  readonly erasures?: Pick<ErasureFinder, 'findLastErasure'>;
  /** The default is the process's own clock. */
  readonly pace?: MonotonicClock;
}

interface VerdictContext {
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  /**
   * Resolves to whether the request may change anything. The client is loaded in the meantime. If missing, the
   * request is admitted.
   */
  readonly admitted?: Promise<boolean>;
}

export interface AnsweredVerdict {
  readonly answer: VerdictAnswer;
  readonly decisionId: string;
  /** Whether this answer was given before under the same Idempotency-Key. */
  readonly replayed: boolean;
}

/** A verdict request with everything that stays the same when it is decided again. */
interface VerdictAsk extends VerdictContext {
  readonly client: ClientKey;
  readonly body: VerdictBody;
  readonly choice: RuleChoice;
}

/** A verdict, and the part that a trial counts. */
interface Verdicts extends VerdictResult, CountedVerdict {
  readonly rules: RuleSet;
}

interface VerdictStepResult extends AnsweredVerdict {
  /** Null if the answer repeats an earlier one. */
  readonly verdicts: Verdicts | null;
}

/** The effect of an outcome report. */
export interface OutcomeResult {
  readonly effect: OutcomeEffect;
  /** Present if another client of the platform, and not the reported one, is known to have asked for the order. */
  readonly askedBy?: 'anotherClient';
}

/** The result of a report after its turn in the client's queue. */
type RecordedOutcome =
  /** The payer was erased after the reported event. */
  | { readonly answer: OutcomeResult; readonly before: null }
  | {
      readonly answer: OutcomeResult;
      readonly before: ClientState;
      /** Epoch ms. */
      readonly now: number;
      /** Null if the report changed nothing. */
      readonly seen: CountedOutcome | null;
      readonly payment: PaymentNote | null;
    };

/** Records the outcomes of a request that reports many. */
export interface OutcomeRecorder {
  /** Announces a report. It is called once, before the report is recorded. */
  expect(report: OrderReport): void;
  record(report: OrderReport): Promise<OutcomeResult>;
}

/** The operations that change a client. Each operation loads the state, decides by a pure function, and commits. */
export class ScoringService {
  readonly #parts: ScoringServiceParts;
  readonly #lists: SharedLists;
  readonly #holdoutDraw: DrawHoldouts;
  readonly #updates: ClientUpdates;
  readonly #endedWaits: WaitEndingLimit;
  readonly #fieldCounts: RequestFieldCounts;

  constructor(parts: ScoringServiceParts) {
    this.#parts = parts;
    this.#lists = parts.lists ?? NO_LISTS;
    this.#holdoutDraw = parts.holdoutDraw ?? NO_HOLDOUTS;
    this.#updates = new ClientUpdates(parts);
    this.#endedWaits = new WaitEndingLimit(parts.store.registers);
    this.#fieldCounts = new RequestFieldCounts(parts);
  }

  /**
   * Answers a verdict request (interface, section 4.2). It claims the Idempotency-Key, loads the client, counts who
   * else was seen on the client's devices, decides, commits, and counts the decision. Every answer is recorded before
   * it is given.
   */
  async verdict(
    platform: PlatformName,
    body: VerdictBody,
    context: VerdictContext,
  ): Promise<AnsweredVerdict> {
    const client = this.#parts.store.clientKeys.of(platform, body.clientIdKey);
    const ask = { ...context, client, body, choice: this.#parts.ruleSource.choose(client) };
    const { idempotencyKey, admitted } = context;
    const also = idempotencyKey === null ? {} : { idempotencyKey };
    const claimed =
      idempotencyKey === null
        ? null
        : claimIdempotencyKeyIfAdmitted(this.#parts.store, { platform, body, idempotencyKey, admitted });
    // If the client cannot be loaded, nobody waits for the claim or handles its rejection.
    claimed?.catch(() => {});
    let seen: SightingsAndOwnMarks | null = null;
    const turn = { operation: 'verdict', client, also, admitted: claimed ?? admitted };
    const decide = async ({ state, now, answer }: LoadedClient) => {
      if (answer !== null) return { result: { ...answer, replayed: true, verdicts: null }, change: null };
      const asking = { client, choice: ask.choice, state, sent: body.attributes, now };
      seen = hasNoDevicesOrAttributes(asking)
        ? SIGHTINGS_WITHOUT_DEVICE
        : await recordVerdictSightings(this.#parts, asking, seen);
      const standing = this.#completeInput({ client, state, sightings: seen.sightings, now });
      return toCommittedVerdict(ask, this.#decide(ask, standing), seen);
    };
    const { verdicts, ...answered } = await this.#updates.runTurn(turn, decide, (unsure) => {
      if (unsure.verdicts !== null) this.#parts.ruleSource.countVerdict(unsure.verdicts, false);
    });
    this.#countVerdict(verdicts);
    this.#fieldCounts.verdict(platform, body, (verdicts ?? ask.choice).rules);
    return answered;
  }

  /** Answers a score request (interface, section 4.1). No counter changes. VerdictContext explains `admitted`. */
  async score(platform: PlatformName, body: ScoreBody, admitted?: Promise<boolean>): Promise<ScoreAnswer> {
    const { clientIdKey } = body;
    const { store, ruleSource, metrics, pseudonym, formerPseudonym } = this.#parts;
    const client = store.clientKeys.of(platform, clientIdKey);
    const device = readDevice(body);
    const request = toScoreRequest(body, pseudonym, formerPseudonym, device);
    const choice = ruleSource.choose(client);
    const requestFor = (rules: RuleSet) =>
      addDeclaredAttributes(request, rules, body.attributes, this.#parts);
    const turn = { operation: 'score', client, admitted };
    let deciding = choice.rules;
    const answer = await this.#updates.runTurn(turn, async ({ state: before, now }) => {
      const hints = noteScoreToAnswer(before, requestFor(choice.rules), now).known();
      const sightings = await countSightings(this.#parts, { client, choice, state: before, hints, now });
      const standing = this.#completeInput({ client, state: before, sightings, now });
      const { rules, result } = decideByChoice(ruleSource, choice, (rules) =>
        decideScore(rules, standing, requestFor(rules)),
      );
      // The networks around an address are stored only with its hint, so the journal leaves them out.
      const { networks: _, ...asTold } = requestFor(rules);
      deciding = rules;
      const { answer, drawnHoldouts, nextState: state } = result;
      const holdout = drawnHoldouts.length === 0 ? {} : { holdout: drawnHoldouts };
      const told = { at: now, platform, clientIdKey, request: asTold, ruleVersion: rules.version, answer };
      return { result: answer, change: { state, entry: { kind: 'score', ...told, ...holdout } } };
    });
    metrics.countScore(answer);
    this.#fieldCounts.score(platform, body, device, deciding);
    return answer;
  }

  /** Creates a recorder for many outcomes. The recorder asks the archive for all their orders in one read. */
  outcomes(platform: PlatformName): OutcomeRecorder {
    const { store, archivedOrders = null } = this.#parts;
    const orders = archivedOrders === null ? null : new PrefetchedOrders(archivedOrders);
    const asked = ({ clientIdKey, orderRef }: OrderReport) => ({
      client: store.clientKeys.of(platform, clientIdKey),
      orderRef,
    });
    return {
      expect: (report) => orders?.expect(asked(report)),
      record: (report) => this.outcome(platform, report, orders).finally(() => orders?.forget(asked(report))),
    };
  }

  /**
   * Records an outcome of an order. An outcome is final: a repeat changes nothing, and a later different one replaces
   * it. A report is accepted even if its client never asked for the order. The result then says whether another
   * client did. A report from before a payer's erasure does not create the payer again.
   */
  async outcome(
    platform: PlatformName,
    report: OrderReport,
    archivedOrders: Pick<ArchivedOrders, 'find'> | null = this.#parts.archivedOrders ?? null,
  ): Promise<OutcomeResult> {
    const { clientIdKey, orderRef } = report;
    const { store, ruleSource, metrics, reporting } = this.#parts;
    const turn = {
      operation: 'outcome',
      client: store.clientKeys.of(platform, clientIdKey),
      also: { orderRef },
    };
    const { currency } = getPlatformSettings(ruleSource.choose(turn.client).rules, platform);
    const asked = { client: turn.client, orderRef };
    const record = async (moment: LoadedClient): Promise<ResultAndChange<RecordedOutcome>> => {
      const { state: before, now } = moment;
      if (before.firstSeenAt === null && (await this.#isBeforeErasure(turn.client, report)))
        return { result: { answer: { effect: 'unknownPayer' }, before: null }, change: null };
      const { known, orderStage } = await readOrderOutcomeAndStage(store, asked, moment, archivedOrders);
      const isStrange = orderStage === 'notAsked' && (await isAskedOnlyByOthers(store, asked));
      const inMoney = toReportWithCurrency(report, before, known, currency);
      const change = recordOutcome(before, known, inMoney, now, orderStage);
      const { effect, state, order, displaced, report: taken } = change;
      const answer: OutcomeResult = { effect, ...(isStrange ? { askedBy: 'anotherClient' } : {}) };
      const seen = state === before ? null : toCountedOutcome(turn.client, before, state);
      const result = { answer, before, now, seen, payment: findPaymentToNote(change, now) };
      if (seen === null) return { result, change: null };
      const told = { at: now, platform, clientIdKey, orderRef, ...toJournaledOutcome(order, taken) };
      const entry = { kind: 'outcome', ...told } as const;
      const kept = { orders: displaced, keptMs: this.#displacedMs };
      return { result, change: { state, entry, displaced: kept } };
    };
    const recorded = await this.#updates.runTurn(turn, record, (unsure) => {
      if (unsure.before !== null && unsure.seen !== null) ruleSource.countOutcome(unsure.seen, false);
    });
    const { answer } = recorded;
    metrics.count('scoring_outcomes_total', { outcome: report.outcome, effect: answer.effect });
    if (answer.askedBy !== undefined) metrics.count('scoring_outcomes_of_another_client_total', {});
    if (recorded.before === null) return answer;
    const { before, now, seen, payment } = recorded;
    reporting?.reported(platform, before, orderRef, now);
    if (seen !== null) ruleSource.countOutcome(seen, true);
    if (payment !== null) await store.notePayment({ client: turn.client, ...payment });
    return answer;
  }

  /** Binds the client to a requisite. If `binding` is null, unbinds the client. */
  async setBinding(
    platform: PlatformName,
    clientIdKey: string,
    binding: Binding | null,
  ): Promise<BeforeAndAfter<Binding>> {
    const turn = { operation: 'binding', client: this.#parts.store.clientKeys.of(platform, clientIdKey) };
    return this.#updates.runTurn(turn, async ({ state: before, now }) => {
      const state = setBinding(before, binding, now);
      const result = { before: before.binding, after: binding };
      if (state === before) return { result, change: null };
      const entry = { kind: 'binding', at: now, platform, clientIdKey, binding } as const;
      return { result, change: { state, entry } };
    });
  }

  /**
   * Sets the group that a person gave to a payer, which outweighs the rules. If `override` is null, lifts the
   * override. `who` is the key as the audit names it.
   */
  async setOverride(
    platform: PlatformName,
    clientIdKey: string,
    override: Omit<Override, 'at'> | null,
    who: string,
  ): Promise<BeforeAndAfter<Override>> {
    const turn = { operation: 'override', client: this.#parts.store.clientKeys.of(platform, clientIdKey) };
    return this.#updates.runTurn(turn, async ({ state: before, now }) => {
      const dated = override === null ? null : { ...override, at: now };
      const state = setOverride(before, dated, now);
      const result = { before: before.override, after: dated };
      if (state === before) return { result, change: null };
      const entry = { kind: 'override', at: now, platform, clientIdKey, override: dated, who } as const;
      return { result, change: { state, entry } };
    });
  }

  /**
   * Ends at once the wait that a decision imposed. The payer's page does not learn of it, so a person has to tell the
   * payer to ask again.
   */
  async endWait(
    { platform, clientIdKey, decisionId, seq, ladderAfter }: Decision,
    reason: string,
    { id, owner, text: who }: Actor,
  ): Promise<WaitEndEffect> {
    const client = this.#parts.store.clientKeys.of(platform, clientIdKey);
    const wait = { seq, waitUntil: ladderAfter.waitUntil };
    const effect = await this.#updates.runTurn<WaitEndEffect>(
      { operation: 'waitEnd', client },
      async ({ state, now }) => {
        const end = endWaitIfAllowed(state, wait, now);
        if (end.effect !== 'ended') return { result: end.effect, change: null };
        if (!(await this.#endedWaits.admit(owner ?? id, decisionId, now)))
          return { result: 'tooManyOfPerson', change: null };
        const entry = { kind: 'waitEnded', at: now, platform, clientIdKey, decisionId, reason, who } as const;
        return { result: end.effect, change: { state: end.state, entry } };
      },
    );
    if (effect === 'tooManyOfPayer' || effect === 'tooManyOfPerson')
      this.#parts.metrics.noteTooManyWaitsEnded(who);
    return effect;
  }

  /** Finds the decision that imposed the current wait. Returns null if it is not among the newest decisions. */
  async imposedWait(platform: PlatformName, clientIdKey: string): Promise<Decision | null> {
    const client = this.#parts.store.clientKeys.of(platform, clientIdKey);
    const { state } = await this.#parts.store.load(client);
    const newest = await this.#parts.store.decisionsOfClient(client, EVENTS_MAX);
    const isDue = ({ verdict, seq, ladderAfter: { waitUntil } }: Decision) =>
      verdict === 'WAIT' && isCurrentWait(state, { seq, waitUntil });
    return newest.find(isDue) ?? null;
  }

  async erase(platform: PlatformName, clientIdKey: string): Promise<void> {
    const client = this.#parts.store.clientKeys.of(platform, clientIdKey);
    await this.#updates.runAlone(client, () => this.#parts.store.erase(client));
  }

  /** Whether a report about a payer without a state is older than the erasure. An undated report is taken as older. */
  async #isBeforeErasure(client: ClientKey, { occurredAt }: OrderReport): Promise<boolean> {
    const erasedAt = (await this.#parts.erasures?.findLastErasure(client)) ?? null;
    return erasedAt !== null && (occurredAt ?? Number.NEGATIVE_INFINITY) <= erasedAt;
  }

  get #displacedMs(): number {
    return this.#parts.archivedOrders ? RETENTION.displacedOrderMs : RETENTION.decisionMs;
  }

  #decide({ choice, body, requestId }: VerdictAsk, standing: DecisionStanding): Verdicts {
    const decideBy: DecideBy<VerdictResult> = (rules, arm) => {
      const request = toVerdictRequest(body, requestId, arm, choice.draw);
      return decideVerdict(
        rules,
        standing,
        addDeclaredAttributes(request, rules, body.attributes, this.#parts),
      );
    };
    const { rules, result } = decideByChoice(this.#parts.ruleSource, choice, decideBy);
    const shadowed = decideByShadowIfAny(choice, decideBy);
    return { ...result, rules, shadowed, stageBefore: standing.state.stage };
  }

  #countVerdict(verdicts: Verdicts | null): void {
    const { metrics, ruleSource, reporting } = this.#parts;
    if (verdicts === null) metrics.count('scoring_idempotent_replays_total', {});
    else {
      const { decision, nextState } = verdicts;
      metrics.countVerdict(decision);
      if (isAttempt(decision.verdict)) reporting?.granted(decision.platform, nextState);
      ruleSource.countVerdict(verdicts, true);
    }
  }

  #completeInput(standing: Omit<DecisionStanding, 'lists' | 'holdoutDraw' | 'secrets'>): DecisionStanding {
    return {
      ...standing,
      lists: this.#lists,
      holdoutDraw: this.#holdoutDraw,
      secretIds: this.#parts.secrets,
    };
  }
}

/** Builds the answer to a verdict request and everything that is committed with it. */
function toCommittedVerdict(
  { idempotencyKey }: VerdictAsk,
  verdicts: Verdicts,
  { attributes: notedAttributes }: SightingsAndOwnMarks,
): ResultAndChange<VerdictStepResult> {
  const { rules, decision, nextState: state } = verdicts;
  const { at, platform, clientIdKey, decisionId } = decision;
  const entry = { kind: 'verdict', at, platform, clientIdKey, decision } as const;
  const byKey = idempotencyKey === null ? {} : { idempotencyKey };
  const result = { answer: toVerdictAnswer(decision), decisionId, replayed: false, verdicts };
  const shape = getRecordDictionary(rules);
  return { result, change: { state, entry, decision, shape, notedAttributes, ...byKey } };
}

/** The effect of a request to end a wait. */
type WaitEndEffect = EndWaitResult['effect'] | 'tooManyOfPerson';

/** The value before and after a change. Null if there is no value. */
export interface BeforeAndAfter<T> {
  readonly before: T | null;
  readonly after: T | null;
}
