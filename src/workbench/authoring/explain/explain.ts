import { isDeepStrictEqual } from 'node:util';
import { formatDuration } from '#base/duration.ts';
import { Type } from '#base/json-schema.ts';
import {
  createMomentWriter,
  list,
  named,
  nullable,
  plainText,
  shape,
  type ValueOf,
  yesNo,
} from '#base/shapes.ts';
import { listRaisedFlags } from '#decision/assess.ts';
import type { ConcludedVerdict } from '#decision/conclude-verdict.ts';
import {
  DECISION_MEMBER_NAMES,
  type Decision,
  DecisionSchema,
  isBotSchema,
  OTHERWISE,
} from '#decision/decision.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { type DrawnHoldout, replayHoldouts, selectSkippedHoldouts } from '#decision/holdout.ts';
import { clientGroupSchema } from '#decision/payer/client-state.ts';
import { getLevelWaitsMs, getRemainingWaitMs, type Ladder, LadderSchema } from '#decision/payer/ladder.ts';
import { formatPaymentScore } from '#decision/payer/payment-score.ts';
import {
  explainUnknownSecret,
  getFactValueType,
  type LackingFacts,
  type Redecided,
  redecide,
} from '#decision/redecision.ts';
import { foldCondition } from '#decision/rules/condition.ts';
import { formatSeenFact, joinWords } from '#decision/rules/condition-text.ts';
import {
  type ComparisonTrace,
  type ConditionTrace,
  ConditionTraceSchema,
  formatTracedSignal,
  hasTakenEffect,
  type RuleTrace,
  RuleTraceSchema,
  sumTracedSignalWeights,
  traceRuleSet,
} from '#decision/rules/evaluate/trace.ts';
import {
  getPlatformSettings,
  type PlatformSettings,
  type RuleSet,
  verdictSchema,
} from '#decision/rules/rule-set.ts';
import { createPayerAndIntegratorTexts } from './support-texts.ts';

const why = plainText('Why, in a sentence');
const rules = list(RuleTraceSchema, 'The rules, in the sequence of asking');

export const RulesTraceSchema = named(
  'RulesAccount',
  shape('How the rules came to a verdict', {
    groups: shape('How the group came about', {
      group: clientGroupSchema,
      rule: plainText('The rule that gave it'),
      why,
      rules,
    }),
    signals: shape('How the bot flag came about', {
      isBot: isBotSchema,
      weight: Type.Number({ description: 'The sum of the weights of the matching signals' }),
      threshold: Type.Number({ description: 'The least weight that makes a bot' }),
      why,
      /** The conditions under which no signal applies. Null if the rule set has none. */
      exempt: nullable(ConditionTraceSchema),
      rules,
    }),
    verdicts: shape('How the verdict came about', {
      verdict: verdictSchema,
      rule: plainText('The rule that gave it'),
      why,
      rules,
    }),
    flags: shape('How the flags beside the verdict came about', {
      raised: list(Type.String(), 'The flags, each once'),
      why,
      rules,
    }),
  }),
);

export type RulesTrace = ValueOf<typeof RulesTraceSchema>;

const LadderAccountSchema = shape('The ladder, also in words', {
  ...LadderSchema.properties,
  words: plainText('For people', 'no wait so far'),
});

const RerunDifferenceSchema = shape('A member that comes out differently; null stands for an absent one', {
  member: plainText('The name of a member of the decision'),
  recorded: Type.Unknown({ description: 'What the record says' }),
  rerun: Type.Unknown({ description: 'What the rules say' }),
});

type RerunDifference = ValueOf<typeof RerunDifferenceSchema>;

export const ExplanationSchema = named(
  'Explanation',
  shape('Why a decision was made, and whether its rule set still gives the same answer', {
    decision: DecisionSchema,
    /** Null if the rule set that decided is not available. */
    rules: nullable(RulesTraceSchema),
    ladder: shape('Before and after', { before: LadderAccountSchema, after: LadderAccountSchema }),
    sharedLists: list(
      Type.String(),
      'The shared lists that the request was on then, of those that the rules ask about',
    ),
    reproduced: yesNo('Asked again with the recorded facts, the rule set gives the same decision'),
    differences: list(RerunDifferenceSchema, 'Members in which it does not'),
    verification: plainText(
      'The same in a sentence, or what is missing for the comparison',
      'The rule set that decided is not here.',
    ),
    payerText: plainText(
      'What support may say to the payer: the payerText of the rule in the version that decided, or else a text by verdict and wait',
      'Your payment of 25.00 EUR can go ahead: please continue on the payment page.',
    ),
    integratorText: plainText(
      'What support may write to whoever asked for the verdict',
      'Order order-1001, 25.00 EUR by card, asked at 2026-01-01 12:00:00 UTC: ..',
    ),
  }),
);

export type Explanation = ValueOf<typeof ExplanationSchema>;

/**
 * Explains a decision from its record: it traces the rules over the recorded facts, and decides again from them. A
 * rule set with another digest than the decision's is not used, because it may have other rules. The explanation then
 * says which rule set is missing.
 */
export async function explainByRules(rules: RuleSet, decision: Decision): Promise<Explanation> {
  if (rules.digest !== decision.digest || rules.version !== decision.ruleVersion) {
    return explainWithoutRules(
      decision,
      `here is ${rules.version} with digest ${shortenDigest(rules.digest)}`,
    );
  }
  const again = redecide(rules, decision, replayHoldouts(decision.holdout));
  if (again.kind === 'lacking') {
    return {
      ...createBareExplanation(decision, rules),
      differences: listDamagedMembers(again, decision),
      verification: 'The record of the decision is damaged.',
    };
  }
  if (again.kind === 'unknownSecret')
    return { ...createBareExplanation(decision, rules), verification: explainUnknownSecret(again) };
  const { values } = again.assessment;
  const rerun = createRerun(rules, again);
  const differences = listDifferences(rules, decision, rerun, values);
  const reproduced = differences.length === 0;
  const source = `${rules.version} (digest ${shortenDigest(rules.digest)})`;
  return {
    ...createBareExplanation(decision, rules),
    rules: await createAccount(rules, values, rerun, decision),
    reproduced,
    differences,
    verification: reproduced
      ? `Asked again with the recorded facts, ${source} gives the same answer.`
      : `Asked again with the recorded facts, ${source} gives another answer than the one on record.`,
  };
}

/**
 * Lists the members in which a decision differs when its rule set decides again from its facts. The list is empty if
 * it does not differ. Returns null if the secret of the decision's pseudonyms is not available, so that the result is
 * not known.
 */
export function findRerunDifferences(rules: RuleSet, decision: Decision): readonly RerunDifference[] | null {
  const again = redecide(rules, decision, replayHoldouts(decision.holdout));
  if (again.kind === 'unknownSecret') return null;
  return again.kind === 'lacking'
    ? listDamagedMembers(again, decision)
    : listDifferences(rules, decision, createRerun(rules, again), again.assessment.values);
}

/**
 * Explains a decision without the rule set that decided. `there` says what is available instead, like "there is only
 * p2.v11".
 */
export function explainWithoutRules(decision: Decision, there: string): Explanation {
  const wanted = `${decision.ruleVersion} with digest ${shortenDigest(decision.digest)}`;
  return {
    ...createBareExplanation(decision, null),
    verification: `The rule set that decided, ${wanted}, is not here: ${there}. Bring its folder back from version control to see its rules.`,
  };
}

/** Shortens a digest to its first 12 characters, which are enough for people to tell rule sets apart. */
export function shortenDigest(digest: string): string {
  return digest.slice(0, 12);
}

function createBareExplanation(decision: Decision, rules: RuleSet | null): Explanation {
  const { ladderBefore, ladderAfter, ladder, at } = decision;
  const after = isDeepStrictEqual(ladderBefore, ladderAfter)
    ? 'the same'
    : describeLadderPosition(ladderAfter, at, ladder);
  return {
    decision,
    rules: null,
    ladder: {
      before: { ...ladderBefore, words: describeLadderPosition(ladderBefore, at) },
      after: { ...ladderAfter, words: after },
    },
    sharedLists: listSharedListsOn(decision),
    reproduced: false,
    differences: [],
    verification: '',
    ...createPayerAndIntegratorTexts(decision, rules),
  };
}

/**
 * Lists the shared lists that the request was on, by the record. These are facts like `listed(blocked-devices)` that
 * are true.
 */
function listSharedListsOn({ facts }: Decision): readonly string[] {
  const on = Object.entries(facts).filter(([, value]) => value === true);
  return on.flatMap(([label]) => /^listed\((.+)\)$/.exec(label)?.[1] ?? []);
}

function listDamagedMembers({ facts }: LackingFacts, decision: Decision): readonly RerunDifference[] {
  return facts.map(({ label, fact }) => ({
    member: `facts.${label}`,
    recorded: decision.facts[label] ?? null,
    rerun: getFactValueType(fact) === 'string' ? 'a text' : `a ${getFactValueType(fact)}`,
  }));
}

/** The part of a decision that follows from its facts, its ladder and its time. */
type Rerun = ConcludedVerdict & {
  readonly flags: readonly string[];
} & Pick<Decision, 'isBot' | 'signals' | 'clientGroup' | 'paymentScore'> & {
    readonly holdout: readonly DrawnHoldout[];
  };

function createRerun(rules: RuleSet, { assessment, concluded, drawnHoldouts }: Redecided): Rerun {
  const { isBot, signals, clientGroup, values } = assessment;
  const paymentScore = formatPaymentScore(Number(findFactValue(rules, values, 'paymentScore')));
  const flags = listRaisedFlags(rules, values);
  return { ...concluded, isBot, signals, clientGroup, paymentScore, holdout: drawnHoldouts, flags };
}

function listDifferences(
  rules: RuleSet,
  decision: Decision,
  rerun: Rerun,
  values: readonly NullableFactValue[],
): readonly RerunDifference[] {
  const again: Partial<Record<keyof Decision, unknown>> = rerun;
  const members = DECISION_MEMBER_NAMES.filter((member) => Object.hasOwn(rerun, member)).map((member) => ({
    member,
    recorded: decision[member] ?? (member === 'holdout' || member === 'flags' ? [] : null),
    rerun: again[member],
  }));
  const conclusions = rules.facts
    .filter(({ label }) => decision.facts[label] !== undefined)
    .map(({ label, index }) => ({
      member: `facts.${label}`,
      recorded: decision.facts[label],
      rerun: values[index],
    }));
  return [...members, ...conclusions]
    .filter(({ recorded, rerun }) => !isDeepStrictEqual(recorded, rerun))
    .map(writeDifference);
}

function writeDifference({ member, recorded, rerun }: RerunDifference): RerunDifference {
  const write = createMomentWriter(Object(DecisionSchema.properties)[member] ?? {});
  return { member, recorded: write(recorded), rerun: write(rerun) };
}

async function createAccount(
  rules: RuleSet,
  values: readonly NullableFactValue[],
  rerun: Rerun,
  { platform, at }: Decision,
): Promise<RulesTrace> {
  const heldOut = new Set(selectSkippedHoldouts(rerun.holdout).map((drawn) => drawn.rule));
  const { groups, signals, verdicts, flags, exempt } = await traceRuleSet(rules, values, heldOut);
  const { clientGroup, isBot, verdict, rule } = rerun;
  const settings = getPlatformSettings(rules, platform);
  const wait = verdict === 'WAIT' ? ` Its wait is ${describeWait(settings, rerun, at)}.` : '';
  const weight = sumTracedSignalWeights(signals);
  const { threshold } = rules.signals;
  return {
    groups: {
      group: clientGroup,
      rule: groups.find(hasTakenEffect)?.name ?? OTHERWISE,
      why: describeFirstMatch(groups, clientGroup),
      rules: groups,
    },
    signals: {
      isBot,
      weight,
      threshold,
      why:
        exempt?.passed === true
          ? describeExemption(exempt, signals)
          : describeWeight(signals, weight, threshold),
      exempt,
      rules: signals,
    },
    verdicts: {
      verdict,
      rule,
      why: describeFirstMatch(verdicts, verdict) + wait,
      rules: verdicts,
    },
    flags: { raised: rerun.flags, why: describeFlags(flags), rules: flags },
  };
}

function describeFlags(rules: readonly RuleTrace[]): string {
  if (rules.length === 0) return 'The rule set has no flags.';
  const matching = rules.filter(hasTakenEffect).map(({ name }) => name);
  if (matching.length === 0) return 'No rule of flags.yaml matched.';
  return `${joinWords(matching, 'and')} matched. Flags are for people and change no verdict.`;
}

/**
 * Says which rule matched first and why, like "asked-too-early matched, because waitRemainingSeconds is 1, above 0;
 * the 2 rules before it did not."
 */
function describeFirstMatch(rules: readonly RuleTrace[], gives: string): string {
  const place = rules.findIndex(hasTakenEffect);
  const first = rules[place];
  const skipped = rules.filter(({ heldOut }) => heldOut === true).length;
  const holdout = describeHeldOut(rules);
  const otherRules = skipped === 0 ? 'rules' : 'other rules';
  if (first === undefined)
    return `None of the ${otherRules} matched, so "otherwise" gave ${gives}.${holdout}`;
  const others = place - skipped;
  const before =
    others === 0 ? 'it is asked first' : `the ${others === 1 ? 'rule' : `${others} rules`} before it did not`;
  const reason = findDecisive(first.condition).map(formatSeenFact).join('; ');
  return `${first.name} matched, because ${reason}; ${before}.${holdout}`;
}

/** Describes a wait like "level 2 of the ladder, 5m (ladder.yaml:6)". */
function describeWait(
  { ladder }: PlatformSettings,
  { ladder: name, ladderAfter }: Rerun,
  at: number,
): string {
  const { level } = ladderAfter;
  const levelMs = getLevelWaitsMs(ladder, name)[level - 1] ?? 0;
  const place = ladder.levelsAt[name ?? '']?.[level - 1];
  const where = place === undefined ? '' : ` (${place.file}:${place.line})`;
  const step = `level ${level} of the ladder${name === null ? '' : ` "${name}"`}, ${formatDuration(levelMs)}`;
  return `${step}${where}${getRemainingWaitMs(ladderAfter, at) > levelMs ? LONGER : ''}`;
}

const LONGER = '; it is longer, because no wait is shorter than the one before it or ends earlier';

/**
 * Returns a sentence like " The client is held out of blocked-by-unpaid-chain, which matched too.", or an empty text.
 */
function describeHeldOut(rules: readonly RuleTrace[]): string {
  const names = rules.filter(({ heldOut }) => heldOut === true).map(({ name }) => name);
  return names.length === 0
    ? ''
    : ` The client is held out of ${joinWords(names, 'and')}, which matched too.`;
}

function describeWeight(rules: readonly RuleTrace[], weight: number, threshold: number): string {
  const matching = rules.filter(hasTakenEffect).map(formatTracedSignal);
  const holdout = describeHeldOut(rules);
  if (matching.length === 0)
    return `None of the signals matched; a bot has a weight of ${threshold} or more.${holdout}`;
  const reached = weight >= threshold ? 'reaches' : 'stays below';
  return `Matched: ${matching.join(', ')}. The weight of ${weight} ${reached} the threshold of ${threshold}.${holdout}`;
}

/**
 * Says why no signal applies, like "No signal applies: the payer is exempt from all of them, because overrideGroup is
 * TRUSTED (bot-signals.yaml:9)."
 */
function describeExemption(exempt: ConditionTrace, signals: readonly RuleTrace[]): string {
  const { file, line } = exempt.at;
  const because = findDecisive(exempt).map(formatSeenFact).join('; ');
  const matching = signals.filter(({ matched }) => matched).map(({ name }) => name);
  const without = matching.length === 0 ? '' : ` Without it ${joinWords(matching, 'and')} would match.`;
  return `No signal applies: the payer is exempt from all of them, because ${because} (${file}:${line}).${without}`;
}

function describeLadderPosition(
  { level, attemptOpen, waitUntil }: Ladder,
  at: number,
  ladder?: string,
): string {
  const named = ladder === undefined ? '' : ` of the ladder "${ladder}"`;
  const step = level === 0 ? 'no wait so far' : `level ${level}${named}`;
  if (attemptOpen) return `${step}; a requisite was granted and is not paid yet`;
  if (waitUntil === null) return level === 0 ? 'as before a first request' : `${step}; no wait is due`;
  const seconds = Math.ceil(Math.abs(waitUntil - at) / 1000);
  return waitUntil > at
    ? `${step}; its wait has ${seconds} s to go, until ${formatDateTime(waitUntil)}`
    : `${step}; its wait was over ${seconds} s before, at ${formatDateTime(waitUntil)}`;
}

/** Formats a moment like `2026-07-03 10:21:44.123 UTC`. */
export function formatDateTime(at: number | string): string {
  return new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');
}

function findFactValue(
  rules: RuleSet,
  values: readonly NullableFactValue[],
  label: string,
): NullableFactValue | undefined {
  return values[rules.facts.find((ref) => ref.label === label)?.index ?? -1];
}

interface Decided {
  readonly passed: boolean;
  readonly by: readonly ComparisonTrace[];
}

/** Finds the comparisons that decide whether a condition holds. */
function findDecisive(condition: ConditionTrace): readonly ComparisonTrace[] {
  return foldCondition(condition, {
    group: (kind, parts, { passed }): Decided => {
      // A single failure decides "all", and a single success decides "any". Otherwise all members decide together.
      const oneIsEnough = passed === (kind === 'any');
      const having = parts.filter((part) => !oneIsEnough || part.passed === passed);
      return { passed, by: having.flatMap(({ by }) => by) };
    },
    not: ({ by }, { passed }) => ({ passed, by }),
    reference: (_name, part) => part,
    // If a fact is not known, no comparison with it holds. This is true within a "not" as well.
    comparison: (comparison) => ({
      passed: comparison.passed,
      by: isDeciding(comparison) ? [comparison] : [],
    }),
  }).by;
}

function isDeciding({ seen, operator }: ComparisonTrace): boolean {
  return seen !== null || operator === 'known';
}
