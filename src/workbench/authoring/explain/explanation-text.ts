import { type Decision, OTHERWISE } from '#decision/decision.ts';
import { foldCondition } from '#decision/rules/condition.ts';
import {
  formatCallerText,
  formatExpectedValue,
  formatSeenFact,
  joinWords,
  quoteText,
} from '#decision/rules/condition-text.ts';
import type { ConditionTrace, RuleTrace } from '#decision/rules/evaluate/trace.ts';
import type { Location } from '#decision/rules/problem.ts';
import { type Explanation, formatDateTime, type RulesTrace, shortenDigest } from './explain.ts';

/**
 * An explanation to format. It may also come from an answer of the API, in which the time of the decision is a text.
 */
export interface ExplanationToFormat extends Omit<Explanation, 'decision'> {
  readonly decision: ToldDecision;
}

interface ToldDecision extends Omit<Decision, 'at'> {
  readonly at: number | string;
}

/**
 * Formats an explanation for analysts: the question and the answer, the rules and values behind it, its effect on the
 * ladder, and whether it can be reproduced.
 */
export function formatExplanation(explanation: ExplanationToFormat, paint: PaintText = PLAIN_PAINT): string {
  const { decision, rules, ladder, sharedLists, payerText, integratorText } = explanation;
  const title = (text: string) => paint('strong', text);
  return [
    ...decisionLines(decision, title),
    ...(sharedLists.length === 0 ? [] : [listsLine(sharedLists)]),
    '',
    ...(rules === null ? formatRecord(decision, title) : rulesLines(rules, paint)),
    '',
    title('Cooldown ladder'),
    `  before  ${ladder.before.words}`,
    `  after   ${ladder.after.words}`,
    '',
    title('For the payer'),
    `  ${payerText}`,
    '',
    title('For the integrator'),
    ...integratorText.split('\n').map((line) => `  ${line}`),
    '',
    ...verificationLines(explanation, paint),
  ].join('\n');
}

function decisionLines(decision: ToldDecision, title: (text: string) => string): readonly string[] {
  const { decisionId, at, clientIdKey, platform, sellPointKey, orderRef, rule, ruleVersion, digest, arm } =
    decision;
  const source = rule === OTHERWISE ? '"otherwise"' : `the rule ${rule}`;
  const role = arm === 'candidate' ? ', the candidate of a rollout' : '';
  return [
    title(`Decision ${decisionId}: ${formatAnswer(decision)}`),
    `  On ${formatDateTime(at)} client ${formatCallerText(clientIdKey)} of platform ${platform} asked at ${formatCallerText(sellPointKey)} for order ${formatCallerText(orderRef)}.`,
    `  The answer was ${formatAnswer(decision)}: ${quoteText(decision.reason)}`,
    `  It came from ${source} in ${ruleVersion} (digest ${shortenDigest(digest)})${role}.`,
  ];
}

function listsLine(lists: readonly string[]): string {
  return `  The request was on the shared ${lists.length === 1 ? 'list' : 'lists'} ${joinWords(lists, 'and')}.`;
}

function formatAnswer({ verdict, waitSeconds }: ToldDecision): string {
  return waitSeconds === undefined ? verdict : `${verdict} ${waitSeconds} s`;
}

function rulesLines({ groups, signals, verdicts, flags }: RulesTrace, paint: PaintText): readonly string[] {
  return [
    paint('strong', `Client group: ${groups.group}`),
    `  ${groups.why}`,
    ...listRuleTraceLines(groups.rules, paint),
    '',
    paint('strong', `Bot: ${signals.isBot ? 'yes' : 'no'}`),
    `  ${signals.why}`,
    ...listExemptionConditionLines(signals.exempt, paint),
    ...listRuleTraceLines(signals.rules, paint),
    '',
    paint('strong', `Verdict: ${verdicts.verdict}`),
    `  ${verdicts.why}`,
    ...listRuleTraceLines(verdicts.rules, paint),
    ...(flags.rules.length === 0
      ? []
      : [
          '',
          paint('strong', `Flags: ${flags.raised.length === 0 ? 'none' : flags.raised.join(', ')}`),
          `  ${flags.why}`,
          ...listRuleTraceLines(flags.rules, paint),
        ]),
  ];
}

/** Formats the content of the decision record, if the rules that decided are not available. */
function formatRecord(
  { clientGroup, isBot, signals, facts }: ToldDecision,
  title: (text: string) => string,
): readonly string[] {
  const width = Math.max(0, ...Object.keys(facts).map((label) => label.length));
  const matching = signals.length === 0 ? 'no signal matched' : `signals ${signals.join(', ')} matched`;
  return [
    title('On record'),
    `  The client's group was ${clientGroup}. It was ${isBot ? '' : 'not '}flagged as a bot: ${matching}.`,
    '  The rules saw:',
    ...Object.entries(facts).map(
      ([label, value]) => `    ${label.padEnd(width)}  ${formatExpectedValue(value)}`,
    ),
  ];
}

function verificationLines(
  { reproduced, differences, verification }: ExplanationToFormat,
  paint: PaintText,
): readonly string[] {
  const width = Math.max(0, ...differences.map(({ member }) => member.length));
  return [
    paint(reproduced ? 'pass' : 'fail', `Reproduced: ${reproduced ? 'yes' : 'no'}`),
    `  ${verification}`,
    ...differences.map(
      ({ member, recorded, rerun }) =>
        `    ${member.padEnd(width)}  on record ${formatValue(recorded)}, now ${formatValue(rerun)}`,
    ),
  ];
}

function formatValue(value: unknown): string {
  return value === null ? 'absent' : typeof value === 'string' ? quoteText(value) : JSON.stringify(value);
}

/** The meanings of a piece of text, which a terminal may show as colours. */
export const TEXT_TONES = ['pass', 'fail', 'faint', 'strong'] as const;

export type TextTone = (typeof TEXT_TONES)[number];

export type PaintText = (tone: TextTone, text: string) => string;

export const PLAIN_PAINT: PaintText = (_tone, text) => text;

/** Locations are aligned in a column, except after a text that is longer than this. */
const TEXT_CHARACTERS_MAX = 84;

interface Row {
  readonly tone: TextTone;
  readonly text: string;
  readonly at: Location;
}

/**
 * Formats rules as aligned lines. Below each rule are its conditions, each with the value that it saw and its
 * location.
 */
export function listRuleTraceLines(rules: readonly RuleTrace[], paint: PaintText): readonly string[] {
  const nameWidth = Math.max(0, ...rules.map(({ name }) => name.length));
  return alignPlaces(
    rules.flatMap((rule) => ruleRows(rule, nameWidth)),
    paint,
  );
}

/** Formats the conditions under which no signal applies, in the same way as those of a rule. */
export function listExemptionConditionLines(
  exempt: ConditionTrace | null,
  paint: PaintText,
): readonly string[] {
  if (exempt === null) return [];
  const { passed, at } = exempt;
  const text = passed ? '  ✓ exempt: no signal applies' : '  ✗ exempt: the signals apply';
  const head = { tone: passed ? 'pass' : 'strong', text, at } as const;
  return alignPlaces([head, ...conditionRows(exempt, 6, true)], paint);
}

function ruleRows(rule: RuleTrace, nameWidth: number): readonly Row[] {
  const mark = rule.asked && rule.heldOut !== true ? (rule.matched ? '✓' : '✗') : '·';
  const tone = rule.asked ? (rule.matched ? 'pass' : 'strong') : 'faint';
  const head = {
    tone,
    text: `  ${mark} ${rule.name.padEnd(nameWidth)}  ${formatStatus(rule)}`,
    at: rule.at,
  } as const;
  return [head, ...conditionRows(rule.condition, 6, rule.asked)];
}

function formatStatus({ asked, matched, heldOut, outweighedBy, gives }: RuleTrace): string {
  const what = typeof gives === 'number' ? `weight ${gives}` : gives;
  if (heldOut === true) return 'matched, and skipped: the client is held out of it';
  if (outweighedBy !== undefined)
    return `matched; ${outweighedBy}, about the same thing, counts in its place`;
  if (asked) return matched ? `matched: ${what}` : 'did not match';
  return matched ? `not asked; it would match: ${what}` : 'not asked; it would not match';
}

/**
 * Creates the rows of a condition. `indent` is the number of spaces, and `top` says whether the condition is at the
 * top of its rule.
 */
type RowsOf = (indent: number, top: boolean) => readonly Row[];

function conditionRows(condition: ConditionTrace, indent: number, asked: boolean): readonly Row[] {
  const row = ({ passed, at }: ConditionTrace, indentHere: number, words: string): Row => ({
    tone: asked ? (passed ? 'pass' : 'fail') : 'faint',
    text: `${' '.repeat(indentHere)}${passed ? '✓' : '✗'} ${words}`,
    at,
  });
  const above = (trace: ConditionTrace, words: string, parts: readonly RowsOf[]): RowsOf => {
    return (here) => [row(trace, here, words), ...parts.flatMap((rows) => rows(here + 2, false))];
  };
  const rows = foldCondition(condition, {
    group: (kind, parts, trace): RowsOf => {
      const all = above(trace, `${kind} of`, parts);
      // An `all` at the top of a rule is not written, because it is understood.
      return (here, top) =>
        top && kind === 'all' ? parts.flatMap((inner) => inner(here, false)) : all(here, false);
    },
    not: (part, trace) => above(trace, 'not', [part]),
    reference: (name, part, trace) => above(trace, `the condition "${name}"`, [part]),
    comparison: (trace) => above(trace, formatSeenFact(trace), []),
  });
  return rows(indent, true);
}

function alignPlaces(rows: readonly Row[], paint: PaintText): readonly string[] {
  const width = Math.min(TEXT_CHARACTERS_MAX, Math.max(0, ...rows.map(({ text }) => text.length)));
  return rows.map(({ tone, text, at }) => {
    const padding = ' '.repeat(Math.max(0, width - text.length));
    return `${paint(tone, text)}${padding}  ${paint('faint', formatFileLine(at))}`;
  });
}

/** Formats a location like `verdicts.yaml:28`, which editors can open. */
export function formatFileLine({ file, line }: Location): string {
  return `${file}:${line}`;
}
