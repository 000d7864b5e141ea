import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordOutcome, setBinding, setOverride } from './client/changes.ts';
import { type ClientKey, clientKey, type PlatformName, parseDecisionId } from './client/client-key.ts';
import type { Binding, ClientState, Hints, Override } from './client/client-state.ts';
import type { OrderOutcome, OutcomeEffect } from './client/outcomes.ts';
import { ClientQueue } from './client-queue.ts';
import type { Assessment } from './decision/assess.ts';
import { decideScore, decideVerdict, factsNow, type VerdictResult } from './decision/decide.ts';
import {
  type Arm,
  type Decision,
  type ScoreAnswer,
  type VerdictAnswer,
  verdictAnswer,
} from './decision/decision.ts';
import type { DecisionFilter } from './decision/decision-filter.ts';
import {
  type Pseudonym,
  type ScoreBody,
  scoreRequest,
  type VerdictBody,
  verdictRequest,
} from './decision/requests.ts';
import { NO_SIGHTINGS, type Sightings } from './facts/fact.ts';
import { currentHints } from './facts/hints.ts';
import type { Metrics } from './metrics.ts';
import { type RuleChoice, type RuleSource, sharingWindowsMs } from './rollout/rule-source.ts';
import type { RuleSet } from './rules/rule-set.ts';
import type { FoundDecisions } from './state/decision-search.ts';
import type { Change, ClientJournal, LoadAlso, Snapshot, Store } from './state/store.ts';

export interface ServiceParts {
  readonly store: Store;
  /** Asked once a request; the request keeps to the answer. */
  readonly ruleSource: RuleSource;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly pseudonym: Pseudonym;
  readonly metrics: Metrics;
  /** The process's own when absent; a simulation brings one that a seed repeats. */
  readonly pace?: Pace;
}

/** How a process feels time pass, apart from what the clock says. */
export interface Pace {
  /** Never runs backwards, ms. */
  readonly monotonicMs: () => number;
  /** Keeps nodes that lost a race from meeting again at once. */
  readonly pauseAfterRace: () => Promise<void>;
}

export interface VerdictContext {
  readonly requestId: string;
  readonly idempotencyKey: string | null;
}

export interface AnsweredVerdict {
  readonly answer: VerdictAnswer;
  readonly decisionId: string;
  /** The answer is the one that was given before under the same Idempotency-Key. */
  readonly replayed: boolean;
}

interface DecidedVerdict extends AnsweredVerdict {
  /** Null when the answer is an earlier one. */
  readonly decided: (VerdictResult & { readonly shadowed?: Decision | null }) | null;
}

/** What came out of a request, and what it changes; nothing to commit when `change` is null. */
interface Step<T> {
  readonly result: T;
  readonly change: Omit<Change, 'client' | 'stamp'> | null;
}

export interface OutcomeReport {
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly outcome: OrderOutcome['outcome'];
  readonly cause: OrderOutcome['cause'];
  /** Epoch ms; null means now. */
  readonly occurredAt: number | null;
}

/** What the platform may see of a client. */
export interface ClientView {
  readonly state: ClientState;
  readonly facts: Assessment;
  readonly rules: RuleSet;
  readonly decisions: readonly Decision[];
  /** The moment of the view, epoch ms. */
  readonly now: number;
}

/** An Idempotency-Key came with another request than the one it was first used for. */
export class IdempotencyKeyReused extends Error {
  override readonly name = 'IdempotencyKeyReused';
}

/** More of one client's requests are waiting than is sane, or they waited too long. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting';
}

/** A request that has not begun to decide after this long is not begun any more. */
const REQUEST_DEADLINE_MS = 2000;
const MAX_WAITING_PER_CLIENT = 200;

/** A lost race is decided again; losing this often means that something else is wrong. */
const MAX_TRIES = 40;
const MAX_JITTER_MS = 4;

const PROCESS_PACE: Pace = {
  monotonicMs: () => performance.now(),
  pauseAfterRace: () => sleep(Math.random() * MAX_JITTER_MS),
};

const RECENT_DECISIONS = 20;

/** The operations of the service: each loads state, lets the pure core decide, and commits. */
export class ScoringService {
  readonly #parts: ServiceParts;
  readonly #queue = new ClientQueue(MAX_WAITING_PER_CLIENT);

  constructor(parts: ServiceParts) {
    this.#parts = parts;
  }

  /** Contract, section 4.1. Changes no counter of the client. */
  async score(platform: PlatformName, body: ScoreBody): Promise<ScoreAnswer> {
    const client = clientKey(platform, body.clientIdKey);
    const request = scoreRequest(body, this.#parts.pseudonym);
    const choice = this.#parts.ruleSource.choose(client);
    const answer = await this.#change('score', client, {}, async ({ state }) => {
      const now = this.#parts.clock();
      const sightings = await this.#sightings(choice, client, request, now, null);
      const { rules, result } = this.#decideWith(choice, (rules) =>
        decideScore(rules, client, state, sightings, request, now),
      );
      const { answer, nextState } = result;
      const entry = {
        kind: 'score',
        at: nextState.lastAt,
        platform,
        clientIdKey: body.clientIdKey,
        request,
        ruleVersion: rules.version,
        answer,
      } as const;
      return { result: answer, change: { state: nextState, entry } };
    });
    this.#parts.metrics.score(answer);
    return answer;
  }

  /** Contract, section 4.2. Every answer is recorded before it is given. */
  async verdict(
    platform: PlatformName,
    body: VerdictBody,
    context: VerdictContext,
  ): Promise<AnsweredVerdict> {
    const client = clientKey(platform, body.clientIdKey);
    if (context.idempotencyKey !== null) await this.#claim(platform, body, context.idempotencyKey);
    return this.#verdict(client, body, context);
  }

  /** An outcome is final for its order: a repeat changes nothing, a later different one supersedes. */
  async outcome(platform: PlatformName, report: OutcomeReport): Promise<OutcomeEffect> {
    const client = clientKey(platform, report.clientIdKey);
    const { orderRef, outcome, cause } = report;
    const effect = await this.#change('outcome', client, { orderRef }, async (snapshot) => {
      const now = this.#now(snapshot);
      const reported = { outcome, cause, occurredAt: report.occurredAt ?? now };
      const { effect, state, order } = recordOutcome(snapshot.state, orderRef, snapshot.order, reported, now);
      if (effect === 'unchanged' || effect === 'stale') return { result: effect, change: null };
      const entry = {
        kind: 'outcome',
        at: now,
        platform,
        clientIdKey: client.clientIdKey,
        orderRef,
        order,
      } as const;
      return { result: effect, change: { state, entry, outcome: { orderRef, order } } };
    });
    this.#parts.metrics.outcome(outcome, effect);
    return effect;
  }

  /** Binds the client to a requisite, or with null unbinds it. */
  async setBinding(platform: PlatformName, clientIdKey: string, binding: Binding | null): Promise<void> {
    await this.#change('binding', clientKey(platform, clientIdKey), {}, async (snapshot) => {
      const now = this.#now(snapshot);
      const entry = { kind: 'binding', at: now, platform, clientIdKey, binding } as const;
      return { result: undefined, change: { state: setBinding(snapshot.state, binding, now), entry } };
    });
  }

  /** Puts a person's decision about the client before what the rules count, or with null lifts it. */
  async setOverride(
    platform: PlatformName,
    clientIdKey: string,
    override: Omit<Override, 'at'> | null,
  ): Promise<Override | null> {
    return this.#change('override', clientKey(platform, clientIdKey), {}, async (snapshot) => {
      const now = this.#now(snapshot);
      const dated = override === null ? null : { ...override, at: now };
      const entry = { kind: 'override', at: now, platform, clientIdKey, override: dated } as const;
      return { result: dated, change: { state: setOverride(snapshot.state, dated, now), entry } };
    });
  }

  /** Null when nothing is known of the client. */
  async client(platform: PlatformName, clientIdKey: string): Promise<ClientView | null> {
    const client = clientKey(platform, clientIdKey);
    const { state, stamp } = await this.#parts.store.load(client);
    if (stamp.raw === null) return null;
    const choice = this.#parts.ruleSource.choose(client);
    const { rules } = choice;
    const now = this.#parts.clock();
    const device = currentHints(state.hints, now);
    const [sightings, decisions] = await Promise.all([
      this.#sightings(choice, client, device, now, null),
      this.#parts.store.decisionsOfClient(client, RECENT_DECISIONS),
    ]);
    return { state, facts: factsNow(rules, client, state, sightings, now), rules, decisions, now };
  }

  /**
   * What happened to a client, newest first; null when nothing is known of it. Complete when it begins
   * with the first contact: the journal forgets its oldest entries earlier than the state.
   */
  async history(platform: PlatformName, clientIdKey: string, limit: number): Promise<ClientJournal | null> {
    const client = clientKey(platform, clientIdKey);
    const { state, stamp } = await this.#parts.store.load(client);
    if (stamp.raw === null) return null;
    const { entries, complete } = await this.#parts.store.historyOfClient(client, limit);
    const oldestAt = entries.at(-1)?.at ?? Number.POSITIVE_INFINITY;
    return { entries, complete: complete && oldestAt <= (state.firstSeenAt ?? Number.NEGATIVE_INFINITY) };
  }

  /**
   * What each of the rule sets would answer to a verdict request now. Nothing is written and nothing is
   * counted: the client stays where it is.
   */
  async whatIf(
    platform: PlatformName,
    body: VerdictBody,
    ruleSets: readonly RuleSet[],
  ): Promise<readonly Decision[]> {
    const client = clientKey(platform, body.clientIdKey);
    const { state } = await this.#parts.store.load(client);
    const now = this.#parts.clock();
    const device = currentHints(state.hints, now);
    const request = verdictRequest(body, 'what-if', 'active');
    return Promise.all(
      ruleSets.map(async (rules) => {
        const sightings = await this.#sightings({ rules, arm: 'active' }, client, device, now, null);
        return decideVerdict(rules, client, state, sightings, request, now).decision;
      }),
    );
  }

  async erase(platform: PlatformName, clientIdKey: string): Promise<void> {
    const client = clientKey(platform, clientIdKey);
    await this.#inOrder(client, () => this.#parts.store.erase(client));
  }

  /** Null when there is no such decision of this platform. */
  async decision(platform: PlatformName, decisionId: string): Promise<Decision | null> {
    if (parseDecisionId(decisionId) === null) return null;
    const decision = await this.#parts.store.decision(decisionId);
    return decision?.platform === platform ? decision : null;
  }

  decisionsOfOrder(platform: PlatformName, orderRef: string): Promise<readonly Decision[]> {
    return this.#parts.store.decisionsOfOrder(platform, orderRef);
  }

  /** A client's decisions with a seq below `beforeSeq`, newest first. */
  decisionsOfClient(
    platform: PlatformName,
    clientIdKey: string,
    limit: number,
    beforeSeq?: number,
  ): Promise<readonly Decision[]> {
    return this.#parts.store.decisionsOfClient(clientKey(platform, clientIdKey), limit, beforeSeq);
  }

  /** The platform's newest decisions that fit, and how far was looked for them. */
  findDecisions(platform: PlatformName, filter: DecisionFilter, limit: number): Promise<FoundDecisions> {
    return this.#parts.store.findDecisions(platform, filter, limit);
  }

  async #verdict(client: ClientKey, body: VerdictBody, context: VerdictContext): Promise<AnsweredVerdict> {
    const { ruleSource, metrics } = this.#parts;
    const choice = ruleSource.choose(client);
    const { idempotencyKey } = context;
    const also = idempotencyKey === null ? {} : { idempotencyKey };
    let seen: Sightings | null = null;
    const { decided, ...answered } = await this.#change<DecidedVerdict>(
      'verdict',
      client,
      also,
      async (snapshot) => {
        if (snapshot.answer !== null) {
          return { result: { ...snapshot.answer, replayed: true, decided: null }, change: null };
        }
        const now = this.#now(snapshot);
        const device = currentHints(snapshot.state.hints, now);
        // Noted once a request: deciding again after a lost race is still the same request.
        seen ??= await this.#sightings(choice, client, device, now, { orderRef: body.orderRef });
        const decided = this.#decideVerdict(
          choice,
          client,
          snapshot.state,
          seen,
          body,
          context.requestId,
          now,
        );
        const { decision, nextState } = decided;
        const stored = { answer: verdictAnswer(decision), decisionId: decision.decisionId };
        const entry = {
          kind: 'verdict',
          at: decision.at,
          platform: client.platform,
          clientIdKey: client.clientIdKey,
          decision,
        } as const;
        const answer = idempotencyKey === null ? {} : { answer: { idempotencyKey, stored } };
        return {
          result: { ...stored, replayed: false, decided },
          change: { state: nextState, entry, decision, ...answer },
        };
      },
    );
    if (decided === null) metrics.idempotentReplay();
    else {
      metrics.verdict(decided.decision);
      ruleSource.observe(decided.decision, decided.shadowed);
    }
    return answered;
  }

  /** The verdict, and beside it what the shadow would have said. */
  #decideVerdict(
    choice: RuleChoice,
    client: ClientKey,
    state: ClientState,
    sightings: Sightings,
    body: VerdictBody,
    requestId: string,
    now: number,
  ): VerdictResult & { readonly shadowed?: Decision | null } {
    const decideBy = (rules: RuleSet, arm: Arm) =>
      decideVerdict(rules, client, state, sightings, verdictRequest(body, requestId, arm), now);
    const { result } = this.#decideWith(choice, decideBy);
    if (choice.shadow === undefined) return result;
    try {
      return { ...result, shadowed: decideBy(choice.shadow, 'candidate').decision };
    } catch {
      // Counted as a candidate that throws; a shadow never disturbs the answer.
      return { ...result, shadowed: null };
    }
  }

  /** Lets the chosen rules decide; a candidate that throws is replaced by the active rules. */
  #decideWith<T>(choice: RuleChoice, decide: (rules: RuleSet, arm: Arm) => T): { rules: RuleSet; result: T } {
    const { rules, arm, fallback } = choice;
    if (fallback === undefined) return { rules, result: decide(rules, arm) };
    try {
      return { rules, result: decide(rules, arm) };
    } catch (error) {
      this.#parts.ruleSource.candidateFailed(error);
      return { rules: fallback, result: decide(fallback, 'active') };
    }
  }

  async #claim(platform: PlatformName, body: VerdictBody, idempotencyKey: string): Promise<void> {
    const requestHash = hash('sha256', JSON.stringify(Object.entries(body).toSorted()), 'base64url');
    const claimed = await this.#parts.store.claimIdempotencyKey(platform, idempotencyKey, requestHash);
    if (claimed !== requestHash) throw new IdempotencyKeyReused();
  }

  async #sightings(
    choice: RuleChoice,
    client: ClientKey,
    device: Pick<Hints, 'fingerprint' | 'ip'> | null,
    at: number,
    record: { readonly orderRef: string } | null,
  ): Promise<Sightings> {
    const fingerprint = device?.fingerprint ?? null;
    const ip = device?.ip ?? null;
    if (record === null && fingerprint === null && ip === null) return NO_SIGHTINGS;
    return this.#parts.store.sightings({
      client,
      at,
      fingerprint,
      ip,
      windowsMs: sharingWindowsMs(choice),
      record,
    });
  }

  /** Loads, lets `decide` work out a change, commits it; starts over when another node was faster. */
  #change<T>(
    operation: string,
    client: ClientKey,
    also: LoadAlso,
    decide: (snapshot: Snapshot) => Promise<Step<T>>,
  ): Promise<T> {
    const { store, metrics, pace = PROCESS_PACE } = this.#parts;
    const deadline = pace.monotonicMs() + REQUEST_DEADLINE_MS;
    return this.#inOrder(client, async () => {
      for (let tries = 1; tries <= MAX_TRIES && pace.monotonicMs() < deadline; tries++) {
        const snapshot = await store.load(client, also);
        const { result, change } = await decide(snapshot);
        if (change === null) return result;
        const fate = await store.commit({ ...change, client, stamp: snapshot.stamp });
        if (fate === 'committed') return result;
        metrics.commitRace(operation);
        await pace.pauseAfterRace();
      }
      throw new TooManyWaiting(`${operation} did not get its turn in time`);
    });
  }

  #inOrder<T>(client: ClientKey, work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.run(client.hash, work);
    return turn ?? Promise.reject(new TooManyWaiting('too many requests of one client are waiting'));
  }

  /** Never before what was already recorded of the client. */
  #now({ state }: Snapshot): number {
    return Math.max(this.#parts.clock(), state.lastAt);
  }
}
