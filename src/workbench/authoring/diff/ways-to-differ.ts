import { isDeepStrictEqual } from 'node:util';
import { count, list, nullable, plainText, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import { type Assessment, assessFromFactValues } from '#decision/assess.ts';
import { isBotSchema, OTHERWISE } from '#decision/decision.ts';
import { CLIENT_GROUPS } from '#decision/decision-words.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { type IsHeldOut, selectSkippedHoldouts } from '#decision/holdout.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientGroup, clientGroupSchema } from '#decision/payer/client-state.ts';
import { climbLadder, EMPTY_LADDER, getLevelWaitsMs, type Ladder } from '#decision/payer/ladder.ts';
import { computePaymentScore, formatPaymentScore, type Smoothing } from '#decision/payer/payment-score.ts';
import { getFactValueType, redecide } from '#decision/redecision.ts';
import { type Condition, type FactRef, isPseudonymFact } from '#decision/rules/condition.ts';
import { LADDER_LEVELS_MAX } from '#decision/rules/parse/rule-ladders.ts';
import { allOf, anyOf, createComparison, FactsByName, not } from '#decision/rules/proof/built-conditions.ts';
import {
  type ParsedRules,
  type PlatformSettings,
  type Rule,
  type RuleSet,
  type VerdictParams,
  verdictSchema,
} from '#decision/rules/rule-set.ts';
import { CASE_HMACS } from '#workbench/authoring/case-pseudonym.ts';
import { type BothVersions, formatHeldOutLabel, type PlatformScope } from './both-versions.ts';
import { formatCondition } from './condition-changes.ts';

/** A way in which two versions may answer a payer differently, with the conditions under which they do. */
export interface WayToDiffer {
  /** The way, as `listWaysAnswersDiffer` names it. */
  readonly way: string;
  readonly askedFor: RequestKind;
  readonly must: readonly Condition[];
  readonly mustNot: readonly Condition[];
}

/** Names the ways in which two answers differ on a platform. */
export function listWaysAnswersDiffer(
  { before: was, after: is, differsIn }: TwoAnswers,
  { platform }: PlatformScope,
): readonly string[] {
  const differs = new Set<string>(differsIn);
  const isElsewhere = !differs.has('verdict') && (differs.has('wait') || differs.has('ladder'));
  return [
    ...(differs.has('verdict') ? [verdictWay(was.rule ?? '', is.rule ?? '', null)] : []),
    ...(isElsewhere ? [verdictWay(was.rule ?? '', is.rule ?? '', platform)] : []),
    ...(differs.has('group') ? [groupWay(was.clientGroup, is.clientGroup)] : []),
    ...(differs.has('bot flag') ? [botWay(was.isBot)] : []),
    ...(differs.has('score') ? [scoreWay(platform)] : []),
    ...(differs.has('limits') ? [limitsWay(was.clientGroup, platform)] : []),
    ...[...new Set(was.heldOut).symmetricDifference(new Set(is.heldOut))],
  ];
}

/** Differences that come from settings are told apart by platform. Other differences are the same everywhere. */
const on = (platform: string | null) => (platform === null ? '' : ` on ${platform}`);
const verdictWay = (was: string, is: string, platform: string | null) =>
  `verdict ${was} -> ${is}${on(platform)}`;
const groupWay = (was: string, is: string) => `group ${was} -> ${is}`;
const botWay = (was: boolean) => `bot ${was}`;
const limitsWay = (group: string, platform: string | null) => `limits ${group}${on(platform)}`;
const scoreWay = (platform: string | null) => `score${on(platform)}`;

/**
 * Lists every way in which two versions may give a payer different answers. An answer also moves the client on the
 * ladder. If no answer differs, the ladders do not differ either, so later answers are the same, too.
 */
export function* listWaysToDiffer(both: BothVersions): Generator<WayToDiffer> {
  yield* listVerdictWays(both);
  yield* listDrawWays(both);
  yield* listGroupWays(both, 'verdict');
  yield* listBotWays(both, 'verdict');
  yield* listGroupWays(both, 'score');
  yield* listBotWays(both, 'score');
  yield* listScoreWays(both);
  yield* listLimitWays(both);
}

function* listVerdictWays({ before, after, scope }: BothVersions): Generator<WayToDiffer> {
  const differs = createVerdictTest(before, after);
  for (const was of listFirstMatches(before.verdicts.rules, before.verdicts.otherwise)) {
    for (const is of listFirstMatches(after.verdicts.rules, after.verdicts.otherwise)) {
      if (excludes(was, is) || excludes(is, was)) continue;
      const when = differs(was.gives, is.gives);
      if (when === null) continue;
      yield {
        way: verdictWay(was.name, is.name, was.gives.verdict === is.gives.verdict ? scope.platform : null),
        askedFor: 'verdict',
        must: [...was.must, ...is.must, when],
        mustNot: [...was.mustNot, ...is.mustNot],
      };
    }
  }
}

/** Creates the condition under which two verdicts, or the ladders after them, differ. Returns null if they never do. */
function createVerdictTest(before: ParsedRules, after: ParsedRules) {
  const [was, is] = [getLadderFacts(before), getLadderFacts(after)];
  const levels = Array.from({ length: LADDER_LEVELS_MAX + 1 }, (_, level) => level);
  // Facts with the same label are one fact. Otherwise one of the two versions may have reset the ladder.
  const pairs =
    was.level.label === is.level.label
      ? levels.map((level) => [level, level] as const)
      : levels.flatMap(
          (level) =>
            [
              [level, level],
              [level, 0],
              [0, level],
            ] as const,
        );
  const at = ([one, other]: readonly [number, number]) =>
    allOf(createComparison(was.level, 'equal', one), createComparison(is.level, 'equal', other));
  const climbs = ({ settings }: ParsedRules, { ladder }: VerdictParams, level: number) =>
    climbLadder({ ...EMPTY_LADDER, level }, getLevelWaitsMs(settings.ladder, ladder), 0, 0);
  const waitsDiffer = (one: VerdictParams, other: VerdictParams) =>
    pairs.flatMap((pair) => {
      const [a, b] = [climbs(before, one, pair[0]), climbs(after, other, pair[1])];
      if (a.level !== b.level || pair[0] !== pair[1]) return [at(pair)];
      if (a.waitUntil === b.waitUntil) return [];
      // If more of the last wait remains than this, the last wait determines both new waits.
      const seconds = Math.ceil(Math.max(a.waitUntil ?? 0, b.waitUntil ?? 0) / 1000);
      return [allOf(at(pair), createComparison(was.remaining, 'lessThanInclusive', seconds))];
    });
  const forgotten = pairs.filter(([one, other]) => one !== other).map(at);
  const openApart = [allOf(was.open, not(is.open)), allOf(is.open, not(was.open))];
  return (one: VerdictParams, other: VerdictParams): Condition | null => {
    if (one.verdict !== other.verdict || one.ladder !== other.ladder) return allOf();
    const when = one.verdict === 'WAIT' ? waitsDiffer(one, other) : forgotten;
    const left = one.verdict === 'BLOCK' && forgotten.length > 0 ? openApart : [];
    return when.length + left.length === 0 ? null : anyOf(...when, ...left);
  };
}

function getLadderFacts({ facts }: ParsedRules) {
  const known = new FactsByName(facts);
  return {
    level: known.requireFact('ladderLevel'),
    remaining: known.requireFact('waitRemainingSeconds'),
    open: known.is('attemptOpen', true),
  };
}

/** Lists the draws by which one version skips a matching rule and the other does not. */
function* listDrawWays({ skippedBefore, skippedAfter }: BothVersions): Generator<WayToDiffer> {
  for (const way of new Set([...skippedBefore.keys(), ...skippedAfter.keys()])) {
    const [was, is] = [skippedBefore.get(way) ?? anyOf(), skippedAfter.get(way) ?? anyOf()];
    if (formatCondition(was) === formatCondition(is)) continue;
    yield { way, askedFor: 'verdict', must: [was], mustNot: [is] };
    yield { way, askedFor: 'verdict', must: [is], mustNot: [was] };
  }
}

function* listGroupWays({ before, after }: BothVersions, askedFor: RequestKind): Generator<WayToDiffer> {
  const [was, is] = [getConclusion(before, 'clientGroup'), getConclusion(after, 'clientGroup')];
  if (was.label === is.label) return;
  for (const one of CLIENT_GROUPS) {
    for (const other of CLIENT_GROUPS) {
      if (one === other) continue;
      const must = [createComparison(was, 'equal', one), createComparison(is, 'equal', other)];
      yield { way: groupWay(one, other), askedFor, must, mustNot: [] };
    }
  }
}

function* listBotWays({ before, after }: BothVersions, askedFor: RequestKind): Generator<WayToDiffer> {
  const [was, is] = [getConclusion(before, 'isBot'), getConclusion(after, 'isBot')];
  if (was.label === is.label) return;
  for (const wasBot of [false, true]) {
    const must = [createComparison(was, 'equal', wasBot), createComparison(is, 'equal', !wasBot)];
    yield { way: botWay(wasBot), askedFor, must, mustNot: [] };
  }
}

/**
 * Lists the way to get another score by another smoothing. The scores differ after the first few orders. If no such
 * orders are found, they may differ later for any client with a finished order.
 */
function* listScoreWays({ before, after, scope }: BothVersions): Generator<WayToDiffer> {
  const [was, is] = [before.settings.smoothing, after.settings.smoothing];
  if (isDeepStrictEqual(was, is)) return;
  const known = new FactsByName(before.facts);
  const counts = findOrdersScoredApart(was, is);
  const must =
    counts === null
      ? [known.above('finalCount', 0)]
      : [known.is('paidCount', counts.paid), known.is('unpaidCount', counts.unpaid)];
  yield { way: scoreWay(scope.platform), askedFor: 'score', must, mustNot: [] };
}

const ORDERS_TRIED_MAX = 50;

function findOrdersScoredApart(was: Smoothing, is: Smoothing) {
  for (let final = 1; final <= ORDERS_TRIED_MAX; final++) {
    for (let paid = final; paid >= 0; paid--) {
      if (computePaymentScore(paid, final, was) !== computePaymentScore(paid, final, is))
        return { paid, unpaid: final - paid };
    }
  }
  return null;
}

function* listLimitWays({ before, after, scope }: BothVersions): Generator<WayToDiffer> {
  for (const group of CLIENT_GROUPS) {
    const [was, is] = [before, after].map((rules) => getLimits(rules, rules.settings, group));
    if (isDeepStrictEqual(was, is)) continue;
    const must = [before, after].map((rules) =>
      createComparison(getConclusion(rules, 'clientGroup'), 'equal', group),
    );
    yield { way: limitsWay(group, scope.platform), askedFor: 'score', must, mustNot: [] };
  }
}

function getConclusion({ facts }: ParsedRules, name: string): FactRef {
  return new FactsByName(facts).requireFact(name);
}

/** The first rule that matches, or `otherwise`. The rule matches, and no rule before it does. */
interface FirstMatch {
  readonly name: string;
  readonly gives: VerdictParams;
  readonly must: readonly Condition[];
  readonly mustNot: readonly Condition[];
}

function listFirstMatches(
  rules: readonly Rule<VerdictParams>[],
  otherwise: VerdictParams,
): readonly FirstMatch[] {
  const conditions = rules.map(({ condition }) => condition);
  return [
    ...rules.map(({ name, condition, params }, index) => ({
      name,
      gives: params,
      must: [condition],
      mustNot: conditions.slice(0, index),
    })),
    { name: OTHERWISE, gives: otherwise, must: [], mustNot: conditions },
  ];
}

/** Tells whether one match demands a condition that the other rules out, as usual if versions differ little. */
function excludes({ must }: FirstMatch, { mustNot }: FirstMatch): boolean {
  const texts = new Set(mustNot.map(formatCondition));
  return must.some((condition) => texts.has(formatCondition(condition)));
}

/** All parts in which two answers may differ. Reasons and names of rules are only for people, and are not compared. */
export const COMPARED_ANSWER_PARTS = [
  'verdict',
  'wait',
  'ladder',
  'requisite',
  'group',
  'bot flag',
  'score',
  'limits',
  'held out',
] as const;

export type ComparedAnswerPart = (typeof COMPARED_ANSWER_PARTS)[number];

export const REQUEST_KINDS = ['verdict', 'score'] as const;

export type RequestKind = (typeof REQUEST_KINDS)[number];

export const AnswerSchema = shape('What a version answers to a payer with certain facts', {
  verdict: nullable(verdictSchema),
  rule: nullable(plainText('That gave the verdict; null of a score', 'asked-too-early')),
  /** A wait that follows a longer one is as long as the longer one. */
  waitSeconds: nullable(count('As the ladder alone has it; null without WAIT')),
  ladder: nullable(plainText('Where the client stands on it afterwards; null of a score', 'level 2')),
  requisite: yesNo('Whether the bound requisite, or its acceptors, are named'),
  clientGroup: clientGroupSchema,
  isBot: isBotSchema,
  paymentScore: plainText('As scores and records have it', '0.5000'),
  payLimitValue: nullable(
    list(plainText('Like EUR:250.00'), 'The payment limits in a score answer; null if the answers have none'),
  ),
  heldOut: list(
    plainText('A rule, and the share of the clients'),
    'What kept a rule from applying; of a verdict',
  ),
  text: plainText(
    'All of this, and all in which it differs from the answer of the other version',
    'WAIT 300 s by asked-too-early, NEW, no bot, level 2',
  ),
});

type Answer = ValueOf<typeof AnswerSchema>;

interface AnsweringVersion {
  /** The rules. The constants that they compare with pseudonyms are replaced by HMACs (`CASE_HMACS`). */
  readonly rules: RuleSet;
  readonly settings: PlatformSettings;
  /** Returns the value of a fact or a draw. Returns undefined if the value does not matter. */
  readonly factOf: (label: string) => NullableFactValue | undefined;
}

/** The answers of two versions to one request, and the parts in which they differ. */
export interface TwoAnswers {
  readonly before: Answer;
  readonly after: Answer;
  readonly differsIn: readonly ComparedAnswerPart[];
}

/** Answers one request by two versions and compares the answers. Nothing is recorded. */
export function answerTwice(
  askedFor: RequestKind,
  before: AnsweringVersion,
  after: AnsweringVersion,
): TwoAnswers {
  const was = computeAnswer(askedFor, before);
  const is = computeAnswer(askedFor, after);
  const differsIn = COMPARED_ANSWER_PARTS.filter(
    (member) => memberText(was, member) !== memberText(is, member),
  );
  return {
    before: { ...was, text: answerText(was, differsIn) },
    after: { ...is, text: answerText(is, differsIn) },
    differsIn,
  };
}

type AnswerParts = Omit<Answer, 'text'>;

function computeAnswer(askedFor: RequestKind, version: AnsweringVersion): AnswerParts {
  const { rules, factOf } = version;
  const isHeldOut = (rule: string, share: number) => factOf(formatHeldOutLabel({ rule, share })) === true;
  if (askedFor === 'verdict') return answerVerdict(version, isHeldOut);
  const values = rules.facts.map((ref) => toKeptValue(ref, factOf(ref.label) ?? null));
  return answerScore(version, assessFromFactValues(rules, values, factOf('isNewClient') === true, isHeldOut));
}

function answerScore(
  { rules, settings, factOf }: AnsweringVersion,
  { clientGroup, isBot }: Assessment,
): AnswerParts {
  return {
    verdict: null,
    rule: null,
    waitSeconds: null,
    ladder: null,
    heldOut: [],
    requisite: clientGroup === 'STICKY' && factOf('hasBinding') === true,
    clientGroup,
    isBot,
    paymentScore: computeScoreText(settings, factOf),
    payLimitValue: getLimits(rules, settings, clientGroup),
  };
}

/** Returns the payLimitValue of a group. Returns null if the platform's answers have no payLimitValue. */
function getLimits(
  { limits }: Pick<RuleSet, 'limits'>,
  { scoringLimits }: PlatformSettings,
  group: ClientGroup,
): readonly string[] | null {
  return scoringLimits ? (limits.get(group) ?? []) : null;
}

function answerVerdict({ rules, settings, factOf }: AnsweringVersion, isHeldOut: IsHeldOut): AnswerParts {
  const facts = Object.fromEntries(
    rules.facts.map((ref) => {
      const known = factOf(ref.label);
      return [
        ref.label,
        toKeptValue(ref, known === undefined ? UNUSED_VALUES[getFactValueType(ref.fact)] : known),
      ];
    }),
  );
  // If there was no earlier wait, the ladder alone gives the length of this one. The facts include the time that the
  // clock shows.
  const request = {
    platform: ANY_PLATFORM,
    at: 0,
    facts,
    digest: rules.digest,
    ladderBefore: createLadder(factOf),
  };
  const again = redecide({ ...rules, settings, platforms: new Map() }, request, isHeldOut);
  if (again.kind !== 'decided') throw new Error('a payer of all facts lacks one of them');
  const { assessment, concluded, drawnHoldouts } = again;
  const { verdict, rule, waitSeconds } = concluded;
  return {
    verdict,
    rule,
    waitSeconds,
    payLimitValue: null,
    ladder: ladderText(concluded.ladderAfter, concluded.ladder),
    requisite: verdict === 'GET_SAME_STICKY',
    clientGroup: assessment.clientGroup,
    isBot: assessment.isBot,
    paymentScore: computeScoreText(settings, factOf),
    heldOut: selectSkippedHoldouts(drawnHoldouts).map((held) => formatHeldOutLabel(held)),
  };
}

/** Converts a fact's value to the recorded value, which is an HMAC if the fact is kept as a pseudonym. */
function toKeptValue(ref: FactRef, value: NullableFactValue): NullableFactValue {
  if (typeof value !== 'string' || !isPseudonymFact(ref)) return value;
  return CASE_HMACS.derivePseudonyms(value)[0] ?? null;
}

/** The settings of the scope are those of the whole rule set, so the name of the platform does not matter. */
const ANY_PLATFORM = toPlatformName('any');

/** Values of facts that no rule compares. */
const UNUSED_VALUES = { boolean: false, number: 0, string: '' } as const;

/** Builds the client's state on the ladder from the facts, for the time 0. */
function createLadder(factOf: AnsweringVersion['factOf']): Ladder {
  const remainingSeconds = Number(factOf('waitRemainingSeconds') ?? 0);
  const isWaiting = remainingSeconds > 0 || factOf('waitServed') === true;
  return {
    level: Number(factOf('ladderLevel') ?? 0),
    attemptOpen: factOf('attemptOpen') === true,
    waitUntil: isWaiting ? remainingSeconds * 1000 : null,
  };
}

function ladderText({ level, attemptOpen }: Ladder, name: string | null): string {
  return `level ${level}${name === null ? '' : ` of the ladder ${name}`}${attemptOpen ? ' with an attempt open' : ''}`;
}

function computeScoreText({ smoothing }: PlatformSettings, factOf: AnsweringVersion['factOf']): string {
  const [paid, unpaid] = [Number(factOf('paidCount') ?? 0), Number(factOf('unpaidCount') ?? 0)];
  return formatPaymentScore(computePaymentScore(paid, paid + unpaid, smoothing));
}

function memberText(told: AnswerParts, member: ComparedAnswerPart): string {
  const texts: Readonly<Record<ComparedAnswerPart, string>> = {
    verdict: told.verdict ?? 'no verdict',
    wait: told.waitSeconds === null ? 'no wait' : `${told.waitSeconds} s`,
    ladder: told.ladder ?? 'no ladder',
    requisite: told.requisite ? 'the bound requisite' : 'no bound requisite',
    group: told.clientGroup,
    'bot flag': told.isBot ? 'a bot' : 'no bot',
    score: `score ${told.paymentScore}`,
    limits: told.payLimitValue === null ? 'no limits' : `limits ${told.payLimitValue.join(' ') || 'none'}`,
    'held out': told.heldOut.join(', ') || 'not held out',
  };
  return texts[member];
}

function answerText(told: AnswerParts, differsIn: readonly ComparedAnswerPart[]): string {
  const { verdict, rule, waitSeconds } = told;
  const wait = waitSeconds === null ? '' : ` ${memberText(told, 'wait')}`;
  // A verdict implies whether a requisite is shown, and two different verdicts imply where each leaves the ladder.
  const said: readonly ComparedAnswerPart[] = [
    ...(verdict === null ? [] : (['requisite'] as const)),
    ...(differsIn.includes('verdict') ? (['ladder'] as const) : []),
  ];
  const more = (['ladder', 'score', 'limits', 'requisite', 'held out'] as const).filter(
    (member) => differsIn.includes(member) && !said.includes(member),
  );
  return [
    ...(verdict === null ? [] : [`${verdict}${wait} by ${rule}`]),
    ...(['group', 'bot flag', ...more] as const).map((member) => memberText(told, member)),
  ].join(', ');
}
