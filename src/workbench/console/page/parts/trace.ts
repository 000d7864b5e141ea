import { type Html, html } from '#workbench/console/page/html.ts';
import type {
  ConditionTrace,
  NullableFactValue,
  RulesTrace,
  RuleTrace,
} from '#workbench/console/page/questions.ts';
import { formatDuration, formatFact } from './format.ts';
import { toRuleResultsPath } from './links.ts';
import { renderPill } from './verdict.ts';

const SIGNS: Readonly<Record<string, string>> = {
  equal: '=',
  notEqual: '≠',
  lessThan: '<',
  lessThanInclusive: '≤',
  greaterThan: '>',
  greaterThanInclusive: '≥',
  in: 'in',
  notIn: 'not in',
  multipleOf: 'is a multiple of',
  notMultipleOf: 'is no multiple of',
  known: 'known =',
};

/**
 * Renders what the rules of a rule set decided, and the values that they saw: the verdict first, then what
 * led to it. Matching rules are shown. The others are folded behind their number. If a version is given, each
 * rule links to its results.
 */
export function renderRulesTrace(
  { groups, signals, verdicts, flags }: RulesTrace,
  version: string | undefined,
) {
  const bot = signals.isBot ? 'bot' : 'no bot';
  return html`<div class="trace">
    ${renderPart('Verdict', verdicts.verdict, verdicts, version)}
    ${renderPart('Group', groups.group, groups, version)}
    ${renderPart('Bot signals', bot, signals, version, signals.exempt && renderExemption(signals.exempt))}
    ${flags.rules.length > 0 && renderPart('Flags', flags.raised.join(', ') || 'none', flags, undefined)}
  </div>`;
}

/** Renders the conditions under which no bot signal applies. */
function renderExemption(exempt: ConditionTrace) {
  const { passed, at } = exempt;
  return html`<details open=${passed} class=${passed ? 'rule rule-matched' : 'rule'}>
    <summary>
      <span class="mark">${passed ? '✓' : '✗'}</span> <b>exempt</b>
      <span class="faint">${passed ? 'no signal applies' : 'the signals apply'}</span>
    </summary>
    <p class="faint"><code>${at.file}:${at.line}</code></p>
    <ul class="conditions">
      ${listTopConditions(exempt).map(renderCondition)}
    </ul>
  </details>`;
}

function renderPart(
  title: string,
  answer: string,
  { why, rules }: { why: string; rules: readonly RuleTrace[] },
  version: string | undefined,
  before: unknown = null,
) {
  const matched = rules.filter((rule) => rule.asked && rule.matched);
  const others = rules.filter((rule) => !matched.includes(rule));
  return html`<section>
    <h3>${title} ${renderPill(answer)}</h3>
    <p class="faint">${why}</p>
    ${before}
    ${matched.length > 0 && renderRuleList(matched, version)}
    ${
      others.length > 0 &&
      html`<details>
        <summary>${describeOthers(others)}</summary>
        ${renderRuleList(others, version)}
      </details>`
    }
  </section>`;
}

function describeOthers(others: readonly RuleTrace[]) {
  const asked = others.filter((rule) => rule.asked).length;
  const unasked = others.length - asked;
  const parts = [
    asked > 0 ? `${asked} ${asked === 1 ? 'rule' : 'rules'} did not match` : '',
    unasked > 0 ? `${unasked} ${asked > 0 ? '' : unasked === 1 ? 'rule ' : 'rules '}not asked` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function renderRuleList(rules: readonly RuleTrace[], version: string | undefined) {
  return html`<ol class="rules">
    ${rules.map((rule) => html`<li key=${rule.name}>${renderRule(rule, version)}</li>`)}
  </ol>`;
}

function renderRule(rule: RuleTrace, version: string | undefined) {
  const { name, gives, asked, matched, condition, description, at } = rule;
  const given = typeof gives === 'number' ? `weight ${gives}` : gives;
  return html`<details open=${asked && matched} class=${asked && matched ? 'rule rule-matched' : 'rule'}>
    <summary>
      <span class="mark">${chooseMark(rule)}</span> <b>${name}</b>
      <span
        class="faint">${describeRuleStatus(rule)}${
          matched && html` <span class="gives">${given}</span>`
        }</span>
    </summary>
    <p class="faint">
      ${description} <code>${at.file}:${at.line}</code>${' '}
      ${version && html`<a href=${toRuleResultsPath(version, at.file, name)}>Results of this rule</a>`}
    </p>
    <ul class="conditions">
      ${listTopConditions(condition).map(renderCondition)}
    </ul>
  </details>`;
}

/** Lists the conditions at the top of a rule. An "all" there is not shown, because readers expect it. */
function listTopConditions(condition: ConditionTrace) {
  return condition.kind === 'all' ? condition.conditions : [condition];
}

function chooseMark({ asked, matched }: RuleTrace) {
  if (!asked) return '·';
  return matched ? '✓' : '✗';
}

function describeRuleStatus({ asked, matched, heldOut, outweighedBy }: RuleTrace) {
  if (heldOut) return 'matched, and skipped: the client is held out of it';
  if (outweighedBy) return `matched; ${outweighedBy}, about the same thing, counts in its place`;
  if (asked) return matched ? 'matched' : 'did not match';
  return matched ? 'not asked; it would match' : 'not asked';
}

function renderCondition(condition: ConditionTrace): Html {
  const { passed } = condition;
  const mark = html`<span class=${`mark mark-${passed ? 'yes' : 'no'}`}>${passed ? '✓' : '✗'}</span>`;
  if (condition.kind === 'comparison') {
    const { fact, operator, expected, list, otherFact, seen } = condition;
    const value = list === undefined ? formatFact(expected) : `the list ${list}`;
    const limit = otherFact === undefined ? value : `${otherFact} (${value})`;
    const asked = `${fact} ${SIGNS[operator] ?? operator} ${limit}`;
    return html`<li>${mark} <code>${asked}</code> <span
      class="saw">saw <b>${formatReading(fact, seen)}</b></span></li>`;
  }
  return html`<li>
    ${mark} ${formatKind(condition)}
    <ul class="conditions">
      ${listInner(condition).map(renderCondition)}
    </ul>
  </li>`;
}

type Nested = Exclude<ConditionTrace, { kind: 'comparison' }>;

function listInner(condition: Nested) {
  return 'conditions' in condition ? condition.conditions : [condition.condition];
}

function formatKind(condition: Nested): string {
  switch (condition.kind) {
    case 'all':
      return 'all of';
    case 'any':
      return 'any of';
    case 'not':
      return 'not';
    case 'reference':
      return `the condition “${condition.name}”`;
    default:
      return condition;
  }
}

/** Renders the facts' values that the rules saw. */
export function renderFactsTable(facts: Readonly<Record<string, NullableFactValue>>) {
  return html`<dl class="facts">
    ${Object.entries(facts).map(
      ([label, value]) =>
        html`<div><dt><code>${label}</code></dt><dd>${formatReading(label, value)}</dd></div>`,
    )}
  </dl>`;
}

const MINUTE_SECONDS = 60;

/** Formats a fact's value. Large numbers of seconds are also written as a duration. */
function formatReading(label: string, value: NullableFactValue) {
  const isLong = /seconds/i.test(label) && typeof value === 'number' && value >= MINUTE_SECONDS;
  return isLong ? `${formatFact(value)} (${formatDuration(value * 1000)})` : formatFact(value);
}
