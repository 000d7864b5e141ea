import {
  type DeviceKind,
  type SharingQuestion,
  type SharingQuestions,
  sortWindowsLongestFirst,
} from '#decision/facts/fact.ts';
import { type AttributePseudonymizer, NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import type { DeclaredAttribute } from '#decision/payer/attributes.ts';
import { SIGHTING_MARKS } from '#decision/payer/sighting-marks.ts';
import {
  compiledBrand,
  listConditions,
  type MatchableRule,
  type ParsedRules,
  type Rule,
  type RuleSet,
} from '#decision/rules/rule-set.ts';
import { RuleEngine } from './engine.ts';
import { hashConstants, listFactsComparedAsPseudonyms } from './hashed-constants.ts';

/**
 * Loads the rules of a rule set into json-rules-engine, and makes plain functions of the engine's conditions. The
 * functions agree with the engine, as a property test shows. They cost nanoseconds a rule, and the engine's own `run`
 * costs microseconds. Constants that are compared with pseudonyms are replaced by HMACs here, once. Without a secret,
 * they cannot be compared. Throws when the engine does not accept a rule.
 */
export function compileRuleSet(
  rules: ParsedRules,
  digest: string,
  released: boolean,
  hmacs: AttributePseudonymizer = NO_ATTRIBUTE_PSEUDONYMIZER,
): RuleSet {
  const load = (file: readonly Rule<object>[]) => new RuleEngine(hashRules(file, hmacs), rules.facts);
  const { exempt } = rules.signals;
  const engines = {
    groups: load(rules.groups.rules),
    exempt: load(exempt === null ? [] : [exempt]),
    signals: load(rules.signals.rules),
    verdicts: load(rules.verdicts.rules),
    flags: load(rules.flags.rules),
  };
  const matchable = <Params>(
    file: readonly Rule<Params>[],
    engine: RuleEngine,
  ): readonly MatchableRule<Params>[] =>
    file.map((rule) => ({ ...rule, matches: engine.getMatcher(rule.name) }));
  return {
    ...rules,
    [compiledBrand]: true,
    digest,
    released,
    hashedFacts: listFactsComparedAsPseudonyms(listConditions(rules)),
    attributeHmacs: hmacs,
    blankRecord: Object.fromEntries(rules.facts.map(({ label }) => [label, false])),
    concludedFacts: rules.facts.flatMap(({ fact, index }) =>
      fact.kind === 'concluded' ? [{ fact, index }] : [],
    ),
    sharing: {
      fingerprint: collectSharingQuestion(rules, 'fingerprint'),
      ip: collectSharingQuestion(rules, 'ip'),
      ...collectAttributeQuestions(rules),
    },
    rememberedAttributes: [...collectVelocityWindows(rules, 'values').keys()],
    engines,
    groups: { ...rules.groups, rules: matchable(rules.groups.rules, engines.groups) },
    signals: {
      ...rules.signals,
      rules: matchable(rules.signals.rules, engines.signals),
      exempt: exempt === null ? null : { ...exempt, matches: engines.exempt.getMatcher(exempt.name) },
    },
    verdicts: { ...rules.verdicts, rules: matchable(rules.verdicts.rules, engines.verdicts) },
    flags: { rules: matchable(rules.flags.rules, engines.flags) },
  };
}

/**
 * Puts HMACs in the place of the constants that rules compare with pseudonyms, because decisions hold pseudonyms as
 * HMACs.
 */
function hashRules(file: readonly Rule<object>[], hmacs: AttributePseudonymizer): readonly Rule<object>[] {
  return file.map((rule) => ({ ...rule, condition: hashConstants(rule.condition, hmacs) }));
}

/**
 * Compiles a rule set again, with the HMACs of other secrets. Returns the same object if its rules compare no
 * pseudonym with a constant.
 */
export function compileWithOtherHmacs(rules: RuleSet, hmacs: AttributePseudonymizer): RuleSet {
  return rules.hashedFacts.length === 0 ? rules : compileRuleSet(rules, rules.digest, rules.released, hmacs);
}

function collectSharingQuestion({ facts }: ParsedRules, on: DeviceKind): SharingQuestion {
  const asked = facts.flatMap(({ fact, windowMs }) => {
    const sharing = fact.kind === 'windowed' ? fact.sharing : null;
    return sharing?.on === on ? [{ windowMs, counts: sharing.counts }] : [];
  });
  const marks = SIGHTING_MARKS.filter((mark) => asked.some(({ counts }) => counts === mark));
  const ofVerdicts = asked.filter(({ counts }) => counts === 'verdicts');
  return {
    windowsMs: sortWindowsLongestFirst(asked.map(({ windowMs }) => windowMs)),
    marks,
    verdictWindowsMs: ofVerdicts.map(({ windowMs }) => windowMs),
    notes: { verdicts: ofVerdicts.length > 0, unpaidOrders: marks.includes('unpaidOrders') },
  };
}

function collectAttributeQuestions(rules: ParsedRules): Pick<SharingQuestions, 'attributes'> {
  const asked = collectVelocityWindows(rules, 'clients');
  if (asked.size === 0) return {};
  return { attributes: [...asked].map(([declared, windowsMs]) => ({ declared, windowsMs })) };
}

/** Collects the attributes whose values or clients are counted, each with its windows in ms. */
function collectVelocityWindows(
  { facts }: ParsedRules,
  counts: 'values' | 'clients',
): ReadonlyMap<DeclaredAttribute, readonly number[]> {
  const windows = new Map<string, { readonly declared: DeclaredAttribute; readonly windowsMs: number[] }>();
  for (const { fact, windowMs } of facts) {
    const of = fact.kind === 'windowed' ? fact.ofAttribute : undefined;
    if (of === undefined || of.declared === null || of.counts !== counts) continue;
    const { declared } = of;
    windows.getOrInsertComputed(declared.name, () => ({ declared, windowsMs: [] })).windowsMs.push(windowMs);
  }
  return new Map([...windows.values()].map(({ declared, windowsMs }) => [declared, windowsMs]));
}
