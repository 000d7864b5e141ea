import { join } from 'node:path';
import { formatSeconds } from '#base/duration.ts';
import { OTHERWISE } from '#decision/decision.ts';
import { CLIENT_GROUPS, VERDICTS } from '#decision/decision-words.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { mapHoldoutShares } from '#decision/holdout.ts';
import { OUTCOME_EFFECTS } from '#decision/payer/changes.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { OverrideGroup } from '#decision/payer/client-state.ts';
import type { Outcome, OutcomeCause } from '#decision/payer/order.ts';
import type { ScoreBody, VerdictBody } from '#decision/requests.ts';
import { formatCallerText } from '#decision/rules/condition-text.ts';
import {
  formatTracedSignal,
  type RuleSetTrace,
  type RuleTrace,
  sumTracedSignalWeights,
} from '#decision/rules/evaluate/trace.ts';
import {
  choiceForm,
  type Form,
  type JsonSchema,
  mappingForm,
  nullAsForm,
  numberForm,
  optionalForm,
  possiblyEmptyListForm,
  quotedDigitsForm,
  textForm,
  yesNoForm,
} from '#decision/rules/parse/form.ts';
import type { Member, YamlFile } from '#decision/rules/parse/yaml-file.ts';
import type { Location } from '#decision/rules/problem.ts';
import type { ParsedRules, RuleSet } from '#decision/rules/rule-set.ts';
import type { SharedLists } from '#decision/shared-lists.ts';
import {
  formatFileLine,
  listExemptionConditionLines,
  listRuleTraceLines,
  type PaintText,
} from '#workbench/authoring/explain/explanation-text.ts';

/** The members of a step's answer, each with the form that an expected value has in a case. */
type Expectable = Readonly<Record<string, Form<unknown>>>;

/**
 * Returns the members that a case can expect of the answer to each kind of step. `rules` is null for the editor's
 * schema, which does not know the names in the rules.
 */
export function createExpectationForms(rules: ParsedRules | null): Readonly<Record<StepKind, Expectable>> {
  const PAYER = {
    clientGroup: choiceForm(CLIENT_GROUPS, 'The client group.'),
    paymentScore: quotedDigitsForm('^[01]\\.\\d{4}$', 'a text with 4 decimals, like "0.5000"'),
    isBot: yesNoForm(),
    signals: possiblyEmptyListForm(
      createNameForm(listNames(rules?.signals)),
      'signal',
      'Names of the signals that match.',
    ),
  };
  const texts = (name: string) =>
    nullAsForm(null, possiblyEmptyListForm(textForm('A key.'), `an item of ${name}`));
  return {
    score: {
      ...PAYER,
      preferredAcceptorKey: texts('preferredAcceptorKey'),
      payLimitValue: texts('payLimitValue'),
    },
    verdict: {
      verdict: choiceForm(VERDICTS, 'The command to the caller.'),
      waitSeconds: nullAsForm(null, numberForm({ min: 1, max: 1e9, integer: true })),
      ladder: nullAsForm(null, createNameForm(Object.keys(rules?.settings.ladder.ladders ?? {}))),
      heldOut: createHoldoutRulesForm(rules, 'The rules that matched and were skipped.'),
      stickyRequisiteRef: nullAsForm(null, textForm('The requisite.')),
      rule: createNameForm([...listNames(rules?.verdicts), OTHERWISE], {
        description: 'Name of the rule that decides, or otherwise.',
      }),
      reason: textForm('What the caller reads.'),
      flags: possiblyEmptyListForm(createNameForm(listFlags(rules)), 'flag', 'The flags beside the verdict.'),
      ...PAYER,
      ruleVersion: textForm('The version that decides.'),
    },
    outcome: { effect: choiceForm(OUTCOME_EFFECTS, 'What the report did.') },
    binding: {},
    override: {},
  };
}

function listNames(part: { readonly rules: readonly { readonly name: string }[] } | undefined) {
  return part?.rules.map(({ name }) => name) ?? [];
}

function listFlags(rules: ParsedRules | null): readonly string[] {
  return [...new Set(rules?.flags.rules.map(({ params }) => params.flag))];
}

function createNameForm(names: readonly string[], schema: JsonSchema = {}): Form<string> {
  return {
    schema: { type: 'string', ...schema },
    read: (file, node, what) => file.readChoice(node, what, names),
  };
}

/** Reads the expectations of a step, and reports impossible ones. */
export function readExpectations(
  file: YamlFile,
  kind: StepKind,
  { key, value }: Member,
  forms: Expectable,
): readonly Expectation[] {
  const names = Object.keys(forms);
  if (names.length === 0) {
    file.report(key, `a ${kind} has no answer; expect something of a score or verdict after it`);
    return [];
  }
  const members = [...(file.readMembers(value, `what a ${kind} answers`, names, []) ?? [])];
  return members.flatMap(([member, place]) => {
    const form = forms[member];
    const expected = form?.read(file, place.value, member);
    return form === undefined ? [] : [{ member, value: expected, at: file.locate(place.key) }];
  });
}

/**
 * Creates the schema of a step's expectations. The schema depends on the kind of the step, and is false for a step
 * without an answer.
 */
export function createExpectationSchema(forms: Expectable): JsonSchema | false {
  const members = Object.entries(forms).map(([name, form]) => [name, optionalForm(form)]);
  if (members.length === 0) return false;
  return mappingForm('What must be answered.', Object.fromEntries(members), () => null).schema;
}

/** Creates the form for a list of rules that hold clients out, like `groups/blocked-by-unpaid-chain`. */
export function createHoldoutRulesForm(
  rules: ParsedRules | null,
  description: string,
): Form<readonly string[]> {
  const names = rules === null ? [] : [...mapHoldoutShares(rules).keys()];
  const rule = createNameForm(names, { pattern: '^(groups|bot-signals|verdicts)/[a-z][a-z0-9-]*$' });
  return possiblyEmptyListForm(rule, 'rule with a holdout', description);
}

/** The rule files that decide an answer: groups, signals, verdicts and flags. */
type Stage = Exclude<keyof RuleSetTrace, 'exempt'>;

/** The file whose rules give each member of an answer. Members that no rule gives are left out. */
const GIVEN_BY: Readonly<Record<string, Stage>> = {
  clientGroup: 'groups',
  preferredAcceptorKey: 'groups',
  payLimitValue: 'groups',
  isBot: 'signals',
  signals: 'signals',
  verdict: 'verdicts',
  waitSeconds: 'verdicts',
  stickyRequisiteRef: 'verdicts',
  rule: 'verdicts',
  reason: 'verdicts',
  flags: 'flags',
};

const TITLES = {
  groups: 'Client group',
  signals: 'Bot signals',
  verdicts: 'Verdict',
  flags: 'Flags',
} as const satisfies Record<Stage, string>;

/** `expected ..., seen ...` is written on two lines if it would be longer than this. */
const DIFFERENCE_CHARACTERS_MAX = 70;

/** Formats a failing case: the step, the expected and the seen values, and the rules of that step with their values. */
export function formatFailureLines(
  failure: CaseFailure,
  trace: RuleSetTrace | null,
  rules: RuleSet,
  folder: string,
  paint: PaintText,
): readonly string[] {
  const { caseName, at, differences } = failure;
  const width = Math.max(...differences.map(({ member }) => member.length));
  return [
    `${paint('fail', '✗')} ${paint('strong', caseName)}`,
    `  ${join(folder, formatFileLine(at))}  ${formatStep(failure)}`,
    ...differences.flatMap((difference) => differenceLines(difference, width, paint)),
    ...(trace === null ? [] : traceLines(failure, trace, rules, paint)),
  ];
}

function differenceLines(
  { member, expected, seen, at }: UnmetExpectation,
  width: number,
  paint: PaintText,
): readonly string[] {
  const [wanted, found] = [formatValue(expected), formatValue(seen)];
  const place = paint('faint', formatFileLine(at));
  const start = `    ${member.padEnd(width)}  expected ${paint('pass', wanted)}`;
  return wanted.length + found.length <= DIFFERENCE_CHARACTERS_MAX
    ? [`${start}, seen ${paint('fail', found)}  ${place}`]
    : [`${start}  ${place}`, `${' '.repeat(width + 6)}seen     ${paint('fail', found)}`];
}

function formatStep({ step, kind, clientIdKey, times, elapsedMs, platform }: CaseFailure): string {
  const time = times === 1 ? '' : `, time ${times} of ${times}`;
  const elapsed = formatSeconds(Math.floor(elapsedMs / 1000), 'narrow');
  const when = elapsedMs === 0 ? 'as the case begins' : `${elapsed} after the case began`;
  const where = platform === 'demo' ? '' : ` on platform ${platform}`;
  return `step ${step}: ${kind} of ${formatCallerText(clientIdKey)}${where}, ${when}${time}`;
}

/** Formats the rules behind the unmet expectations in full, and the other rules in one line. */
function traceLines(
  failure: CaseFailure,
  trace: RuleSetTrace,
  rules: RuleSet,
  paint: PaintText,
): readonly string[] {
  const wanted = new Set(failure.differences.map(({ member }) => GIVEN_BY[member]));
  const expected = expectedNames(failure);
  const stageLines = (stage: Stage, outcome: string) => {
    const title = `  ${TITLES[stage]}: ${outcome}`;
    if (!wanted.has(stage)) return [paint('faint', title)];
    const told = trace[stage].filter((rule) => isWorthShowing(stage, rule, expected));
    const others = trace[stage].length - told.length;
    const notAsked =
      stage === 'signals' ? 'did not match' : others === 1 ? 'was not asked' : 'were not asked';
    const exempt = stage === 'signals' ? listExemptionConditionLines(trace.exempt, paint) : [];
    return [
      title,
      ...[...exempt, ...listRuleTraceLines(told, paint)].map((line) => `  ${line}`),
      ...(others === 0 ? [] : [paint('faint', `    ${others} more ${notAsked}`)]),
    ];
  };
  return [
    ...stageLines('groups', formatFirstMatch(trace.groups)),
    ...stageLines('signals', formatSignals(failure, trace, rules)),
    ...(failure.kind === 'verdict' ? stageLines('verdicts', formatFirstMatch(trace.verdicts)) : []),
  ];
}

/**
 * Tells whether a rule is shown. A signal is shown if it matched, and another rule if it was asked. A rule that the
 * case expected to match is always shown.
 */
function isWorthShowing(stage: Stage, rule: RuleTrace, expected: ReadonlySet<unknown>): boolean {
  return expected.has(rule.name) || (stage === 'signals' ? rule.matched : rule.asked);
}

function expectedNames({ differences }: CaseFailure): ReadonlySet<unknown> {
  return new Set(differences.flatMap(({ expected }) => (Array.isArray(expected) ? expected : [expected])));
}

function formatFirstMatch(rules: readonly RuleTrace[]): string {
  const first = rules.find(({ matched }) => matched);
  return first === undefined ? 'no rule matched, "otherwise" answered' : `${first.name} gave ${first.gives}`;
}

function formatSignals({ values }: CaseFailure, { signals, exempt }: RuleSetTrace, rules: RuleSet): string {
  if (exempt?.passed === true) return 'none apply, the payer is exempt from all of them';
  const matching = signals.filter(({ matched }) => matched);
  if (matching.length === 0) return 'none matched';
  const weight = sumTracedSignalWeights(signals);
  const isNew = values?.[rules.facts.findIndex(({ name }) => name === 'isNewClient')] === true;
  const names = matching.map(formatTracedSignal).join(', ');
  return `${names}; weight ${weight}, ${isNew ? 'but a new client is never a bot' : `a bot from ${rules.signals.threshold} on`}`;
}

function formatValue(value: unknown): string {
  if (value === null) return 'absent';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(formatValue).join(', ');
  return typeof value === 'string' ? formatCallerText(value) : JSON.stringify(value);
}

/** A test of a rule set: the actions of one or more payers, and the answers that the rules must give. */
export interface RuleCase {
  readonly name: string;
  readonly platform: PlatformName;
  /** The shared lists. They are the same from the first step to the last. */
  readonly lists: SharedLists;
  /** The rules that the case's clients are held out of, like `groups/blocked-by-unpaid-chain`. */
  readonly heldOut: readonly string[];
  /** When the case starts, in epoch ms. The steps say how much time passes. */
  readonly startsAt: number;
  readonly steps: readonly CaseStep[];
  readonly at: Location;
}

export interface CaseStep {
  readonly afterMs: number;
  /** The client. `{n}` in it stands for the number of the repetition, so that many clients can take the same step. */
  readonly clientIdKey: string;
  readonly action: CaseAction;
  /** How often the action happens, `everyMs` apart. Expectations are about the last time. */
  readonly times: number;
  readonly everyMs: number;
  readonly expect: readonly Expectation[];
  readonly at: Location;
}

export type CaseAction =
  | { readonly kind: 'score'; readonly body: Omit<ScoreBody, 'clientIdKey'> }
  | { readonly kind: 'verdict'; readonly body: Omit<VerdictBody, 'clientIdKey'> }
  | {
      readonly kind: 'outcome';
      readonly orderRef: string;
      readonly outcome: Outcome;
      readonly cause: OutcomeCause | null;
      /** How long before its report the outcome happened. Null if the report states no time. */
      readonly agoMs: number | null;
      /**
       * The amount that was captured or taken back so far, in the form of `formatMoney`. Null if the report has none.
       */
      readonly money: string | null;
    }
  | { readonly kind: 'binding'; readonly binding: CaseBinding | null }
  | { readonly kind: 'override'; readonly override: CaseOverride | null };

interface CaseBinding {
  readonly requisiteRef: string;
  readonly acceptorKeys: readonly string[];
  readonly method: string | null;
  /** Null if the binding lasts for the whole case. */
  readonly expiresAfterMs: number | null;
}

interface CaseOverride {
  readonly group: OverrideGroup;
  /** Null if the override lasts for the whole case. */
  readonly expiresAfterMs: number | null;
}

export const STEP_KINDS = ['score', 'verdict', 'outcome', 'binding', 'override'] as const;

type StepKind = (typeof STEP_KINDS)[number];

/** A member of the answer, and the value that it must have. The value is null if the member must be missing. */
export interface Expectation {
  readonly member: string;
  readonly value: unknown;
  readonly at: Location;
}

export interface CaseFailure {
  readonly caseName: string;
  readonly platform: PlatformName;
  readonly at: Location;
  /** The number of the step, from 1. */
  readonly step: number;
  readonly kind: StepKind;
  readonly clientIdKey: string;
  /** How often the step acted. The expectations are about the last time. */
  readonly times: number;
  readonly elapsedMs: number;
  readonly differences: readonly UnmetExpectation[];
  /** The values that the rules saw, for `traceFailure`. Null if the step evaluates no rules. */
  readonly values: readonly NullableFactValue[] | null;
}

export interface UnmetExpectation {
  readonly member: string;
  /** Null if the member must be missing, here and in `seen`. */
  readonly expected: unknown;
  readonly seen: unknown;
  readonly at: Location;
}
