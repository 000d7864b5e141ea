import { type TObject, Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { factValueSchema, type NullableFactValue, nullableFactValueSchema } from '#decision/facts/fact.ts';
import type { AttributePseudonymizer } from '#decision/payer/attribute-hmacs.ts';
import {
  type Condition,
  type ConditionTree,
  type FactRef,
  foldCondition,
  isFactRef,
  OPERATOR_NAMES,
} from '#decision/rules/condition.ts';
import { HIDDEN_PSEUDONYM } from '#decision/rules/condition-text.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import { moveNegations, type NegationCache } from '#decision/rules/negation.ts';
import { locationSchema } from '#decision/rules/problem.ts';
import {
  EXEMPTION_NAME,
  type LoadedEngine,
  type MatchableRule,
  type Rule,
  type RuleSet,
  type SignalParams,
  selectHeaviestByAbout,
  sumAndRoundWeights,
} from '#decision/rules/rule-set.ts';
import { findConstantsToHash, hashConstants } from './hashed-constants.ts';

const JUDGED = { passed: s.yesNo('Whether it holds'), at: locationSchema };

const SEEN = {
  fact: s.plainText('The fact by its label, like "verdicts(10m)"'),
  operator: s.choice(
    OPERATOR_NAMES,
    'An operator of json-rules-engine, an operator of multiples, or known: the fact has a value',
  ),
  expected: Type.Union([nullableFactValueSchema, Type.Array(factValueSchema)], {
    description: 'The value that the fact is compared with; null: the other fact is not known',
  }),
  list: Type.Optional(s.plainText('The list of the rule set that the expected values stand in')),
  otherFact: Type.Optional(
    s.plainText(
      'The label of another fact that the fact is compared with; `expected` is the value of that fact',
    ),
  ),
  seen: Type.Unsafe<NullableFactValue>({
    ...nullableFactValueSchema,
    description:
      'The value of the fact; null: not known; "hmac:..": a pseudonym, while the constants are shown in clear',
  }),
};

type Judged = s.ValueOf<TObject<typeof JUDGED>>;

/**
 * The tree of a condition as the analyst wrote it, with the values that the comparisons saw, and with the positions
 * in the file.
 */
export type ConditionTrace = ConditionTree<Judged, s.ValueOf<TObject<typeof SEEN>>>;

const CONDITION = 'Condition';

const innerCondition = Type.Unsafe<ConditionTrace>({ $ref: s.toSchemaPointer(CONDITION) });

const GROUP = s.named(
  'ConditionGroup',
  s.shape('A group of conditions of which all must hold, or any one', {
    kind: s.choice(['all', 'any'], 'all: every condition must hold; any: one of them must hold'),
    ...JUDGED,
    conditions: s.list(innerCondition, 'The conditions, in the sequence written'),
  }),
);

/** The schema refers to itself, so its type is stated and not derived. */
export const ConditionTraceSchema = s.named(
  CONDITION,
  Type.Unsafe<ConditionTrace>(
    s.oneOf(
      'kind',
      {
        all: GROUP,
        any: GROUP,
        not: s.named(
          'NegatedCondition',
          s.shape('A condition that holds if the condition inside it does not hold', {
            kind: s.literal('not'),
            ...JUDGED,
            condition: innerCondition,
          }),
        ),
        reference: s.named(
          'NamedCondition',
          s.shape('A condition that is referred to by its name', {
            kind: s.literal('reference'),
            name: s.plainText('The shared condition'),
            ...JUDGED,
            condition: innerCondition,
          }),
        ),
        comparison: s.named(
          'Comparison',
          s.shape('A fact compared with a value', { kind: s.literal('comparison'), ...JUDGED, ...SEEN }),
        ),
      },
      'A condition as the analyst wrote it, with the values of its facts',
    ),
  ),
);

export type ComparisonTrace = Extract<ConditionTrace, { kind: 'comparison' }>;

export const RuleTraceSchema = s.named(
  'RuleTrace',
  s.shape('One rule, with the values of the facts that it asked for', {
    name: s.plainText('The name of the rule'),
    description: s.plainText("The analyst's words"),
    priority: Type.Number({ description: 'The priority: rules with a higher one are asked first' }),
    at: locationSchema,
    gives: Type.Unsafe<string | number>({
      type: ['string', 'number'],
      description: 'What it gives when it matches: a group, a weight, a verdict, a flag',
    }),
    asked: s.yesNo(
      'The decision depended on it; false for a rule after the first match, and for a signal if the payer is exempt',
    ),
    matched: s.yesNo('Its conditions hold, even if it was not asked'),
    heldOut: Type.Optional(
      Type.True({ description: 'The client is held out of the rule, so the rule does not count' }),
    ),
    outweighedBy: Type.Optional(
      s.plainText(
        'For a signal: the other signal about the same thing, which counts in its place',
        'very-crowded-ip',
      ),
    ),
    condition: ConditionTraceSchema,
  }),
);

export type RuleTrace = s.ValueOf<typeof RuleTraceSchema>;

export interface RuleSetTrace {
  readonly groups: readonly RuleTrace[];
  readonly signals: readonly RuleTrace[];
  readonly verdicts: readonly RuleTrace[];
  readonly flags: readonly RuleTrace[];
  /** The conditions under which no signal applies. Null if the rule set has none. */
  readonly exempt: ConditionTrace | null;
}

/**
 * Traces every rule of a rule set over the values of one decision, including its conclusions, in the sequence in
 * which the rules are asked. `heldOut` names the rules that the client was held out of, like `groups/blocked`. Throws
 * when the compiled rules disagree with json-rules-engine, which defines the language of rules. Such a disagreement
 * is a bug.
 */
export async function traceRuleSet(
  rules: RuleSet,
  values: readonly NullableFactValue[],
  heldOut: ReadonlySet<string> = new Set(),
): Promise<RuleSetTrace> {
  const { groups, signals, verdicts, flags, engines, attributeHmacs: hmacs } = rules;
  const exempting = signals.exempt === null ? [] : [signals.exempt];
  const trace = <Params>(
    file: keyof RuleSet['engines'],
    some: readonly MatchableRule<Params>[],
    gives: (params: Params) => string | number,
  ) => traceRules(some, engines[file], { values, hmacs }, gives);
  const [groupTraces, exemptTraces, signalTraces, verdictTraces, flagTraces] = await Promise.all([
    trace('groups', groups.rules, ({ group }) => group),
    trace('exempt', exempting, () => EXEMPTION_NAME),
    trace('signals', signals.rules, ({ weight }) => weight),
    trace('verdicts', verdicts.rules, ({ verdict }) => verdict),
    trace('flags', flags.rules, ({ flag }) => flag),
  ]);
  const exempt = exemptTraces[0]?.condition ?? null;
  const asked = signalTraces.map((trace) => ({ ...trace, asked: exempt?.passed !== true }));
  const marked = (file: string, traces: readonly RuleTrace[]) =>
    traces.map((trace) =>
      heldOut.has(`${file}/${trace.name}`) ? { ...trace, heldOut: true as const } : trace,
    );
  return {
    groups: markAsked(marked('groups', groupTraces)),
    signals: markOutweighed(signals.rules, marked('bot-signals', asked)),
    verdicts: markAsked(marked('verdicts', verdictTraces)),
    flags: flagTraces,
    exempt,
  };
}

export function hasTakenEffect({ asked, matched, heldOut }: RuleTrace): boolean {
  return asked && matched && heldOut !== true;
}

/** Sums the weights of the signals that count. */
export function sumTracedSignalWeights(signals: readonly RuleTrace[]): number {
  const weighing = signals.filter((signal) => hasTakenEffect(signal) && signal.outweighedBy === undefined);
  return sumAndRoundWeights(weighing.map(({ gives }) => Number(gives)));
}

/** Formats a signal like "crowded-ip (2)", or "crowded-ip (very-crowded-ip counts in its place)". */
export function formatTracedSignal({ name, gives, outweighedBy }: RuleTrace): string {
  return `${name} (${outweighedBy === undefined ? gives : `${outweighedBy} counts in its place`})`;
}

/** Adds to each outweighed signal the name of the signal that outweighs it and is about the same thing. */
function markOutweighed(
  rules: readonly Rule<SignalParams>[],
  traces: readonly RuleTrace[],
): readonly RuleTrace[] {
  const about = new Map(rules.map(({ name, params }) => [name, params.about]));
  const matching = traces.filter(hasTakenEffect).map((trace) => {
    const thing = about.get(trace.name);
    return {
      name: trace.name,
      weight: Number(trace.gives),
      ...(thing === undefined ? {} : { about: thing }),
    };
  });
  const heaviest = selectHeaviestByAbout(matching);
  return traces.map((trace) => {
    const thing = about.get(trace.name);
    const other = thing === undefined ? undefined : heaviest.find((signal) => signal.about === thing);
    if (!hasTakenEffect(trace) || other === undefined || other.name === trace.name) return trace;
    return { ...trace, outweighedBy: other.name };
  });
}

/** Traces the rules of one file. Every rule is traced as asked. `traceRuleSet` corrects this. */
async function traceRules<Params>(
  rules: readonly MatchableRule<Params>[],
  engine: LoadedEngine,
  {
    values,
    hmacs,
  }: { readonly values: readonly NullableFactValue[]; readonly hmacs: AttributePseudonymizer },
  gives: (params: Params) => string | number,
): Promise<readonly RuleTrace[]> {
  const engineMatches = await engine.evaluateRules(values);
  return rules.map((rule) => {
    const { name, description, priority, at } = rule;
    const matched = engineMatches.get(name);
    const condition = traceCondition(rule.written, values, hmacs);
    if (matched !== rule.matches(values) || matched !== condition.passed) {
      throw new Error(
        `json-rules-engine and the compiled rule "${name}" disagree: ${matched} and ${rule.matches(values)}`,
      );
    }
    return {
      name,
      description,
      priority,
      at,
      gives: gives(rule.params),
      asked: true,
      matched,
      condition,
    };
  });
}

/**
 * Traces a written condition and all its parts. Nothing is skipped, so that every value can be shown. A pseudonym is
 * not shown beside a clear constant, because a reader of both could recognise the text in every other record.
 */
export function traceCondition(
  condition: Condition,
  values: readonly NullableFactValue[],
  hmacs: AttributePseudonymizer,
): ConditionTrace {
  const moved: NegationCache = new Map();
  const judged = (part: Condition): Judged => ({
    passed: createMatcher(hashConstants(moveNegations(part, moved), hmacs))(values),
    at: part.at,
  });
  return foldCondition(condition, {
    group: (kind, conditions, part): ConditionTrace => ({ kind, ...judged(part), conditions }),
    not: (inner, part) => ({ kind: 'not', ...judged(part), condition: inner }),
    reference: (name, inner, part) => ({ kind: 'reference', name, ...judged(part), condition: inner }),
    comparison: (comparison) => {
      const { fact, operator, value, list } = comparison;
      const seen = getSeenValue(fact, values);
      const named = list === undefined ? {} : { list };
      const judgement = { ...judged(comparison), fact: fact.label };
      if (isFactRef(value)) {
        const other = { expected: getSeenValue(value, values), otherFact: value.label };
        return { kind: 'comparison', ...judgement, operator, ...other, seen };
      }
      const expected = value;
      const isHashed = seen !== null && findConstantsToHash(comparison) !== null;
      const shown = isHashed ? HIDDEN_PSEUDONYM : seen;
      return { kind: 'comparison', ...judgement, operator, expected, ...named, seen: shown };
    },
  });
}

/** Marks all rules after the first one that decides, because they were not asked. */
function markAsked(traces: readonly RuleTrace[]): readonly RuleTrace[] {
  const first = traces.findIndex(hasTakenEffect);
  return first === -1 ? traces : traces.map((trace, index) => ({ ...trace, asked: index <= first }));
}

function getSeenValue({ label, index }: FactRef, values: readonly NullableFactValue[]): NullableFactValue {
  const value = values[index];
  if (value === undefined) throw new Error(`the value of "${label}" is missing`);
  return value;
}
