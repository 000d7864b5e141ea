import { html } from '../html.js';
import { factText } from './format.js';
import { Pill } from './verdict.js';

const SIGNS = {
  equal: '=',
  notEqual: '≠',
  lessThan: '<',
  lessThanInclusive: '≤',
  greaterThan: '>',
  greaterThanInclusive: '≥',
  in: 'in',
  notIn: 'not in',
};

/** Every rule of a rule set with what it saw, part by part in the order of asking. */
export function RulesTrace({ rules }) {
  const { groups, signals, verdicts } = rules;
  return html`<div class="trace">
    <${Part} title="Group" answer=${groups.group} why=${groups.why} rules=${groups.rules} />
    <${Part}
      title="Bot signals"
      answer=${signals.isBot ? 'bot' : 'no bot'}
      why=${signals.why}
      rules=${signals.rules}
    />
    <${Part} title="Verdict" answer=${verdicts.verdict} why=${verdicts.why} rules=${verdicts.rules} />
  </div>`;
}

function Part({ title, answer, why, rules }) {
  return html`<section>
    <h3>${title} <${Pill}>${answer}<//></h3>
    <p class="faint">${why}</p>
    <ol class="rules">${rules.map((rule) => html`<li key=${rule.name}><${RuleTrace} rule=${rule} /></li>`)}</ol>
  </section>`;
}

function RuleTrace({ rule }) {
  const { name, gives, asked, matched, condition, description, at } = rule;
  return html`<details open=${asked && matched} class=${ruleClass(rule)}>
    <summary>
      <span class="mark">${markOf(rule)}</span>
      <b>${name}</b>
      <span class="faint">${fateOf(rule)}${matched && html` <span class="gives">${typeof gives === 'number' ? `weight ${gives}` : gives}</span>`}</span>
    </summary>
    <p class="faint">${description} <code>${at.file}:${at.line}</code></p>
    <ul class="conditions">${topConditions(condition).map((one) => html`<${Condition} condition=${one} />`)}</ul>
  </details>`;
}

/** An "all" at the top of a rule goes without saying. */
function topConditions(condition) {
  return condition.kind === 'all' ? condition.conditions : [condition];
}

function ruleClass({ asked, matched }) {
  if (!asked) return 'rule rule-unasked';
  return matched ? 'rule rule-matched' : 'rule';
}

function markOf({ asked, matched }) {
  if (!asked) return '·';
  return matched ? '✓' : '✗';
}

function fateOf({ asked, matched }) {
  if (asked) return matched ? 'matched' : 'did not match';
  return matched ? 'not asked; it would match' : 'not asked';
}

function Condition({ condition }) {
  const { kind, passed } = condition;
  const mark = html`<span class=${passed ? 'mark mark-yes' : 'mark mark-no'}>${passed ? '✓' : '✗'}</span>`;
  if (kind === 'comparison') {
    const { fact, operator, expected, seen } = condition;
    return html`<li>${mark} <code>${fact} ${SIGNS[operator]} ${factText(expected)}</code> <span class="saw">saw <b class="num">${factText(seen)}</b></span></li>`;
  }
  const inner = condition.conditions ?? [condition.condition];
  return html`<li>${mark} ${kindText(condition)}
    <ul class="conditions">${inner.map((one) => html`<${Condition} condition=${one} />`)}</ul>
  </li>`;
}

function kindText({ kind, name }) {
  switch (kind) {
    case 'all':
      return 'all of';
    case 'any':
      return 'any of';
    case 'not':
      return 'not';
    default:
      return `the condition “${name}”`;
  }
}

/** The values that the rules saw; those that differ from `other` are marked. */
export function FactsTable({ facts, other }) {
  return html`<dl class="facts">${Object.entries(facts).map(
    ([label, value]) =>
      html`<div class=${other && other[label] !== value ? 'differs' : ''}><dt><code>${label}</code></dt><dd class="num">${factText(value)}</dd></div>`,
  )}</dl>`;
}
