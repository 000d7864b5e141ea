import { Type } from '#base/json-schema.ts';
import { choice, describedChoice, withExample } from '#base/shapes.ts';
import type { VERDICTS } from '#decision/decision-words.ts';
import type { ConcludedFact, FactValue, NullableFactValue, SharingQuestions } from '#decision/facts/fact.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import type { DeclaredAttribute, DeclaredAttributes } from '#decision/payer/attributes.ts';
import type { ClientGroup } from '#decision/payer/client-state.ts';
import type { LadderSettings } from '#decision/payer/ladder.ts';
import type { Smoothing } from '#decision/payer/payment-score.ts';
import type { Condition, FactRef } from './condition.ts';
import type { Matcher } from './matcher.ts';
import type { Location } from './problem.ts';
import type { MeantBreaches } from './promises.ts';

declare const ruleVersionBrand: unique symbol;

/**
 * A version of a rule set, like `p<n>.v<n>`. It is the name of the rule set's folder, and every verdict carries it. A
 * draft may also be named `p<n>.v<n>-<word>`.
 */
export type RuleVersion = string & { readonly [ruleVersionBrand]: true };

export const RULE_VERSION_FORM =
  'p<number>.v<number>, like p2.v10; a draft may add one hyphen and one word of at most 16 small letters and digits, like p2.v11-night';

/** A number has one spelling. Otherwise p2.v011 would be another version than p2.v11, with the same rank. */
export const RULE_VERSION_PATTERN = '^p(0|[1-9]\\d{0,5})\\.v(0|[1-9]\\d{0,5})(-[a-z][a-z0-9]{0,15})?$';

/** The schema of a version that a person writes and that is not checked yet. */
export function createUncheckedVersionSchema(description: string) {
  const told = { pattern: RULE_VERSION_PATTERN };
  return withExample(
    Type.String({ minLength: 1, maxLength: 32, wellFormed: true, told, description }),
    'p2.v11',
  );
}

const RULE_VERSION = new RegExp(RULE_VERSION_PATTERN);

export const ruleVersionSchema = withExample(
  Type.String({ pattern: RULE_VERSION_PATTERN, description: 'Version of the rule set, like p2.v10' }),
  'p2.v10',
);

/** A digest over the files of a rule set: SHA-256 in hex. */
export const DIGEST_PATTERN = '^[0-9a-f]{64}$';

export function isRuleVersion(text: string): text is RuleVersion {
  return RULE_VERSION.test(text);
}

export function describeBadVersionName(text: string): string {
  return `"${text}" is not a valid name of a version, which is ${RULE_VERSION_FORM}`;
}

/** Whether a version has the name of a draft, with a word at its end. Such a version is never released. */
export function hasDraftName(version: RuleVersion): boolean {
  return version.includes('-');
}

export type Verdict = (typeof VERDICTS)[number];

export function mapVerdicts<T>(of: (verdict: Verdict) => T) {
  return {
    GET_NEW: of('GET_NEW'),
    GET_SAME_STICKY: of('GET_SAME_STICKY'),
    WAIT: of('WAIT'),
    BLOCK: of('BLOCK'),
  } satisfies Record<Verdict, T>;
}

const VERDICT_MEANINGS = {
  GET_NEW: 'issue a new requisite',
  GET_SAME_STICKY: 'show the bound requisite',
  WAIT: 'show a timer for waitSeconds, then ask again',
  BLOCK: 'do not issue a requisite, show support contact',
} as const satisfies Record<Verdict, string>;

export const verdictSchema = describedChoice<Verdict>(VERDICT_MEANINGS, 'What the caller is to do');
/** The schema of a member that can only be this one verdict. */
export const createSingleVerdictSchema = <const V extends Verdict>(name: V) =>
  choice([name], VERDICT_MEANINGS[name]);

interface ConcludedFactRef {
  readonly fact: ConcludedFact;
  readonly index: number;
}

/** A share of the clients for whom a rule is skipped, to learn what the rule costs and saves. */
export interface Holdout {
  /** The share of the clients, above 0. */
  readonly share: number;
  /**
   * The largest amount in each currency for which the rule may be skipped. In other currencies the rule is never
   * skipped. Null if the amount does not matter.
   */
  readonly maxAmounts: Readonly<Record<string, number>> | null;
  readonly at: Location;
}

export interface Rule<Params> {
  readonly name: string;
  readonly description: string;
  /** Rules with a higher priority are asked first. */
  readonly priority: number;
  /** The condition as it is evaluated, after `moveNegations` has moved each "not" to the comparisons within it. */
  readonly condition: Condition;
  /** The condition as the analyst wrote it. */
  readonly written: Condition;
  readonly params: Params;
  readonly holdout?: Holdout;
  readonly at: Location;
}

/** Lists the rules without a holdout. They apply whenever they match. */
export function listRulesWithoutHoldout<Params>(rules: readonly Rule<Params>[]): readonly Rule<Params>[] {
  return rules.filter(({ holdout }) => holdout === undefined);
}

/** The name of the conditions that exempt from all signals. Explanations show it beside the names of the signals. */
export const EXEMPTION_NAME = 'exempt';

/** A rule under whose conditions no bot signal applies. */
export type SignalExemption = Rule<object>;

export interface GroupParams {
  readonly group: ClientGroup;
}

export interface SignalParams {
  readonly weight: number;
  /** The thing that the signal observes, like `device`. Missing if no other signal observes it. */
  readonly about?: string;
}

export interface FlagParams {
  /** The flag that is recorded beside the verdict, like `large-first-order`. Callers never see it. */
  readonly flag: string;
}

/** A part of a reason text: words, the value of a fact, or a value of the answer. */
export type ReasonPart =
  | { readonly kind: 'words'; readonly words: string }
  | { readonly kind: 'fact'; readonly fact: FactRef }
  | { readonly kind: 'answer'; readonly name: AnswerPlaceholder };

/** The values that a reason may quote besides facts: the wait that this verdict imposes and its level. */
export const ANSWER_PLACEHOLDERS = ['waitSeconds', 'ladderLevelAfter'] as const;

export type AnswerPlaceholder = (typeof ANSWER_PLACEHOLDERS)[number];

export interface VerdictParams {
  readonly verdict: Verdict;
  /** The named ladder of a WAIT. Null for the ladder without a name, and for other verdicts. */
  readonly ladder: string | null;
  readonly reason: readonly ReasonPart[];
  /**
   * The text that support or the shop may tell the payer. {waitSeconds} stands for the wait in words. Null for the
   * default text.
   */
  readonly payerText: string | null;
}

/** A ladder of a rule set, with the places of its levels. */
export interface LadderWithLocations extends LadderSettings {
  /** The places of the levels by the name of their ladder. '' is the ladder without a name. */
  readonly levelsAt: Readonly<Record<string, readonly Location[]>>;
}

export interface PlatformSettings {
  /** The currency of requests that name no currency. */
  readonly currency: string;
  /** The IANA name of the time zone of hourOfDay and dayOfWeek. */
  readonly timeZone: string;
  readonly smoothing: Smoothing;
  /** Whether score answers carry payLimitValue. */
  readonly scoringLimits: boolean;
  readonly ladder: LadderWithLocations;
}

/** A rule set that was parsed without problems. Only `parseRuleSet` makes one. */
export interface ParsedRules {
  readonly version: RuleVersion;
  readonly description: string;
  readonly settings: PlatformSettings;
  readonly platforms: ReadonlyMap<string, PlatformSettings>;
  /** The attributes that callers may state about a payer, by name. */
  readonly attributes: DeclaredAttributes;
  /** Every fact that decisions record, in the sequence of their values. */
  readonly facts: readonly FactRef[];
  readonly groups: { readonly rules: readonly Rule<GroupParams>[]; readonly otherwise: ClientGroup };
  readonly signals: {
    readonly rules: readonly Rule<SignalParams>[];
    readonly threshold: number;
    /** Null if no conditions exempt from all signals. */
    readonly exempt: SignalExemption | null;
  };
  readonly verdicts: { readonly rules: readonly Rule<VerdictParams>[]; readonly otherwise: VerdictParams };
  /** Empty if the rule set has no flags. */
  readonly flags: { readonly rules: readonly Rule<FlagParams>[] };
  /** The items of `payLimitValue` by client group. Empty if the rule set has no limits. */
  readonly limits: ReadonlyMap<ClientGroup, readonly string[]>;
  /** The lists that rules name with `value: { list: NAME }`, by name. */
  readonly lists: ReadonlyMap<string, RuleSetValueList>;
  /** The promises that the rule set breaks on purpose. */
  readonly meant: MeantBreaches;
}

/** Lists all conditions of a rule set in the sequence in which they are asked. */
export function listConditions(rules: ParsedRules): readonly Condition[] {
  return groupRulesByFile(rules).flatMap((file) => file.map(({ condition }) => condition));
}

/** Lists all conditions except those of flags, which change no answer. */
export function listDecidingConditions(rules: ParsedRules): readonly Condition[] {
  return listConditions({ ...rules, flags: { rules: [] } });
}

/**
 * Groups everything that has conditions by file. These are the rules and the exemption from the signals, which comes
 * before the signals.
 */
export function groupRulesByFile({
  groups,
  signals,
  verdicts,
  flags,
}: ParsedRules): readonly (readonly Rule<object>[])[] {
  return [groups.rules, listExemptionAndSignals(signals), verdicts.rules, flags.rules];
}

export function listExemptionAndSignals({ exempt, rules }: ParsedRules['signals']): readonly Rule<object>[] {
  return exempt === null ? rules : [exempt, ...rules];
}

/**
 * Counts the rules of a rule set. The count includes the rules of flags, the two `otherwise` and the exemption from
 * the signals.
 */
export function countRules(rules: ParsedRules): number {
  return groupRulesByFile(rules).reduce((sum, file) => sum + file.length, OTHERWISE_COUNT);
}

/** Groups and verdicts have one `otherwise` each. */
const OTHERWISE_COUNT = 2;

/** Explains what `countRules` counts besides rules, to readers who count in the files. */
export function explainCountedExtras({ signals }: ParsedRules): string {
  return `with "otherwise" twice${signals.exempt === null ? '' : ` and "${EXEMPTION_NAME}"`}`;
}

export function listSharedListNames({ facts }: Pick<ParsedRules, 'facts'>): readonly string[] {
  return facts.flatMap(({ list }) => list ?? []);
}

/** A rule with a test of the values of a decision. */
export interface MatchableRule<Params> extends Rule<Params> {
  readonly matches: Matcher;
}

/** The rules of a file, loaded into json-rules-engine. */
export interface LoadedEngine {
  /** Runs the engine over the values of a decision. Returns for each rule by name whether it matches. */
  evaluateRules(values: readonly NullableFactValue[]): Promise<ReadonlyMap<string, boolean>>;
}

/** Marks the results of `compileRuleSet`. Nothing else sets this member. */
export const compiledBrand: unique symbol = Symbol('compiled');

/** A rule set that can decide. `compileRuleSet` makes it of parsed rules. */
export interface RuleSet extends ParsedRules {
  readonly [compiledBrand]: true;
  /** The SHA-256 over all files that decide, in hex. */
  readonly digest: string;
  /** A record with the labels of all facts, to be copied and filled. Such copies are cheap to make and to write. */
  readonly blankRecord: Readonly<Record<string, NullableFactValue>>;
  /** The facts that the rules themselves conclude. They are three of `facts`. */
  readonly concludedFacts: readonly ConcludedFactRef[];
  /** What the rules ask about devices and attribute values that several clients share. */
  readonly sharing: SharingQuestions;
  /** The attributes whose values a payer's state remembers, because rules count them. */
  readonly rememberedAttributes: readonly DeclaredAttribute[];
  /** The pseudonyms that rules compare with constants. */
  readonly hashedFacts: readonly FactRef[];
  /** The HMACs by which rules compare pseudonyms with constants. */
  readonly attributeHmacs: AttributePseudonymizer;
  /** Whether there is a release.json that agrees with the files. Only such a version may become active. */
  readonly released: boolean;
  readonly groups: { readonly rules: readonly MatchableRule<GroupParams>[]; readonly otherwise: ClientGroup };
  readonly signals: {
    readonly rules: readonly MatchableRule<SignalParams>[];
    readonly threshold: number;
    readonly exempt: MatchableRule<object> | null;
  };
  readonly verdicts: {
    readonly rules: readonly MatchableRule<VerdictParams>[];
    readonly otherwise: VerdictParams;
  };
  readonly flags: { readonly rules: readonly MatchableRule<FlagParams>[] };
  /**
   * The engines from which the matchers of the rules were made, and which explanations of decisions run. The engine
   * `exempt` is asked before the engine `signals`.
   */
  readonly engines: Readonly<Record<'groups' | 'exempt' | 'signals' | 'verdicts' | 'flags', LoadedEngine>>;
}

/** A list of the rule set that rules compare facts with. Its file is `lists/NAME.yaml`. */
export interface RuleSetValueList {
  readonly name: string;
  readonly description: string;
  readonly values: readonly FactValue[];
}

export function getPlatformSettings(rules: ParsedRules, platform: string): PlatformSettings {
  return rules.platforms.get(platform) ?? rules.settings;
}

/** The form of the names of rules, ladders and lists: lower-case words joined by "-". */
export const NAME_PATTERN = '^[a-z][a-z0-9]*(-[a-z0-9]+)*$';

export const NAME_CHARACTERS_MAX = 64;

const NAME = new RegExp(NAME_PATTERN);

export function isName(text: string): boolean {
  return text.length <= NAME_CHARACTERS_MAX && NAME.test(text);
}

const LIST_NAME_FORM =
  'lower-case words joined by "-", starting with a letter, at most 64 characters, like fast-methods';

/** The message about a list that cannot have its name. */
export const LIST_NAME_MESSAGE = `The name of a list has ${LIST_NAME_FORM}.`;

export function describeBadListName(name: string): string {
  return `the name of a list has ${LIST_NAME_FORM}, unlike "${name}"`;
}

/**
 * Sums the weights of matching signals. If several signals are about one thing, only the weight of the heaviest is
 * added.
 */
export function sumSignalWeights(matching: readonly SignalParams[]): number {
  return sumAndRoundWeights(selectHeaviestByAbout(matching).map(({ weight }) => weight));
}

/**
 * Keeps only the heaviest of several signals about the same thing. If several are equally heavy, the first one is
 * kept.
 */
export function selectHeaviestByAbout<Signal extends SignalParams>(
  matching: readonly Signal[],
): readonly Signal[] {
  if (matching.every(({ about }) => about === undefined)) return matching;
  const heaviest = new Map<string, Signal>();
  for (const signal of matching) {
    const { about, weight } = signal;
    if (about !== undefined && weight > (heaviest.get(about)?.weight ?? 0)) heaviest.set(about, signal);
  }
  return matching.filter((signal) => signal.about === undefined || heaviest.get(signal.about) === signal);
}

/** Sums signal weights and rounds the sum, so that weights of 0.7 and 0.1 reach a threshold of 0.8. */
export function sumAndRoundWeights(weights: readonly number[]): number {
  return Math.round(weights.reduce((total, weight) => total + weight, 0) * 1e6) / 1e6;
}

/** Compares versions by their numbers, so that they are sorted p2.v9, p2.v10, p3.v1. */
export function compareRuleVersions(a: RuleVersion, b: RuleVersion): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
