import { createFullLiteralChecker } from '#base/shapes.ts';
import { type Assessment, assessPayer, labelFactValues, listRaisedFlags } from './assess.ts';
import {
  type ConcludedVerdict,
  computeLastWaitAfterVerdict,
  concludeVerdict,
  isAttempt,
} from './conclude-verdict.ts';
import type { Decision, ScoreAnswer } from './decision.ts';
import { findPseudonym } from './facts/attribute.ts';
import type { FactContext, Sightings } from './facts/fact.ts';
import { type DrawHoldouts, type DrawnHoldout, type IsHeldOut, NOBODY_HELD_OUT } from './holdout.ts';
import { formatMoney } from './payer/amount.ts';
import { joinAttributes, type NodeSecretIds, renameFormerPseudonyms } from './payer/attribute-secrets.ts';
import { noteAttributeValues } from './payer/attribute-values.ts';
import { type AttributesUnderBothSecrets, NO_ATTRIBUTES } from './payer/attributes.ts';
import { type ClientKey, formatDecisionId } from './payer/client-key.ts';
import {
  addStageAnswer,
  addVerdictEvent,
  type ClientState,
  chooseEventTime,
  isNewClient,
  keepUnlessExpired,
  recordActivity,
  shortenDeviceId,
  toCachedShortHash,
  toShortHash,
  type VerdictEvent,
} from './payer/client-state.ts';
import { getKnownHints, type KnownHints } from './payer/hints.ts';
import { getRemainingWaitMs, type Ladder, resetLadderAfterAbsence } from './payer/ladder.ts';
import { computePaymentScore, formatPaymentScore } from './payer/payment-score.ts';
import type {
  RequestedPayment,
  ScoreRequest,
  VerdictRequest,
  VerdictRequestWithoutOrigin,
} from './requests.ts';
import { getPlatformSettings, type PlatformSettings, type RuleSet, type Verdict } from './rules/rule-set.ts';
import { noteScoreToAnswer } from './score-hints.ts';
import { NO_LISTS, type RequestLookupParts, type SharedLists } from './shared-lists.ts';

export interface ScoreResult {
  readonly answer: ScoreAnswer;
  /** Names of the bot signals that matched. A new client is not a bot, even if signals matched. */
  readonly signals: readonly string[];
  /** The group rules and signals that have a holdout and matched. */
  readonly drawnHoldouts: readonly DrawnHoldout[];
  readonly nextState: ClientState;
}

export interface VerdictResult {
  readonly decision: Decision;
  readonly nextState: ClientState;
}

/** A verdict before it is recorded. */
interface JudgedVerdict {
  /** Epoch ms. */
  readonly at: number;
  readonly assessment: Assessment;
  readonly concluded: ConcludedVerdict;
  readonly ladderBefore: Ladder;
  readonly nextState: ClientState;
}

/**
 * What a decision about a client starts from, with the lists, holdouts and secrets of the node: everything but the
 * request.
 */
export interface DecisionStanding {
  readonly client: ClientKey;
  readonly state: ClientState;
  readonly sightings: Sightings;
  /** Without lists, nobody is on a list. */
  readonly lists?: SharedLists;
  /** Says who is held out of which rules. Without a draw, nobody is held out. */
  readonly holdoutDraw?: DrawHoldouts;
  /** The secrets of the node that decides. Without them, every stored pseudonym is used unchanged. */
  readonly secretIds?: NodeSecretIds | undefined;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Classifies a payer. The next state remembers the devices of the request, and no counter changes. So a repeated
 * score has the same answer as long as nothing else happens.
 */
export function decideScore(rules: RuleSet, standing: DecisionStanding, request: ScoreRequest): ScoreResult {
  const { client, state } = standing;
  const now = chooseEventTime(state, standing.now);
  const settings = getPlatformSettings(rules, client.platform);
  const { nextState, known, at } = noteScoreToAnswer(state, request, now);
  const hints = known();
  const view = { ...viewWithoutRequest(nextState, settings, standing.sightings, at), hints };
  const stated = joinStatedAttributes(rules, hints, request, standing);
  const context = buildFactContext(rules, view, settings, request, stated, standing, now);
  const assessment = assessPayer(rules, context, drawHoldouts(standing, at));
  const answer = buildScoreAnswer(rules, settings, nextState, assessment, at);
  return { answer, signals: assessment.signals, drawnHoldouts: assessment.drawnHoldouts, nextState };
}

const nameRecordedMembers = createFullLiteralChecker<Decision>();

/**
 * Decides whether a requisite may be issued now, and moves the client along the ladder. The function is pure: the
 * same rule set, state, sightings, request and time always give the same result.
 */
export function decideVerdict(
  rules: RuleSet,
  standing: DecisionStanding,
  request: VerdictRequest,
): VerdictResult {
  const { client, state } = standing;
  const { at, assessment, concluded, ladderBefore, nextState } = decideWithoutRecord(
    rules,
    standing,
    request,
  );
  const holdout = [...assessment.drawnHoldouts, ...concluded.drawnHoldouts];
  const flags = listRaisedFlags(rules, assessment.values);
  const decision = nameRecordedMembers({
    decisionId: formatDecisionId(client.hash, nextState.seq, at),
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
    ...(request.draw === undefined ? {} : { draw: request.draw }),
    ...buildAnswerFields(concluded, state, at),
    isBot: assessment.isBot,
    clientGroup: assessment.clientGroup,
    paymentScore: formatScore(state, getPlatformSettings(rules, client.platform)),
    rule: concluded.rule,
    signals: assessment.signals,
    ...(flags.length === 0 ? {} : { flags }),
    facts: labelFactValues(rules, assessment.values),
    ...(holdout.length === 0 ? {} : { holdout }),
    ladderBefore,
    ladderAfter: concluded.ladderAfter,
  });
  const { draw } = request;
  if (draw === undefined) return { decision, nextState };
  return { decision, nextState: { ...nextState, stage: addStageAnswer(state.stage, draw.since, decision) } };
}

/**
 * Decides without making a record, because making the record takes as long as the decision. Replays of years use this
 * function.
 */
export function decideWithoutRecord(
  rules: RuleSet,
  standing: DecisionStanding,
  request: VerdictRequestWithoutOrigin,
): JudgedVerdict {
  const { client, sightings, now } = standing;
  const at = chooseEventTime(standing.state, now);
  const settings = getPlatformSettings(rules, client.platform);
  const hints = getKnownHints(standing.state.hints, at);
  const stated = joinStatedAttributes(rules, hints, request, standing);
  const state = renameFormerPseudonyms(standing.state, stated);
  const ladderBefore = resetLadderAfterAbsence(state, settings.ladder, at);
  const early = getRemainingWaitMs(ladderBefore, at) > 0;
  const event = buildVerdictEvent(request, settings, hints, early, at);
  const seen = recordActivity({ ...state, ...addVerdictEvent(state, event) }, at);
  const view = { state: seen, asked: event, isNew: false, ladder: ladderBefore, hints, sightings, now: at };
  const isHeldOut = drawHoldouts(standing, at);
  const context = buildFactContext(rules, view, settings, request, stated, standing);
  const assessment = assessPayer(rules, context, isHeldOut);
  const { lastWaitMs } = state;
  const ladderStanding = { ladderBefore, lastWaitMs, at };
  const concluded = concludeVerdict(rules, settings, assessment, ladderStanding, isHeldOut);
  const nextState: ClientState = {
    ...seen,
    seq: state.seq + 1,
    lastVerdictAt: at,
    lastVerdictBlocked: concluded.verdict === 'BLOCK',
    ladder: concluded.ladderAfter,
    ...computeLastWaitAfterVerdict(concluded, state, at),
    ...noteVerdictValues(rules, context, at),
    events: seen.events.with(-1, addAnswerToEvent(event, concluded.verdict)),
  };
  return { at, assessment, concluded, ladderBefore, nextState };
}

/**
 * Returns the remembered values of attributes after a verdict. An attribute is remembered only if the rules count its
 * distinct values. Returns no member if the values of these attributes are not known.
 */
function noteVerdictValues(
  { rememberedAttributes }: RuleSet,
  { state, attributes }: FactContext,
  at: number,
): Partial<Pick<ClientState, 'attributeValues'>> {
  // Most rule sets count no values of attributes, and most requests have no attributes.
  if (rememberedAttributes.length === 0) return {};
  const values = rememberedAttributes.flatMap((declared): readonly (readonly [string, string])[] => {
    const value = findPseudonym(declared, attributes[declared.name]);
    return value === null ? [] : [[declared.name, value]];
  });
  return values.length === 0
    ? {}
    : { attributeValues: noteAttributeValues(state.attributeValues, values, at) };
}

/** Assesses a client as of now, for people to read. The assessment counts no request. */
export function assessNow(rules: RuleSet, standing: DecisionStanding): Assessment {
  const { client, state, sightings } = standing;
  const settings = getPlatformSettings(rules, client.platform);
  const request = { sellPointKey: '', method: '', amount: '0', currency: null };
  const now = chooseEventTime(state, standing.now);
  const view = viewWithoutRequest(state, settings, sightings, now);
  const stated = joinStatedAttributes(rules, view.hints, NOTHING_STATED, standing);
  return assessPayer(
    rules,
    buildFactContext(rules, view, settings, request, stated, standing),
    drawHoldouts(standing, now),
  );
}

function drawHoldouts({ client, holdoutDraw }: DecisionStanding, at: number): IsHeldOut {
  return holdoutDraw === undefined ? NOBODY_HELD_OUT : holdoutDraw(client, at);
}

type ContextView = Pick<FactContext, 'state' | 'asked' | 'isNew' | 'ladder' | 'hints' | 'sightings' | 'now'>;

/** Returns the part of the fact context that describes the client, for times when no verdict is requested. */
function viewWithoutRequest(
  state: ClientState,
  settings: PlatformSettings,
  sightings: Sightings,
  now: number,
): ContextView {
  const ladder = resetLadderAfterAbsence(state, settings.ladder, now);
  const hints = getKnownHints(state.hints, now);
  return { state, asked: null, isNew: isNewClient(state), ladder, hints, sightings, now };
}

const NOTHING_STATED: AttributesUnderBothSecrets = {};

/**
 * Returns the attributes that the caller stated about the payer: in this request, and in earlier score requests that
 * are still valid.
 */
function joinStatedAttributes(
  { attributes: declared }: RuleSet,
  held: KnownHints,
  stated: AttributesUnderBothSecrets,
  { secretIds }: DecisionStanding,
): AttributesUnderBothSecrets {
  return declared.size === 0 ? NOTHING_STATED : joinAttributes(held, stated, secretIds);
}

function buildFactContext(
  rules: RuleSet,
  view: ContextView,
  settings: PlatformSettings,
  request: RequestedPayment,
  stated: AttributesUnderBothSecrets,
  { client, lists = NO_LISTS }: DecisionStanding,
  listedAt = view.now,
): FactContext {
  const { attributes = NO_ATTRIBUTES } = stated;
  return {
    ...view,
    platform: client.platform,
    timeZone: settings.timeZone,
    previousVerdictAt: view.state.lastVerdictAt,
    request: {
      amount: Number(request.amount),
      currency: request.currency ?? settings.currency,
      method: request.method,
      sellPointKey: request.sellPointKey,
    },
    smoothing: settings.smoothing,
    attributes,
    isListed: (list) =>
      lists.find(list, buildListSubject(client, request, view.hints, stated, rules), listedAt) !== null,
  };
}

/** Returns the parts of a request that a shared list may name. */
function buildListSubject(
  { platform, clientIdKey }: ClientKey,
  { method, sellPointKey }: Pick<RequestedPayment, 'method' | 'sellPointKey'>,
  { fingerprints, ips, networks, former }: Pick<KnownHints, 'fingerprints' | 'ips' | 'networks' | 'former'>,
  stated: AttributesUnderBothSecrets,
  { attributes: declaredAttributes }: Pick<RuleSet, 'attributes'>,
): RequestLookupParts {
  return {
    platform,
    clientIdKey,
    method,
    sellPointKey,
    // A list entry from before the last change of the HMAC secret still has the former id of its device.
    fingerprints: [...fingerprints, ...(former?.fingerprints ?? [])],
    ips: [...ips, ...(former?.ips ?? [])],
    networks,
    attributes: stated.attributes ?? NO_ATTRIBUTES,
    // In the same way, such an entry still has the former pseudonym of its attribute value.
    formerAttributes: stated.former?.attributes,
    declaredAttributes,
  };
}

function addAnswerToEvent(event: VerdictEvent, verdict: Verdict): VerdictEvent {
  return { ...event, granted: isAttempt(verdict), waited: verdict === 'WAIT', blocked: verdict === 'BLOCK' };
}

function buildVerdictEvent(
  request: VerdictRequestWithoutOrigin,
  settings: PlatformSettings,
  { fingerprints, ips }: KnownHints,
  early: boolean,
  now: number,
): VerdictEvent {
  return {
    at: now,
    early,
    granted: false,
    settled: false,
    waited: false,
    blocked: false,
    method: toCachedShortHash(request.method),
    amount: formatMoney(request.amount, request.currency ?? settings.currency),
    order: toShortHash(request.orderRef),
    sellPoint: toCachedShortHash(request.sellPointKey),
    fingerprint: shortenDeviceId(fingerprints.at(-1) ?? null),
    ip: shortenDeviceId(ips.at(-1) ?? null),
  };
}

function buildAnswerFields(
  { verdict, waitSeconds, ladder, waitFloorMs, reason }: ConcludedVerdict,
  state: ClientState,
  now: number,
): Pick<Decision, 'verdict' | 'waitSeconds' | 'ladder' | 'waitFloorMs' | 'stickyRequisiteRef' | 'reason'> {
  if (waitSeconds !== null) {
    return {
      verdict,
      waitSeconds,
      ...(ladder === null ? {} : { ladder }),
      ...(waitFloorMs === null ? {} : { waitFloorMs }),
      reason,
    };
  }
  if (verdict !== 'GET_SAME_STICKY') return { verdict, reason };
  const binding = keepUnlessExpired(state.binding, now);
  // `parseRuleSet` accepts GET_SAME_STICKY only in a rule that demands a valid binding.
  if (binding === null) throw new Error('GET_SAME_STICKY was decided for a client without a binding');
  return { verdict, stickyRequisiteRef: binding.requisiteRef, reason };
}

function buildScoreAnswer(
  rules: RuleSet,
  settings: PlatformSettings,
  state: ClientState,
  { clientGroup, isBot }: Assessment,
  now: number,
): ScoreAnswer {
  const binding = keepUnlessExpired(state.binding, now);
  const sticky = clientGroup === 'STICKY' && binding !== null;
  return {
    clientGroup,
    paymentScore: formatScore(state, settings),
    isBot,
    ...(sticky ? { preferredAcceptorKey: binding.acceptorKeys } : {}),
    ...(settings.scoringLimits ? { payLimitValue: rules.limits.get(clientGroup) ?? [] } : {}),
  };
}

function formatScore({ outcomes }: ClientState, { smoothing }: PlatformSettings): string {
  const finalCount = outcomes.paidCount + outcomes.unpaidCount;
  return formatPaymentScore(computePaymentScore(outcomes.paidCount, finalCount, smoothing));
}
