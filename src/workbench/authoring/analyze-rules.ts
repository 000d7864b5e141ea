import { OTHERWISE } from '#decision/decision.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { KNOWN_DEVICE_FACTS } from '#decision/facts/known-devices.ts';
import { RECENT_SCORE_HINT_FACTS } from '#decision/facts/request.ts';
import {
  type Condition,
  type FactRef,
  listComparisons,
  listConditionFacts,
} from '#decision/rules/condition.ts';
import { joinWords } from '#decision/rules/condition-text.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { locateMember } from '#decision/rules/parse/places.ts';
import { formatProblem, type Location, type RuleProblem } from '#decision/rules/problem.ts';
import { createComparison } from '#decision/rules/proof/built-conditions.ts';
import { type ExampleFacts, selectExampleFacts } from '#decision/rules/proof/example.ts';
import {
  collectKnowledge,
  FACTS_COUNTING_EVERY_REQUEST,
  formatSignalFactLabel,
  type Knowledge,
  listSignalRulesWithExemption,
} from '#decision/rules/proof/knowledge.ts';
import { Reasoner, type ReasonerAnswer } from '#decision/rules/proof/reasoner.ts';
import {
  EXEMPTION_NAME,
  listExemptionAndSignals,
  listRulesWithoutHoldout,
  type ParsedRules,
  type Rule,
  type SignalExemption,
  type SignalParams,
  sumSignalWeights,
} from '#decision/rules/rule-set.ts';
import {
  formatConditionPart,
  listFactNameTextRemarks,
  listHoldoutLimitRemarks,
  listMissingCurrencyRemarks,
  listMissingValueRemarks,
  listPersonalAttributeRemarks,
  listRoundedNumberRemarks,
} from './remarks.ts';

/** A finding about a rule set that cannot be intended, although every file is correct. */
interface Finding extends RuleProblem {
  readonly kind: 'never matches' | 'never first' | 'threshold out of reach';
  /** The rule. Null if the finding is about no single rule. */
  readonly rule: string | null;
  /** Facts that show the finding. Null if no facts can show it. */
  readonly example: ExampleFacts | null;
}

export interface RuleAnalysis {
  readonly findings: readonly Finding[];
  /** Notes that are worth knowing but are no mistake, and questions that could not be decided in reasonable time. */
  readonly notes: readonly RuleProblem[];
}

/**
 * Finds what can be known of the rules together without running them. Every finding is certain, because it follows
 * from the conditions, the domains of the facts and the relations in `knowledge.ts`.
 */
export function analyzeRules(rules: ParsedRules, files: RuleFiles): RuleAnalysis {
  const anyRequest = new Reasoner(collectKnowledge(rules, 'any request'));
  const aVerdict = new Reasoner(collectKnowledge(rules, 'a verdict'));
  const { groups, signals, verdicts, flags } = rules;
  const all = [
    analyzeFirstMatchRules(groups.rules, anyRequest, locateMember(files, 'groups.yaml', OTHERWISE)),
    proveSignals(rules, anyRequest, files),
    analyzeFirstMatchRules(verdicts.rules, aVerdict, locateMember(files, 'verdicts.yaml', OTHERWISE)),
    { findings: findNeverMatching(flags.rules, aVerdict), notes: [] },
  ];
  const remarks = [
    ...listRemarks([...groups.rules, ...listExemptionAndSignals(signals)], anyRequest),
    ...findAskedTwice(signals, anyRequest),
    ...listRemarks([...verdicts.rules, ...flags.rules], aVerdict),
    ...listRoundedNumberRemarks(files),
    ...listFactNameTextRemarks(rules, files),
    ...listPersonalAttributeRemarks(rules, files),
  ];
  return {
    findings: all.flatMap(({ findings }) => findings),
    notes: [...all.flatMap(({ notes }) => notes), ...remarks, ...findCountedTwice(signals, anyRequest)],
  };
}

/**
 * Finds signals that ask for the same fact and reach the threshold only together, so that one observation counts
 * several times. Facts about who the payer is are not treated as observations, because most signals use them to
 * exempt somebody.
 */
function findCountedTwice(ruleFile: ParsedRules['signals'], reasoner: Reasoner): readonly RuleProblem[] {
  const { threshold } = ruleFile;
  const hints = listSignalRulesWithExemption(ruleFile).filter(({ params }) => params.weight < threshold);
  const byObservation = new Map<string, Rule<SignalParams>[]>();
  for (const rule of hints) {
    const observed = listConditionFacts([rule.written]).flatMap((ref) => describeObservation(ref) ?? []);
    for (const name of new Set(observed)) byObservation.getOrInsertComputed(name, () => []).push(rule);
  }
  return [...byObservation].flatMap(([observed, signals]) => {
    const together = findMatchingTogether(signals, reasoner, threshold);
    const last = together.at(-1);
    if (last === undefined) return [];
    const names = joinWords(
      together.map(({ name }) => `"${name}"`),
      'and',
    );
    const message = `${names} observe ${observed} and reach the threshold of ${threshold} only together, so one observation counts ${together.length === 2 ? 'twice' : `${together.length} times`}; write about: NAME beside the weight of each, and of those that match only the heaviest counts`;
    return [{ at: last.at, message }];
  });
}

/** Says in words what a fact observes. Returns null for a fact about who the payer is. */
function describeObservation({ name, fact, attribute }: FactRef): string | null {
  if (fact.kind === 'windowed' && fact.sharing !== null)
    return `who shares the ${fact.sharing.on === 'ip' ? 'address' : 'fingerprint'}`;
  if (fact.kind === 'windowed' && fact.ofAttribute?.counts === 'clients')
    return `who shares the ${attribute}`;
  const isHint = Object.hasOwn(RECENT_SCORE_HINT_FACTS, name) || Object.hasOwn(KNOWN_DEVICE_FACTS, name);
  return fact.kind === 'windowed' || (isHint && name !== 'scoredBefore') ? name : null;
}

/**
 * Finds signals that can match together and then reach the threshold, the heaviest first. Returns an empty list if
 * it finds none.
 */
function findMatchingTogether(
  signals: readonly Rule<SignalParams>[],
  reasoner: Reasoner,
  threshold: number,
): readonly Rule<SignalParams>[] {
  const weightOf = (rules: readonly Rule<SignalParams>[]) =>
    sumSignalWeights(rules.map(({ params }) => params));
  if (weightOf(signals) < threshold) return [];
  const together: Rule<SignalParams>[] = [];
  for (const signal of signals.toSorted((a, b) => b.params.weight - a.params.weight)) {
    const more = [...together, signal];
    if (weightOf(more) === weightOf(together)) continue;
    if (reasoner.find(more.map(({ condition }) => condition)).kind !== 'witness') continue;
    together.push(signal);
    if (weightOf(together) >= threshold) return together;
  }
  return [];
}

/** Finds conditions of signals that always hold where signals apply, because everybody who fails them is exempt. */
function findAskedTwice(
  { rules, exempt }: ParsedRules['signals'],
  reasoner: Reasoner,
): readonly RuleProblem[] {
  if (exempt === null || exemptsEverybody(exempt, reasoner)) return [];
  const mayFail = (part: Condition, spared: readonly Condition[]) =>
    reasoner.find([], [part, ...spared]).kind !== 'none';
  return rules.flatMap((rule) =>
    splitConjuncts(rule.condition)
      .filter((part) => mayFail(part, []) && !mayFail(part, [exempt.condition]))
      .map((part) => ({
        at: part.at,
        message: `in "${rule.name}", ${formatConditionPart(part)} holds for everybody who is not exempt (line ${exempt.at.line}); leave it out`,
      })),
  );
}

/**
 * Lists remarks on rules that work but may contain a mistake. A remark on a named condition that several rules share
 * is reported for the first of them.
 */
function listRemarks(rules: readonly Rule<unknown>[], reasoner: Reasoner): readonly RuleProblem[] {
  const told = new Map<string, RuleProblem>();
  for (const rule of rules) {
    const remarks = [
      ...findPartsThatNeverHold(rule, reasoner),
      ...listMissingValueRemarks(rule, reasoner),
      ...listMissingCurrencyRemarks(rule),
      ...listHoldoutLimitRemarks(rule),
    ];
    for (const remark of remarks)
      told.getOrInsert(formatProblem(remark).replace(`"${rule.name}"`, ''), remark);
  }
  return [...told.values()];
}

/**
 * Examines the rules of a file in which the first matching rule decides. `rules` are in the sequence in which they
 * are asked.
 */
export function analyzeFirstMatchRules(
  rules: readonly Rule<unknown>[],
  reasoner: Reasoner,
  otherwise: Location | null,
): RuleAnalysis {
  const conditions = rules.map(({ condition }) => condition);
  reasoner.prepare(conditions);
  const proofs = rules.map((rule, index) =>
    proveRule(rule, listRulesWithoutHoldout(rules.slice(0, index)), reasoner),
  );
  const sure = listRulesWithoutHoldout(rules).map(({ condition }) => condition);
  const unreachable = otherwise !== null && reasoner.find([], sure).kind === 'none';
  const message = '"otherwise" is never reached: some rule always matches';
  return {
    findings: proofs.flatMap(({ findings }) => findings),
    notes: [...proofs.flatMap(({ notes }) => notes), ...(unreachable ? [{ at: otherwise, message }] : [])],
  };
}

function proveRule(rule: Rule<unknown>, before: readonly Rule<unknown>[], reasoner: Reasoner): RuleAnalysis {
  const matching = reasoner.find([rule.condition]);
  if (matching.kind === 'none') return toProofs(createNeverMatches(rule, reasoner));
  const beaten = before.map(({ condition }) => condition);
  const first = reasoner.find([rule.condition], beaten);
  if (first.kind === 'witness') return NOTHING_FOUND;
  if (first.kind === 'undecided' || matching.kind === 'undecided') {
    const message = `whether "${rule.name}" can be the first to match could not be decided in reasonable time`;
    return { findings: [], notes: [{ at: rule.at, message }] };
  }
  return toProofs(createNeverFirst(rule, before, matching.facts, reasoner));
}

const NOTHING_FOUND: RuleAnalysis = { findings: [], notes: [] };

function toProofs(finding: Finding): RuleAnalysis {
  return { findings: [finding], notes: [] };
}

function createNeverMatches(rule: Rule<unknown>, reasoner: Reasoner): Finding {
  const parts = keepNecessary(splitConjuncts(rule.condition), (some) => reasoner.find(some).kind === 'none');
  const together = parts.length === 1 ? `never holds${explainNever(parts)}` : 'cannot hold together';
  return {
    kind: 'never matches',
    rule: rule.name,
    at: rule.at,
    message: `"${rule.name}" can never match: ${joinWords(parts.map(formatConditionPart), 'and')} ${together}`,
    example: null,
  };
}

/** Says why a comparison never holds, and what to ask instead if that is known for the fact. */
function explainNever([condition]: readonly Condition[]): string {
  if (condition?.kind !== 'comparison') return '';
  const why = WHY_NEVER[condition.fact.name];
  return why === undefined ? '' : `; ${why}`;
}

const COUNTS_ITSELF = 'the count includes the current request, so it is at least 1';

const WHY_NEVER: Readonly<Record<string, string>> = {
  isNewClient:
    'asking for a verdict ends being new; a payer of whom no order is final yet has finalCount = 0',
  ...Object.fromEntries(['verdicts', ...FACTS_COUNTING_EVERY_REQUEST].map((name) => [name, COUNTS_ITSELF])),
};

/** Finds comparisons that never hold in a rule that can still match, for example within an "any". */
function findPartsThatNeverHold(
  { name, condition, written }: Rule<unknown>,
  reasoner: Reasoner,
): readonly RuleProblem[] {
  if (reasoner.find([condition]).kind === 'none') return [];
  // A comparison within a "not" is also examined as it is written. If it never holds, its "not" has no effect.
  return listComparisons([condition, written])
    .filter((comparison) => reasoner.find([comparison]).kind === 'none')
    .map((comparison) => ({
      at: comparison.at,
      message: `in "${name}", ${formatConditionPart(comparison)} never holds${explainNever([comparison])}`,
    }));
}

function createNeverFirst(
  rule: Rule<unknown>,
  before: readonly Rule<unknown>[],
  facts: ReadonlyMap<string, NullableFactValue>,
  reasoner: Reasoner,
): Finding {
  const leftBy = (some: readonly Rule<unknown>[]) =>
    reasoner.find(
      [rule.condition],
      some.map(({ condition }) => condition),
    );
  const covering = keepNecessary(findCoveringRules(before, leftBy), (some) => leftBy(some).kind === 'none');
  const names = covering.map(({ name, at }) => `"${name}" (line ${at.line})`);
  return {
    kind: 'never first',
    rule: rule.name,
    at: rule.at,
    message: `"${rule.name}" can never be first: whenever it matches, ${joinWords(names, 'or')} matches before it`,
    example: selectExampleFacts(facts, [rule.condition, ...covering.map(({ condition }) => condition)]),
  };
}

/**
 * Finds rules of which at least one matches whenever another rule matches. As long as the other rule matches some
 * facts alone, a rule that also matches these facts is added.
 */
function findCoveringRules(
  before: readonly Rule<unknown>[],
  leftBy: (some: readonly Rule<unknown>[]) => ReasonerAnswer,
): readonly Rule<unknown>[] {
  const covering: Rule<unknown>[] = [];
  for (;;) {
    const left = leftBy(covering);
    const others = before.filter((rule) => !covering.includes(rule));
    const [highest] = others;
    // If the search could not decide, further rules may make the question easier.
    if (left.kind === 'none' || highest === undefined)
      return before.filter((rule) => covering.includes(rule));
    const taking =
      left.kind === 'witness'
        ? others.find(({ condition }) => matchesFacts(condition, left.facts))
        : undefined;
    covering.push(taking ?? highest);
  }
}

/** Tells whether a condition holds for these facts. A fact that is missing among them is taken as not known. */
export function matchesFacts(condition: Condition, facts: ReadonlyMap<string, NullableFactValue>): boolean {
  const values: NullableFactValue[] = [];
  for (const { label, index } of listConditionFacts([condition])) values[index] = facts.get(label) ?? null;
  return createMatcher(condition)(values);
}

/** Splits a condition into the parts that must all hold. */
function splitConjuncts(condition: Condition): readonly Condition[] {
  return condition.kind === 'all' ? condition.conditions.flatMap(splitConjuncts) : [condition];
}

/** Keeps as few items as possible: it drops each item without which `enough` still holds. */
function keepNecessary<T>(items: readonly T[], enough: (some: readonly T[]) => boolean): readonly T[] {
  return items.reduce<readonly T[]>((kept, item) => {
    const rest = kept.filter((other) => other !== item);
    return enough(rest) ? rest : kept;
  }, items);
}

function findNeverMatching(rules: readonly Rule<unknown>[], reasoner: Reasoner): readonly Finding[] {
  return rules
    .filter(({ condition }) => reasoner.find([condition]).kind === 'none')
    .map((rule) => createNeverMatches(rule, reasoner));
}

/**
 * Examines signals. The weights of all matching signals are added, so each signal must be able to match, and all
 * together must be able to reach the threshold.
 */
function proveSignals(rules: ParsedRules, reasoner: Reasoner, files: RuleFiles): RuleAnalysis {
  const { signals } = rules;
  if (signals.exempt !== null && exemptsEverybody(signals.exempt, reasoner)) {
    const { at } = signals.exempt;
    const message = `no payer can be flagged: everybody is exempt from all signals, because "${EXEMPTION_NAME}" always holds`;
    return toProofs({ kind: 'threshold out of reach', rule: null, at, message, example: null });
  }
  const never = [
    ...findNeverMatching(listExemptionAndSignals(signals), reasoner),
    ...signals.rules.flatMap((rule) => findNeverCounting(rule, signals.exempt, reasoner)),
  ];
  const botWeight = rules.facts.find(({ name }) => name === 'botWeight');
  if (botWeight === undefined) return { findings: never, notes: [] };
  const at = locateMember(files, 'bot-signals.yaml', 'threshold');
  const reach = proveThreshold(rules, collectKnowledge(rules, 'a known client'), botWeight, at);
  return { findings: [...never, ...reach.findings], notes: reach.notes };
}

function exemptsEverybody({ condition }: SignalExemption, reasoner: Reasoner): boolean {
  return reasoner.find([], [condition]).kind === 'none';
}

/** Finds a signal that matches only payers who are exempt from all signals. */
function findNeverCounting(
  rule: Rule<object>,
  exempt: SignalExemption | null,
  reasoner: Reasoner,
): readonly Finding[] {
  if (exempt === null || reasoner.find([rule.condition]).kind === 'none') return [];
  if (reasoner.find([rule.condition], [exempt.condition]).kind !== 'none') return [];
  const message = `"${rule.name}" can never match: every payer it would match is exempt from all signals (line ${exempt.at.line})`;
  return [{ kind: 'never matches', rule: rule.name, at: rule.at, message, example: null }];
}

function proveThreshold(
  { signals }: ParsedRules,
  knowledge: Knowledge,
  botWeight: FactRef,
  at: Location,
): RuleAnalysis {
  const reasoner = new Reasoner(knowledge);
  const reached = reasoner.find([createComparison(botWeight, 'greaterThanInclusive', signals.threshold)]);
  if (reached.kind === 'witness') return NOTHING_FOUND;
  if (reached.kind === 'undecided') {
    const message =
      'whether signals can reach the threshold together could not be decided in reasonable time';
    return { findings: [], notes: [{ at, message }] };
  }
  let most = 0;
  let heaviest: ReadonlyMap<string, NullableFactValue> = new Map();
  for (;;) {
    const more = reasoner.find([createComparison(botWeight, 'greaterThan', most)]);
    if (more.kind !== 'witness') break;
    heaviest = more.facts;
    most = Number(more.facts.get(botWeight.label));
  }
  return toProofs(createOutOfReach(signals, most, heaviest, at));
}

/**
 * Reports that signals cannot reach the threshold. `most` is the highest weight that signals can have together, and
 * `heaviest` are the facts with which they have it.
 */
function createOutOfReach(
  { rules, threshold }: ParsedRules['signals'],
  most: number,
  heaviest: ReadonlyMap<string, NullableFactValue>,
  at: Location,
): Finding {
  const matching = rules.filter(({ name }) => heaviest.get(formatSignalFactLabel(name)) === true);
  const conditions = matching.map(({ condition }) => condition);
  const quoted = matching.map(({ name }) => `"${name}"`);
  const names = matching.length === 0 ? '' : ` (${joinWords(quoted, 'and')})`;
  return {
    kind: 'threshold out of reach',
    rule: null,
    at,
    message: `no payer can be flagged: the signals that can match together weigh ${most} at most${names}, below the threshold of ${threshold}`,
    example: matching.length === 0 ? null : selectExampleFacts(heaviest, conditions),
  };
}
