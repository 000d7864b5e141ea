import { isDeepStrictEqual } from 'node:util';
import { formatAttributeFactLabel } from '#decision/facts/attribute.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import type { FactValue } from '#decision/facts/fact.ts';
import { BOOLEAN_DOMAIN } from '#decision/facts/fact.ts';
import type { DeclaredAttributes } from '#decision/payer/attributes.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type LadderSettings, listResetAfterMs } from '#decision/payer/ladder.ts';
import {
  type Comparison,
  type Condition,
  type FactRef,
  foldCondition,
  isFactRef,
  listComparisons,
  listConditionFacts,
  type RuleConditionFold,
} from '#decision/rules/condition.ts';
import { LADDER_LEVELS_MAX } from '#decision/rules/parse/rule-ladders.ts';
import {
  allOf,
  anyOf,
  createComparison,
  createProofOnlyFact,
  FactsByName,
  implies,
  not,
} from '#decision/rules/proof/built-conditions.ts';
import { listFactsOfRelation } from '#decision/rules/proof/formula.ts';
import {
  type AssumedRequestKind,
  collectKnowledge,
  type Knowledge,
  listSignalRulesWithExemption,
} from '#decision/rules/proof/knowledge.ts';
import {
  getPlatformSettings,
  type Holdout,
  listDecidingConditions,
  type ParsedRules,
  type PlatformSettings,
  type Rule,
  type SignalParams,
} from '#decision/rules/rule-set.ts';
import { formatCondition } from './condition-changes.ts';

/** The rules of two versions over the facts of one payer, in the form that a `Reasoner` needs to compare them. */
export interface BothVersions {
  readonly scope: PlatformScope;
  /**
   * The version before, with the settings of the platform. Holdouts and exemptions are parts of the rules'
   * conditions.
   */
  readonly before: ParsedRules;
  /** The version after. A fact that it computes differently from the version before has another label here. */
  readonly after: ParsedRules;
  /** Returns the label that a fact of the version after has here. */
  readonly labelAfter: (label: string) => string;
  /**
   * Maps the label of a holdout draw to the condition under which its rule matches but is skipped. The decision
   * record notes such a skip.
   */
  readonly skippedBefore: ReadonlyMap<string, Condition>;
  readonly skippedAfter: ReadonlyMap<string, Condition>;
  readonly conditions: readonly Condition[];
  readonly knowledge: (moment: AssumedRequestKind) => Knowledge;
}

/** A group of platforms that each version treats alike (the two versions may differ). */
export interface PlatformScope {
  /** One of these platforms. Null for any platform that neither version names. */
  readonly platform: string | null;
  readonly condition: Condition;
  readonly before: PlatformSettings;
  readonly after: PlatformSettings;
}

/**
 * Lists the platforms for which at least one of the two versions overrides the default settings. The first item
 * stands for all platforms that are not named.
 */
export function listPlatformScopes(before: ParsedRules, after: ParsedRules): readonly PlatformScope[] {
  const named = [...new Set([...before.platforms.keys(), ...after.platforms.keys()])];
  const settingsFor = (name: string) => ({
    before: getPlatformSettings(before, name),
    after: getPlatformSettings(after, name),
  });
  const elsewhere = { before: before.settings, after: after.settings };
  const apart = named.filter((name) => !isDeepStrictEqual(settingsFor(name), elsewhere));
  const byName = apart.map((name) => ({
    platform: name,
    condition: createComparison(PLATFORM, 'equal', name),
    ...settingsFor(name),
  }));
  const unnamed = apart.length === 0 ? allOf() : createComparison(PLATFORM, 'notIn', apart);
  return [{ platform: null, condition: unnamed, ...elsewhere }, ...byName];
}

/**
 * Combines two versions. A fact that both compute in the same way is one fact. If they compute a fact differently,
 * such as the payment score with another smoothing, it gets another label for the version after.
 */
export function combineVersions(before: ParsedRules, after: ParsedRules, scope: PlatformScope): BothVersions {
  const was = addDraws({ ...before, settings: scope.before, platforms: new Map() });
  const is = addDraws({ ...after, settings: scope.after, platforms: new Map() });
  const apart = new FactsApart(before, after, scope);
  const own = apart.relabel(was.rules, is.rules);
  const labels = new Map(after.facts.map((ref) => [ref.label, apart.relabelled(ref).label]));
  const asked = listComparisons([...listDecidingConditions(was.rules), ...listDecidingConditions(is.rules)]);
  const always = [
    scope.condition,
    ...relateDraws([...was.draws, ...is.draws]),
    ...apart.together(scope, asked),
  ];
  const withFactsOf = (rules: ParsedRules, other: ParsedRules) => {
    const more = other.facts.filter((ref) => !apart.isApart(ref));
    return {
      ...rules,
      facts: [...new Map([...rules.facts, ...more].map((ref) => [ref.label, ref])).values()],
    };
  };
  return {
    scope,
    before: was.rules,
    after: own,
    labelAfter: (label) => labels.get(label) ?? label,
    skippedBefore: was.skipped,
    skippedAfter: new Map([...is.skipped].map(([label, when]) => [label, apart.condition(when)])),
    conditions: [...listDecidingConditions(was.rules), ...listDecidingConditions(own)],
    knowledge: (moment) => {
      const shared = collectKnowledge(withFactsOf(was.rules, own), moment);
      const ofAfter = collectKnowledge(withFactsOf(own, was.rules), moment);
      const defined = new Set(shared.definitions.map(({ defined: of }) => of.label));
      return {
        conditions: [
          ...shared.conditions,
          ...ofAfter.conditions.filter((condition) => apart.isIn(listConditionFacts([condition]))),
          ...always,
        ],
        relations: [
          ...shared.relations,
          ...ofAfter.relations.filter((relation) => apart.isIn(listFactsOfRelation(relation))),
        ],
        definitions: [
          ...shared.definitions,
          ...ofAfter.definitions.filter(({ defined: of }) => !defined.has(of.label)),
        ],
      };
    },
  };
}

function getCatalogued(name: string): FactRef {
  const fact = FACTS.get(name);
  if (fact === undefined) throw new Error(`there is no fact "${name}"`);
  return { label: name, name, fact, windowMs: 0, index: -1 };
}

const PLATFORM = getCatalogued('platform');
const CURRENCY = getCatalogued('currency');
const LADDER_LEVEL = getCatalogued('ladderLevel');
const ATTEMPT_OPEN = createComparison(getCatalogued('attemptOpen'), 'equal', true);
const CLOCKS = [getCatalogued('hourOfDay'), getCatalogued('dayOfWeek')];

/**
 * Facts that depend on the platform's currency. Requests and earlier orders that name no currency are in that
 * currency.
 */
const MONEY_FACTS = ['currency', 'distinctAmounts', 'attemptedAmount', 'paidAmount'];

/** Facts that change when the ladder is reset. */
const LADDER_FACTS = ['attemptOpen', 'ladderLevel', 'waitRemainingSeconds', 'waitServed', 'earlyRequests'];

/** The conditions that the ladder is at each of its levels. */
const LADDER_LEVELS = Array.from({ length: LADDER_LEVELS_MAX + 1 }, (_, level) =>
  createComparison(LADDER_LEVEL, 'equal', level),
);

/**
 * A year in steps of this length reaches all pairs of times, to a quarter of an hour, that the clocks of two time
 * zones can show at one moment, because the offsets of time zones are multiples of 15 minutes.
 */
const CLOCK_STEP_MS = 45 * 60_000;
const CLOCK_YEAR = { fromMs: Date.UTC(2026, 0, 1), toMs: Date.UTC(2027, 0, 1) };

/** The facts that the version after computes differently, as far as the files show it. */
class FactsApart {
  readonly #suffix: string;
  readonly #names: Set<string>;

  constructor(before: ParsedRules, after: ParsedRules, { before: was, after: is }: PlatformScope) {
    this.#suffix = ` in ${after.version}`;
    this.#names = new Set([
      ...(isDeepStrictEqual(was.smoothing, is.smoothing) ? [] : ['paymentScore']),
      ...(was.currency === is.currency ? [] : MONEY_FACTS),
      ...(was.timeZone === is.timeZone ? [] : CLOCKS.map(({ name }) => name)),
      ...(haveSameResets(was.ladder, is.ladder) ? [] : LADDER_FACTS),
      ...listDeclaredApart(before.attributes, after.attributes),
    ]);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /**
   * Tells whether the version after computes the fact differently. `#names` has the names of such facts and the
   * labels of such attributes.
   */
  isApart({ name, attribute }: FactRef): boolean {
    return (
      this.#names.has(name) ||
      (attribute !== undefined && this.#names.has(formatAttributeFactLabel(attribute)))
    );
  }

  relabelled(ref: FactRef): FactRef {
    return this.isApart(ref) ? { ...ref, label: `${ref.label}${this.#suffix}` } : ref;
  }

  /** Tells whether one of these facts exists only in the version after. */
  isIn(refs: readonly FactRef[]): boolean {
    return refs.some(({ label }) => label.endsWith(this.#suffix));
  }

  /**
   * Relabels the rules of the version after. Groups come first, then signals, then verdicts. Each uses the labels
   * that the earlier ones got.
   */
  relabel(before: ParsedRules, after: ParsedRules): ParsedRules {
    const groups = { ...after.groups, rules: after.groups.rules.map((rule) => this.#within(rule)) };
    if (serializeGroups(before.groups) !== serializeGroups(groups)) this.#names.add('clientGroup');
    const signals = this.#signals(before, after);
    const weights = (rules: readonly Rule<SignalParams>[]) =>
      rules.map(({ name, params }) => `${name} ${params.weight} ${params.about ?? ''}`).toSorted();
    if (!isDeepStrictEqual(weights(before.signals.rules), weights(signals.rules)))
      this.#names.add('botWeight');
    if (this.has('botWeight') || before.signals.threshold !== signals.threshold) this.#names.add('isBot');
    const verdicts = { ...after.verdicts, rules: after.verdicts.rules.map((rule) => this.#within(rule)) };
    return { ...after, facts: after.facts.map((ref) => this.relabelled(ref)), groups, signals, verdicts };
  }

  condition(condition: Condition): Condition {
    const relabelling: RuleConditionFold<Condition> = {
      group: (kind, conditions, { at }) => ({ kind, conditions, at }),
      not: (part, { at }) => ({ kind: 'not', condition: part, at }),
      reference: (name, part, { at }) => ({ kind: 'reference', name, condition: part, at }),
      comparison: (comparison) => this.#comparison(comparison),
    };
    return foldCondition(condition, relabelling);
  }

  /**
   * Lists how the old and the new value are related, for facts that conditions compare and that the versions compute
   * differently.
   */
  together({ before: was, after: is }: PlatformScope, asked: readonly Comparison[]): readonly Condition[] {
    const alike = (comparisons: readonly Comparison[], names: readonly string[]) =>
      allOf(...comparisons.filter(({ fact }) => names.includes(fact.name)).map((one) => this.#alike(one)));
    const known: Condition[] = [];
    if (this.has('currency')) {
      const own = createComparison(this.relabelled(CURRENCY), 'equal', is.currency);
      const unnamed = allOf(createComparison(CURRENCY, 'equal', was.currency), own);
      known.push(anyOf(unnamed, alike(asked, ['currency'])));
    }
    if (this.has('ladderLevel')) {
      const resetsMs = Math.min(...listResetAfterMs(was.ladder), ...listResetAfterMs(is.ladder));
      const lately = createComparison(getCatalogued('secondsSinceLastVerdict'), 'lessThan', resetsMs / 1000);
      known.push(implies(lately, alike([...asked, ...LADDER_LEVELS, ATTEMPT_OPEN], LADDER_FACTS)));
    }
    const clocks = CLOCKS.filter(
      ({ name }) => this.has(name) && asked.some(({ fact }) => fact.name === name),
    );
    if (clocks.length > 0) known.push(this.#shownBy(clocks, was.timeZone, is.timeZone));
    return known;
  }

  #comparison(comparison: Comparison): Comparison {
    const { fact, value } = comparison;
    const compared = isFactRef(value) ? this.relabelled(value) : value;
    return { ...comparison, fact: this.relabelled(fact), value: compared };
  }

  #alike(one: Comparison): Condition {
    const other = this.#comparison(one);
    return allOf(implies(one, other), implies(other, one));
  }

  /** Relates the times that the clocks of two time zones show at the same moment. */
  #shownBy(clocks: readonly FactRef[], was: string, is: string): Condition {
    const shown = new Map<string, Condition>();
    for (let now = CLOCK_YEAR.fromMs; now < CLOCK_YEAR.toMs; now += CLOCK_STEP_MS) {
      const values = clocks.flatMap((ref) => [
        createComparison(ref, 'equal', readClock(ref, was, now)),
        createComparison(this.relabelled(ref), 'equal', readClock(ref, is, now)),
      ]);
      shown.set(values.map(({ value }) => value).join(), allOf(...values));
    }
    return anyOf(...shown.values());
  }

  /** Renames each signal whose condition differs from that of the signal with the same name in the version before. */
  #signals(before: ParsedRules, after: ParsedRules): ParsedRules['signals'] {
    const texts = new Map(
      before.signals.rules.map(({ name, condition }) => [name, formatCondition(condition)]),
    );
    const rules = after.signals.rules.map((rule) => {
      const relabelled = this.#within(rule);
      const same = texts.get(rule.name) === formatCondition(relabelled.condition);
      return same ? relabelled : { ...relabelled, name: `${rule.name}${this.#suffix}` };
    });
    return { ...after.signals, rules };
  }

  #within<Params>(rule: Rule<Params>): Rule<Params> {
    return { ...rule, condition: this.condition(rule.condition) };
  }
}

function haveSameResets(was: LadderSettings, is: LadderSettings): boolean {
  return was.resetAfterMs === is.resetAfterMs && isDeepStrictEqual(was.resetsAfterMs, is.resetsAfterMs);
}

/** Lists the labels of the attributes that two versions declare differently. */
function listDeclaredApart(before: DeclaredAttributes, after: DeclaredAttributes): readonly string[] {
  const apart = [...after].filter(([name, declared]) => {
    const was = before.get(name);
    // The unit only says which attributes may be compared with each other, and nothing about their values.
    return was !== undefined && !isDeepStrictEqual({ ...was, unit: null }, { ...declared, unit: null });
  });
  return apart.map(([name]) => formatAttributeFactLabel(name));
}

function readClock({ fact }: FactRef, timeZone: string, now: number): FactValue {
  return fact.kind === 'circumstantial'
    ? fact.read({ platform: toPlatformName('any'), timeZone, now })
    : false;
}

/** Serializes a list of groups. Lists of the same form give equal texts. */
function serializeGroups({ rules, otherwise }: ParsedRules['groups']): string {
  return JSON.stringify([
    ...rules.map(({ condition, params }) => [formatCondition(condition), params.group]),
    otherwise,
  ]);
}

/**
 * A rule set in which each holdout is part of its rule's condition, and the exemption from signals is part of the
 * signals' conditions. So a rule never matches a client who is held out of it or exempt.
 */
interface RulesWithDraws {
  readonly rules: ParsedRules;
  /**
   * The conditions under which a rule matches and is skipped, by `formatHeldOutLabel`. The decision record notes such a
   * skip.
   */
  readonly skipped: ReadonlyMap<string, Condition>;
  readonly draws: readonly Draw[];
}

/** The holdout of one rule (named like `groups/has-paid`), and the share of clients that it holds out. */
interface Draw {
  readonly rule: string;
  readonly share: number;
}

/** Formats the label of the fact that a client is held out of a rule. */
export function formatHeldOutLabel({ rule, share }: Draw): string {
  return `held out of ${rule} (${Math.round(share * 10_000) / 100}%)`;
}

/** Turns each holdout into a fact, named by `formatHeldOutLabel`. */
function addDraws(rules: ParsedRules): RulesWithDraws {
  const skipped = new Map<string, Condition>();
  const draws: Draw[] = [];
  const drawn = <Params>({ holdout, ...rule }: Rule<Params>, file: string, earlier: readonly Condition[]) => {
    if (holdout === undefined) return rule;
    const draw = { rule: `${file}/${rule.name}`, share: holdout.share };
    const skips = allOf(isDrawn(draw), ...listHoldoutConditions(rules, holdout));
    draws.push(draw);
    skipped.set(formatHeldOutLabel(draw), allOf(rule.condition, skips, ...earlier.map(not)));
    return { ...rule, condition: allOf(rule.condition, not(skips)) };
  };
  const firstOf = <Params>(some: readonly Rule<Params>[], file: string) => {
    const before: Rule<Params>[] = [];
    for (const rule of some)
      before.push(
        drawn(
          rule,
          file,
          before.map(({ condition }) => condition),
        ),
      );
    return before;
  };
  const { groups, signals, verdicts } = rules;
  return {
    rules: {
      ...rules,
      groups: { ...groups, rules: firstOf(groups.rules, 'groups') },
      signals: {
        ...signals,
        exempt: null,
        rules: listSignalRulesWithExemption(signals).map((rule) => drawn(rule, 'bot-signals', [])),
      },
      verdicts: { ...verdicts, rules: firstOf(verdicts.rules, 'verdicts') },
    },
    skipped,
    draws,
  };
}

/**
 * Relates the holdouts of the same rule in both versions. They use the same draw, so a client who is held out at a
 * small share is also held out at a larger one.
 */
function relateDraws(draws: readonly Draw[]): readonly Condition[] {
  return draws.flatMap((one) =>
    draws
      .filter(({ rule, share }) => rule === one.rule && share > one.share)
      .map((larger) => implies(isDrawn(one), isDrawn(larger))),
  );
}

function isDrawn(draw: Draw): Condition {
  return createComparison(createProofOnlyFact(formatHeldOutLabel(draw), BOOLEAN_DOMAIN), 'equal', true);
}

/**
 * Lists the conditions under which a client may be held out. A client who has an override or is on a shared list is
 * never held out. Nor is a client held out for an amount above the rule's limit.
 */
function listHoldoutConditions({ facts }: ParsedRules, { maxAmounts }: Holdout): readonly Condition[] {
  const known = new FactsByName(facts);
  const bounds = Object.entries(maxAmounts ?? {}).map(([currency, most]) =>
    allOf(
      known.is('currency', currency),
      createComparison(known.requireFact('amount'), 'lessThanInclusive', most),
    ),
  );
  return [
    known.is('overrideGroup', 'NONE'),
    ...facts.filter(({ fact }) => fact.kind === 'listed').map((ref) => createComparison(ref, 'equal', false)),
    ...(maxAmounts === null ? [] : [anyOf(...bounds)]),
  ];
}
