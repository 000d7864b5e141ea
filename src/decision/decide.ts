import { normalAmount } from '../client/amount.ts';
import { type ClientKey, decisionId } from '../client/client-key.ts';
import {
  type ClientState,
  type Hints,
  isNewClient,
  live,
  rememberEvent,
  touch,
  type VerdictEvent,
} from '../client/client-state.ts';
import { climb, grant, type Ladder, type LadderSettings, settle, waitRemainingMs } from '../client/ladder.ts';
import { formatPaymentScore, paymentScore } from '../client/payment-score.ts';
import { token } from '../client/token.ts';
import type { FactContext, FactValue, Sightings } from '../facts/fact.ts';
import { currentHints, HINTS_VALID_MS } from '../facts/hints.ts';
import {
  type PlatformSettings,
  type RuleSet,
  settingsOf,
  type Verdict,
  type VerdictParams,
} from '../rules/rule-set.ts';
import { type Assessment, assess, factsByLabel, verdictRule } from './assess.ts';
import type { Arm, Decision, ScoreAnswer } from './decision.ts';
import { renderReason } from './reason.ts';

interface PaymentRequest {
  readonly sellPointKey: string;
  readonly method: string;
  /** A decimal-string. */
  readonly amount: string;
  /** Null means the platform's currency. */
  readonly currency: string | null;
}

/** A score request (contract, section 2.1) after the edge has replaced fingerprint and IP by HMACs. */
export interface ScoreRequest extends PaymentRequest {
  readonly fingerprint: string | null;
  readonly ip: string | null;
  readonly jsOk: boolean | null;
  readonly honeypotTriggered: boolean;
  readonly userAgentPresent: boolean;
  readonly userAgentIsAutomated: boolean;
}

/** A verdict request (contract, section 2.3) with what the decision record says about its origin. */
export interface VerdictRequest extends PaymentRequest {
  readonly orderRef: string;
  readonly requestId: string;
  readonly arm: Arm;
}

export interface ScoreResult {
  readonly answer: ScoreAnswer;
  /** Names of the bot signals that matched; for a new client they do not make a bot yet. */
  readonly signals: readonly string[];
  readonly nextState: ClientState;
}

export interface VerdictResult {
  readonly decision: Decision;
  readonly nextState: ClientState;
}

/**
 * Classifies a payer. Changes no counter: only what the device showed is remembered, so a repeated
 * score gives the same answer while nothing else happens.
 */
export function decideScore(
  rules: RuleSet,
  client: ClientKey,
  state: ClientState,
  sightings: Sightings,
  request: ScoreRequest,
  now: number,
): ScoreResult {
  const at = Math.max(now, state.lastAt);
  const nextState = touch({ ...state, hints: hintsOf(request, state.hints, at) }, at);
  const settings = settingsOf(rules, client.platform);
  const context = { ...contextOf(nextState, settings, sightings, request, at), isNew: isNewClient(state) };
  const assessment = assess(rules, context);
  const answer = scoreAnswer(rules, settings, nextState, assessment, at);
  return { answer, signals: assessment.signals, nextState };
}

/**
 * Decides whether a requisite may be issued now, and moves the client along the ladder.
 * Pure: the same rule set, state, sightings, request and time always give the same result.
 */
export function decideVerdict(
  rules: RuleSet,
  client: ClientKey,
  state: ClientState,
  sightings: Sightings,
  request: VerdictRequest,
  now: number,
): VerdictResult {
  const at = Math.max(now, state.lastAt);
  const settings = settingsOf(rules, client.platform);
  const ladderBefore = settle(state.ladder, state.lastVerdictAt, settings.ladder, at);
  const event = eventOf(request, settings, state.hints, waitRemainingMs(ladderBefore, at) > 0, at);
  const seen = touch({ ...state, ladder: ladderBefore, events: rememberEvent(state.events, event) }, at);
  const assessment = assess(rules, contextOf(seen, settings, sightings, request, at));
  const { rule, params } = verdictRule(rules, assessment.values);
  const ladderAfter = nextLadder(params.verdict, ladderBefore, settings.ladder, at);
  const granted = isGrant(params.verdict);
  const nextState: ClientState = {
    ...seen,
    seq: state.seq + 1,
    lastVerdictAt: at,
    ladder: ladderAfter,
    events: [...seen.events.slice(0, -1), { ...event, granted }],
  };
  const answer = verdictFields(params, assessment.values, nextState, at);
  const decision: Decision = {
    decisionId: decisionId(client.hash, nextState.seq),
    seq: nextState.seq,
    at,
    platform: client.platform,
    sellPointKey: request.sellPointKey,
    clientIdKey: client.clientIdKey,
    orderRef: request.orderRef,
    requestId: request.requestId,
    ruleVersion: rules.version,
    digest: rules.digest,
    arm: request.arm,
    ...answer,
    isBot: assessment.isBot,
    clientGroup: assessment.clientGroup,
    paymentScore: scoreText(nextState, settings),
    rule,
    signals: assessment.signals,
    facts: factsByLabel(rules, assessment.values),
    ladderBefore,
    ladderAfter,
  };
  return { decision, nextState };
}

/** Facts about a client as it stands, for showing to people: no request is counted. */
export function factsNow(
  rules: RuleSet,
  client: ClientKey,
  state: ClientState,
  sightings: Sightings,
  now: number,
): Assessment {
  const at = Math.max(now, state.lastAt);
  const settings = settingsOf(rules, client.platform);
  const request = { sellPointKey: '', method: '', amount: '0', currency: null };
  const context = { ...contextOf(state, settings, sightings, request, at), isNew: isNewClient(state) };
  return assess(rules, context);
}

/** Whether a verdict lets a requisite be shown: then it is an attempt. */
export function isGrant(verdict: Verdict): boolean {
  return verdict === 'GET_NEW' || verdict === 'GET_SAME_STICKY';
}

function contextOf(
  state: ClientState,
  settings: PlatformSettings,
  sightings: Sightings,
  request: PaymentRequest,
  now: number,
): FactContext {
  return {
    state,
    isNew: false,
    ladder: settle(state.ladder, state.lastVerdictAt, settings.ladder, now),
    previousVerdictAt: state.lastVerdictAt,
    sightings,
    request: {
      amount: Number(request.amount),
      currency: request.currency ?? settings.currency,
      method: request.method,
      sellPointKey: request.sellPointKey,
    },
    smoothing: settings.smoothing,
    now,
  };
}

function hintsOf(request: ScoreRequest, before: Hints | null, now: number): Hints {
  const trappedBefore = before?.honeypotAt ?? null;
  const stillTrapped = trappedBefore !== null && now - trappedBefore < HINTS_VALID_MS;
  return {
    scoredAt: now,
    fingerprint: request.fingerprint,
    ip: request.ip,
    jsOk: request.jsOk,
    honeypotAt: request.honeypotTriggered ? now : stillTrapped ? trappedBefore : null,
    userAgentPresent: request.userAgentPresent,
    userAgentIsAutomated: request.userAgentIsAutomated,
  };
}

function eventOf(
  request: VerdictRequest,
  settings: PlatformSettings,
  hints: Hints | null,
  early: boolean,
  now: number,
): VerdictEvent {
  const device = currentHints(hints, now);
  return {
    at: now,
    early,
    granted: false,
    method: token(request.method),
    amount: token(`${normalAmount(request.amount)} ${request.currency ?? settings.currency}`),
    order: token(request.orderRef),
    sellPoint: token(request.sellPointKey),
    fingerprint: device?.fingerprint?.slice(0, 6) ?? null,
    ip: device?.ip?.slice(0, 6) ?? null,
  };
}

/** What a verdict does to the ladder. */
export function nextLadder(verdict: Verdict, ladder: Ladder, settings: LadderSettings, now: number): Ladder {
  switch (verdict) {
    case 'GET_NEW':
    case 'GET_SAME_STICKY':
      return grant(ladder);
    case 'WAIT':
      return climb(ladder, settings, now);
    case 'BLOCK':
      return ladder;
    default:
      return verdict satisfies never;
  }
}

function verdictFields(
  { verdict, reason }: VerdictParams,
  values: readonly FactValue[],
  state: ClientState,
  now: number,
): Pick<Decision, 'verdict' | 'waitSeconds' | 'stickyRequisiteRef' | 'reason'> {
  const waitSeconds = Math.ceil(waitRemainingMs(state.ladder, now) / 1000);
  const text = renderReason(reason, values, { waitSeconds, ladderLevelAfter: state.ladder.level });
  switch (verdict) {
    case 'WAIT':
      return { verdict, waitSeconds, reason: text };
    case 'GET_SAME_STICKY': {
      const binding = live(state.binding, now);
      // `parse` accepts GET_SAME_STICKY only in a rule that demands a live binding.
      if (binding === null) throw new Error('GET_SAME_STICKY was decided for a client without a binding');
      return { verdict, stickyRequisiteRef: binding.requisiteRef, reason: text };
    }
    case 'GET_NEW':
    case 'BLOCK':
      return { verdict, reason: text };
    default:
      return verdict satisfies never;
  }
}

function scoreAnswer(
  rules: RuleSet,
  settings: PlatformSettings,
  state: ClientState,
  { clientGroup, isBot }: Assessment,
  now: number,
): ScoreAnswer {
  const binding = live(state.binding, now);
  const sticky = clientGroup === 'STICKY' && binding !== null;
  return {
    clientGroup,
    paymentScore: scoreText(state, settings),
    isBot,
    ...(sticky ? { preferredAcceptorKey: binding.acceptorKeys } : {}),
    ...(settings.scoringLimits ? { payLimitValue: rules.limits.get(clientGroup) ?? [] } : {}),
  };
}

function scoreText({ outcomes }: ClientState, { smoothing }: PlatformSettings): string {
  const finalCount = outcomes.paidCount + outcomes.unpaidCount;
  return formatPaymentScore(paymentScore(outcomes.paidCount, finalCount, smoothing));
}
