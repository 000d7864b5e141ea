import { Type } from '#base/json-schema.ts';
import { choice, meaning, withExample } from '#base/shapes.ts';
import type { VERDICTS } from '#decision/decision-words.ts';
import type { ConcludedFact, FactReading, FactValue, SharingQuestions } from '#decision/facts/fact.ts';
import type { AttributeHmacs } from '#decision/payer/attribute-hmacs.ts';
import type { DeclaredAttribute, DeclaredAttributes } from '#decision/payer/attributes.ts';
import type { ClientGroup } from '#decision/payer/client-state.ts';
import type { LadderSettings } from '#decision/payer/ladder.ts';
import type { Smoothing } from '#decision/payer/payment-score.ts';
import type { Condition, FactRef } from './condition.ts';
import type { Matcher } from './matcher.ts';
import type { Location } from './problem.ts';
import type { MeantBreaches } from './promises.ts';

declare const ruleVersionBrand: unique symbol;

/** `p<n>.v<n>`, the name of the rule set's folder and the stamp on every verdict; of a draft also `p<n>.v<n>-<word>`. */
export type RuleVersion = string & { readonly [ruleVersionBrand]: true };

export const RULE_VERSION_FORM =
  'p<number>.v<number>, like p2.v10; a draft may have one hyphen and one word behind it, of at most 16 small letters and digits, like p2.v11-night';

/** A number has one spelling: p2.v011 beside p2.v11 would be another version of the same rank. */
export const RULE_VERSION_PATTERN = '^p(0|[1-9]\\d{0,5})\\.v(0|[1-9]\\d{0,5})(-[a-z][a-z0-9]{0,15})?$';

/** A version as somebody writes it, which is not checked yet. */
export function versionTextSchema(description: string) {
  const told = { pattern: RULE_VERSION_PATTERN };
  return withExample(
    Type.String({ minLength: 1, maxLength: 32, wellFormed: true, told, description }),
    'p2.v11',
  );
}

const RULE_VERSION = new RegExp(RULE_VERSION_PATTERN);

export const ruleVersion = withExample(
  Type.String({ pattern: RULE_VERSION_PATTERN, description: 'Version of the rule set, like p2.v10' }),
  'p2.v10',
);

/** A digest over the files of a rule set: sha256 in hex. */
export const DIGEST_PATTERN = '^[0-9a-f]{64}$';

export function isRuleVersion(text: string): text is RuleVersion {
  return RULE_VERSION.test(text);
}

export function refuseVersionName(text: string): string {
  return `"${text}" is no name of a version, which is ${RULE_VERSION_FORM}`;
}

/** Whether a version has a draft's name, with a word at its end: it is never released. */
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

export const verdict = meaning<Verdict>(VERDICT_MEANINGS, 'What the caller is to do');
export const verdictWord = <const V extends Verdict>(name: V) => choice([name], VERDICT_MEANINGS[name]);

interface ConcludedFactRef {
  readonly fact: ConcludedFact;
  readonly index: number;
}

/** A rule is skipped for a share of the clients, to see what it costs and saves. */
export interface Holdout {
  /** Of the clients, above 0. */
  readonly share: number;
  /** By currency, the largest amount for which it is skipped; in other currencies it is not. Null: whatever the amount. */
  readonly maxAmounts: Readonly<Record<string, number>> | null;
  readonly at: Location;
}

export interface Rule<Params> {
  readonly name: string;
  readonly description: string;
  /** Higher is asked first. */
  readonly priority: number;
  /** As it is evaluated: each "not" is moved to the comparisons within it. */
  readonly condition: Condition;
  /** As the analyst wrote it. */
  readonly written: Condition;
  readonly params: Params;
  readonly holdout?: Holdout;
  readonly at: Location;
}

/** The rules that certainly apply whenever they match: nobody is held out of them. */
export function listRulesWithoutHoldout<Params>(rules: readonly Rule<Params>[]): readonly Rule<Params>[] {
  return rules.filter(({ holdout }) => holdout === undefined);
}

/** The name under which the conditions that exempt from all signals are told, beside those of the signals. */
export const EXEMPT = 'exempt';

/** Under its conditions no bot signal applies, whatever else shows. */
export type Exemption = Rule<object>;

export interface GroupParams {
  readonly group: ClientGroup;
}

export interface SignalParams {
  readonly weight: number;
  /** What it observes, like `device`; absent: something that no other signal observes. */
  readonly about?: string;
}

export interface FlagParams {
  /** Recorded beside the verdict, like `large-first-order`; callers never see it. */
  readonly flag: string;
}

/** A piece of a reason text: words, a fact's value, or a value of the answer. */
export type ReasonPart =
  | { readonly kind: 'words'; readonly words: string }
  | { readonly kind: 'fact'; readonly fact: FactRef }
  | { readonly kind: 'answer'; readonly name: AnswerPlaceholder };

/** What a reason may quote besides facts: the wait that this verdict imposes and its level. */
export const ANSWER_PLACEHOLDERS = ['waitSeconds', 'ladderLevelAfter'] as const;

export type AnswerPlaceholder = (typeof ANSWER_PLACEHOLDERS)[number];

export interface VerdictParams {
  readonly verdict: Verdict;
  /** The named ladder of a WAIT; null for the one without a name, and without WAIT. */
  readonly ladder: string | null;
  readonly reason: readonly ReasonPart[];
  /** What support or the shop may say to the payer, with {waitSeconds} for the wait in words; null for the default. */
  readonly payerText: string | null;
}

/** A ladder as a rule set has it. */
export interface WrittenLadder extends LadderSettings {
  /** Where each level is written, by the name of its ladder; '' is the one without a name. */
  readonly levelsAt: Readonly<Record<string, readonly Location[]>>;
}

export interface PlatformSettings {
  /** Used when a request names none. */
  readonly currency: string;
  /** IANA name; what hourOfDay and dayOfWeek go by. */
  readonly timeZone: string;
  readonly smoothing: Smoothing;
  /** Whether score answers carry payLimitValue. */
  readonly scoringLimits: boolean;
  readonly ladder: WrittenLadder;
}

/** A rule set that has been read and found sound. Only `parse` makes one. */
export interface ParsedRules {
  readonly version: RuleVersion;
  readonly description: string;
  readonly settings: PlatformSettings;
  readonly platforms: ReadonlyMap<string, PlatformSettings>;
  /** What callers may say of a payer, by name. */
  readonly attributes: DeclaredAttributes;
  /** Every fact that decisions record, in the order of their values. */
  readonly facts: readonly FactRef[];
  readonly groups: { readonly rules: readonly Rule<GroupParams>[]; readonly otherwise: ClientGroup };
  readonly signals: {
    readonly rules: readonly Rule<SignalParams>[];
    readonly threshold: number;
    /** Null where nothing exempts from all signals. */
    readonly exempt: Exemption | null;
  };
  readonly verdicts: { readonly rules: readonly Rule<VerdictParams>[]; readonly otherwise: VerdictParams };
  /** Empty when the rule set has no flags. */
  readonly flags: { readonly rules: readonly Rule<FlagParams>[] };
  /** payLimitValue items by group; empty when the rule set has no limits. */
  readonly limits: ReadonlyMap<ClientGroup, readonly string[]>;
  /** The lists that its rules name with `value: { list: NAME }`, by name. */
  readonly lists: ReadonlyMap<string, RuleList>;
  /** What it does on purpose although it is promised otherwise. */
  readonly meant: MeantBreaches;
}

/** All conditions of a rule set, in the order in which they are asked. */
export function listConditions(rules: ParsedRules): readonly Condition[] {
  return groupRulesByFile(rules).flatMap((file) => file.map(({ condition }) => condition));
}

/** The same without those of flags, which change no answer. */
export function listDecidingConditions(rules: ParsedRules): readonly Condition[] {
  return listConditions({ ...rules, flags: { rules: [] } });
}

/** All that has conditions, file by file: its rules, and before the signals what exempts from them. */
export function groupRulesByFile({
  groups,
  signals,
  verdicts,
  flags,
}: ParsedRules): readonly (readonly Rule<object>[])[] {
  return [groups.rules, listSignalRules(signals), verdicts.rules, flags.rules];
}

export function listSignalRules({ exempt, rules }: ParsedRules['signals']): readonly Rule<object>[] {
  return exempt === null ? rules : [exempt, ...rules];
}

/** How many rules a rule set has, flags included, with both `otherwise` and what exempts from the signals. */
export function countRules(rules: ParsedRules): number {
  return groupRulesByFile(rules).reduce((sum, file) => sum + file.length, OTHERWISES);
}

/** Groups and verdicts have one each. */
const OTHERWISES = 2;

/** What `countRules` counts besides rules, for whoever counts in the files. */
export function explainRuleCount({ signals }: ParsedRules): string {
  return `with "otherwise" twice${signals.exempt === null ? '' : ` and "${EXEMPT}"`}`;
}

export function listSharedLists({ facts }: Pick<ParsedRules, 'facts'>): readonly string[] {
  return facts.flatMap(({ list }) => list ?? []);
}

/** A rule that can be asked about the values of a decision. */
export interface Matchable<Params> extends Rule<Params> {
  readonly matches: Matcher;
}

/** The rules of a file in json-rules-engine, which were loaded once. */
export interface LoadedEngine {
  /** Runs the engine over the values of a decision: whether each rule matches, by its name. */
  matched(values: readonly FactReading[]): Promise<ReadonlyMap<string, boolean>>;
}

/** Marks what `compile` made; nothing else sets it. */
export const compiled: unique symbol = Symbol('compiled');

/** A rule set ready to decide. Made by `compile` from what `parse` accepted. */
export interface RuleSet extends ParsedRules {
  readonly [compiled]: true;
  /** sha256 over all files that decide, hex. */
  readonly digest: string;
  /** A record of all facts by their labels, to be copied and filled: such copies are cheap to make and to write. */
  readonly blankRecord: Readonly<Record<string, FactReading>>;
  /** The facts that its own rules conclude on the way: three of `facts`. */
  readonly concludedFacts: readonly ConcludedFactRef[];
  /** What the sharing facts that its rules use ask for. */
  readonly sharing: SharingQuestions;
  /** The attributes whose values a payer's state remembers, because its rules ask how many there were. */
  readonly rememberedAttributes: readonly DeclaredAttribute[];
  /** The pseudonyms that its rules compare with constants. */
  readonly hashedFacts: readonly FactRef[];
  /** Under which secrets it compares them. */
  readonly attributeHmacs: AttributeHmacs;
  /** It has a release.json that agrees with its files; only such a version may become active. */
  readonly released: boolean;
  readonly groups: { readonly rules: readonly Matchable<GroupParams>[]; readonly otherwise: ClientGroup };
  readonly signals: {
    readonly rules: readonly Matchable<SignalParams>[];
    readonly threshold: number;
    readonly exempt: Matchable<object> | null;
  };
  readonly verdicts: {
    readonly rules: readonly Matchable<VerdictParams>[];
    readonly otherwise: VerdictParams;
  };
  readonly flags: { readonly rules: readonly Matchable<FlagParams>[] };
  /** What the functions of its rules were made from, and explanations run; `exempt` is before the signals. */
  readonly engines: Readonly<Record<'groups' | 'exempt' | 'signals' | 'verdicts' | 'flags', LoadedEngine>>;
}

/** A list of the rule set that rules compare facts with: `lists/NAME.yaml`. */
export interface RuleList {
  readonly name: string;
  readonly description: string;
  readonly values: readonly FactValue[];
}

export function getPlatformSettings(rules: ParsedRules, platform: string): PlatformSettings {
  return rules.platforms.get(platform) ?? rules.settings;
}

/** Rules, ladders and lists are named alike: in lower-case words joined by "-". */
export const NAME_PATTERN = '^[a-z][a-z0-9]*(-[a-z0-9]+)*$';

export const NAME_CHARACTERS_MAX = 64;

const NAME = new RegExp(NAME_PATTERN);

export function isName(text: string): boolean {
  return text.length <= NAME_CHARACTERS_MAX && NAME.test(text);
}

const LIST_NAME_FORM =
  'lower-case words joined by "-", starting with a letter, at most 64 characters, like fast-methods';

/** The message for a list that cannot have this name. */
export const LIST_NAME_RULE = `The name of a list has ${LIST_NAME_FORM}.`;

export function refuseListName(name: string): string {
  return `the name of a list has ${LIST_NAME_FORM}, unlike "${name}"`;
}

/** What matching signals weigh together: of several about one thing the heaviest counts. */
export function sumSignalWeights(matching: readonly SignalParams[]): number {
  return sumWeights(keepHeaviestSignals(matching).map(({ weight }) => weight));
}

/** Leaves out the signals in whose place a heavier one about the same thing counts; of equally heavy ones the first counts. */
export function keepHeaviestSignals<Signal extends SignalParams>(
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

/** Sum of signal weights, rounded, so that weights of 0.7 and 0.1 reach a threshold of 0.8. */
export function sumWeights(weights: readonly number[]): number {
  return Math.round(weights.reduce((total, weight) => total + weight, 0) * 1e6) / 1e6;
}

/** p2.v9 before p2.v10 before p3.v1. */
export function compareRuleVersions(a: RuleVersion, b: RuleVersion): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
