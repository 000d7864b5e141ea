import { type Assessment, assessFromFactValues } from './assess.ts';
import { type ConcludedVerdict, concludeVerdict } from './conclude-verdict.ts';
import type { Decision } from './decision.ts';
import type { Fact, NullableFactValue } from './facts/fact.ts';
import { type DrawnHoldout, type IsHeldOut, listHoldoutFacts } from './holdout.ts';
import { readAttributeAsDeclared } from './payer/attributes.ts';
import { EMPTY_LADDER } from './payer/ladder.ts';
import { type FactRef, listConditionFacts } from './rules/condition.ts';
import { joinWords } from './rules/condition-text.ts';
import { getPlatformSettings, listDecidingConditions, type RuleSet } from './rules/rule-set.ts';

/**
 * A recorded request that a version is asked about: where and when it was decided, and the facts that were recorded
 * then, by label.
 */
export interface RecordedRequest extends Pick<Decision, 'platform' | 'at'> {
  readonly facts: Readonly<Record<string, NullableFactValue>>;
  /**
   * The digest of the rule set that recorded the facts. That rule set uses the recorded time of day. Any other rule
   * set computes the time of day in its own time zone.
   */
  readonly digest?: string;
  /** If missing, the client was below the first level. */
  readonly ladderBefore?: Decision['ladderBefore'];
  readonly waitFloorMs?: number;
}

/** The answer of a version to a recorded request, or the missing facts that make an answer impossible. */
export type RedecisionResult = Redecided | LackingFacts | UnknownSecret;

/** What the version concluded on the recorded facts. */
export interface Redecided {
  readonly kind: 'decided';
  /** The recorded facts, together with the facts that the version computes from the platform and the time. */
  readonly facts: Readonly<Record<string, NullableFactValue>>;
  readonly assessment: Assessment;
  readonly concluded: ConcludedVerdict;
  /** Rules with a holdout that matched, in the sequence in which they were reached. */
  readonly drawnHoldouts: readonly DrawnHoldout[];
  /** Facts that the reason quotes and that the record lacks. */
  readonly missingQuotedFacts: readonly FactRef[];
}

/** The answer when the version cannot decide, because the record lacks facts that its rules compare. */
export interface LackingFacts {
  readonly kind: 'lacking';
  /**
   * The compared facts that the record lacks, and the facts whose recorded value has a type that the fact cannot
   * have.
   */
  readonly facts: readonly FactRef[];
}

/**
 * The answer when the version cannot decide, because pseudonyms in the record were made under a secret that this node
 * lacks.
 */
export interface UnknownSecret {
  readonly kind: 'unknownSecret';
  /**
   * Facts that rules compare with constants, and whose recorded pseudonyms were made under a secret that this node
   * lacks.
   */
  readonly facts: readonly FactRef[];
}

/**
 * Lists the labels of what the record lacks for an answer: facts, or their pseudonyms under a secret that this node
 * has.
 */
export function listLackingLabels({ kind, facts }: LackingFacts | UnknownSecret): readonly string[] {
  const under = kind === 'lacking' ? '' : ' under this SIGNAL_SECRET';
  return facts.map(({ label }) => `${label}${under}`);
}

/** Explains why nobody can say what a version answers, and what to do. */
export function explainUnknownSecret({ facts }: Pick<UnknownSecret, 'facts'>): string {
  const names = joinWords(
    facts.map(({ label }) => label),
    'and',
  );
  return `The rules compare ${names} with constants, and the record keeps it as an HMAC under another SIGNAL_SECRET than the one here. Set SIGNAL_SECRET to that of the service, or SIGNAL_SECRET_PREVIOUS to the one before.`;
}

/**
 * Creates a function that tells how a version would have answered a recorded request. Explanations, what-if,
 * differences between versions and reports all use it. `isHeldOut` says which rules are skipped: `NOBODY_HELD_OUT`,
 * or `replayHoldouts` for the rules that were skipped when the request was recorded.
 */
export function createRedecider(
  rules: RuleSet,
): (recorded: RecordedRequest, isHeldOut: IsHeldOut) => RedecisionResult {
  const compared = collectComparedFacts(rules);
  return (recorded, isHeldOut) => {
    const { platform, at, ladderBefore = EMPTY_LADDER, waitFloorMs: lastWaitMs = 0 } = recorded;
    const own = recorded.digest === rules.digest ? {} : computeCircumstantialFacts(rules, recorded);
    const facts: Readonly<Record<string, NullableFactValue | undefined>> = { ...recorded.facts, ...own };
    const lacking = rules.facts.filter(({ label, fact }) => {
      const value = facts[label];
      if (value === undefined) return fact.kind !== 'concluded' && compared.has(label);
      // Another version may declare an attribute differently, and reads the value by its own declaration.
      if (fact.kind === 'attribute') return false;
      return value === null ? fact.absence === undefined : typeof value !== getFactValueType(fact);
    });
    if (lacking.length > 0) return { kind: 'lacking', facts: lacking };
    const values = rules.facts.map(({ label, fact }) => readRecordedValue(fact, facts[label]));
    // The facts of a verdict include its own request, so its client is never new.
    const assessment = assessFromFactValues(rules, values, false, isHeldOut);
    const { incomparableFacts } = assessment;
    if (incomparableFacts.length > 0) return { kind: 'unknownSecret', facts: incomparableFacts };
    const standing = { ladderBefore, lastWaitMs, at };
    const concluded = concludeVerdict(
      rules,
      getPlatformSettings(rules, platform),
      assessment,
      standing,
      isHeldOut,
    );
    return {
      kind: 'decided',
      facts: { ...recorded.facts, ...own },
      assessment,
      concluded,
      drawnHoldouts: [...assessment.drawnHoldouts, ...concluded.drawnHoldouts],
      missingQuotedFacts: listQuotedFacts(rules, concluded).filter(
        ({ label, fact }) => fact.kind !== 'concluded' && facts[label] === undefined,
      ),
    };
  };
}

function readRecordedValue(fact: Fact, value: NullableFactValue | undefined): NullableFactValue {
  if (fact.kind !== 'attribute' || fact.declared === null) return value ?? null;
  return readAttributeAsDeclared(fact.declared, value);
}

/** Tells how a version would have answered one recorded request. See `createRedecider`. */
export function redecide(rules: RuleSet, recorded: RecordedRequest, isHeldOut: IsHeldOut): RedecisionResult {
  return createRedecider(rules)(recorded, isHeldOut);
}

/**
 * Computes the facts that depend on the platform and time of a decision, as this rule set sees them. Versions may
 * have different time zones.
 */
export function computeCircumstantialFacts(
  rules: RuleSet,
  { platform, at: now }: Pick<RecordedRequest, 'platform' | 'at'>,
): Readonly<Record<string, NullableFactValue>> {
  const { timeZone } = getPlatformSettings(rules, platform);
  return Object.fromEntries(
    rules.facts.flatMap(({ label, fact }) =>
      fact.kind === 'circumstantial' ? [[label, fact.read({ platform, timeZone, now })]] : [],
    ),
  );
}

/** Returns the type of a fact's values in the words of `typeof`. */
export function getFactValueType({
  domain: { type },
}: Pick<Fact, 'domain'>): 'string' | 'number' | 'boolean' {
  return type === 'enum' || type === 'text' ? 'string' : type;
}

/** Collects the labels of the facts that conditions compare, and of the facts that decide who may be held out. */
function collectComparedFacts(rules: RuleSet): ReadonlySet<string> {
  // Flags change no answer, so a record without their facts can still be answered.
  const compared = [...listConditionFacts(listDecidingConditions(rules)), ...listHoldoutFacts(rules)];
  return new Set(compared.map(({ label }) => label));
}

function listQuotedFacts({ verdicts }: RuleSet, { rule }: ConcludedVerdict): readonly FactRef[] {
  const { reason } = verdicts.rules.find(({ name }) => name === rule)?.params ?? verdicts.otherwise;
  return reason.flatMap((part) => (part.kind === 'fact' ? [part.fact] : []));
}
