import {
  type DeviceKind,
  longestFirst,
  type SharingQuestion,
  type SharingQuestions,
} from '#decision/facts/fact.ts';
import { type AttributeHmacs, NO_SECRET } from '#decision/payer/attribute-hmacs.ts';
import type { DeclaredAttribute } from '#decision/payer/attributes.ts';
import { SIGHTING_MARKS } from '#decision/payer/sighting-marks.ts';
import { matcher } from '#decision/rules/matcher.ts';
import {
  compiled,
  conditionsOf,
  type Matchable,
  type ParsedRules,
  type Rule,
  type RuleSet,
} from '#decision/rules/rule-set.ts';
import { hashConstants, hashedFacts } from './hashed-constants.ts';

/**
 * Turns the conditions of a rule set into plain functions over the values of a decision.
 * They agree with json-rules-engine on every rule that `parse` accepts (a property test holds them
 * equal) and cost nanoseconds, where the engine's own `run` costs microseconds a rule. Constants of pseudonyms become
 * HMACs here, once; without a secret nobody can say whether a pseudonym is one of them.
 */
export function compile(
  rules: ParsedRules,
  digest: string,
  released: boolean,
  hmacs: AttributeHmacs = NO_SECRET,
): RuleSet {
  const matchable = <Params>(rule: Rule<Params>): Matchable<Params> => {
    const hashed = hashConstants(rule.condition, hmacs);
    return { ...rule, hashed, matches: matcher(hashed) };
  };
  return {
    ...rules,
    [compiled]: true,
    digest,
    released,
    hashedFacts: hashedFacts(conditionsOf(rules)),
    attributeHmacs: hmacs,
    blankRecord: Object.fromEntries(rules.facts.map(({ label }) => [label, false])),
    concludedFacts: rules.facts.flatMap(({ fact, index }) =>
      fact.kind === 'concluded' ? [{ fact, index }] : [],
    ),
    sharing: {
      fingerprint: sharingQuestion(rules, 'fingerprint'),
      ip: sharingQuestion(rules, 'ip'),
      ...attributeQuestions(rules),
    },
    rememberedAttributes: [...velocityFacts(rules, 'values').keys()],
    groups: { ...rules.groups, rules: rules.groups.rules.map(matchable) },
    signals: {
      ...rules.signals,
      rules: rules.signals.rules.map(matchable),
      exempt: rules.signals.exempt === null ? null : matchable(rules.signals.exempt),
    },
    verdicts: { ...rules.verdicts, rules: rules.verdicts.rules.map(matchable) },
    flags: { rules: rules.flags.rules.map(matchable) },
  };
}

/** The rule set under other secrets; the same one where its rules compare no pseudonym with a constant. */
export function withHmacs(rules: RuleSet, hmacs: AttributeHmacs): RuleSet {
  return rules.hashedFacts.length === 0 ? rules : compile(rules, rules.digest, rules.released, hmacs);
}

function sharingQuestion({ facts }: ParsedRules, on: DeviceKind): SharingQuestion {
  const asked = facts.flatMap(({ fact, windowMs }) => {
    const sharing = fact.kind === 'windowed' ? fact.sharing : null;
    return sharing?.on === on ? [{ windowMs, counts: sharing.counts }] : [];
  });
  const marks = SIGHTING_MARKS.filter((mark) => asked.some(({ counts }) => counts === mark));
  const ofVerdicts = asked.filter(({ counts }) => counts === 'verdicts');
  return {
    windowsMs: longestFirst(asked.map(({ windowMs }) => windowMs)),
    marks,
    verdictWindowsMs: ofVerdicts.map(({ windowMs }) => windowMs),
    notes: { verdicts: ofVerdicts.length > 0, unpaidOrders: marks.includes('unpaidOrders') },
  };
}

function attributeQuestions(rules: ParsedRules): Pick<SharingQuestions, 'attributes'> {
  const asked = velocityFacts(rules, 'clients');
  if (asked.size === 0) return {};
  return { attributes: [...asked].map(([declared, windowsMs]) => ({ declared, windowsMs })) };
}

/** The attributes of which values or clients are counted, each with its windows. */
function velocityFacts(
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
