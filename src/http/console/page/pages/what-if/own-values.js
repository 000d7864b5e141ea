import { html, useState } from '../../html.js';
import { Field } from '../../parts/form.js';
import { factText } from '../../parts/format.js';

/**
 * @import { ConditionTrace, FactValue, OpenedRuleFolder, WhatIfAnswers } from '../../answers.d.ts'
 * @import { ChoiceEvent } from '../../parts/form.js'
 * @typedef {WhatIfAnswers['answers'][number]} Answer
 * @typedef {OpenedRuleFolder['facts'][number]} Fact
 */

/** What the names of these fields begin with, to tell them from the members of the request. */
const PREFIX = 'fact:';

/**
 * Facts to be supposed otherwise: those that decide about the verdict and the group, and any other that
 * somebody adds.
 * @param {{ facts: readonly Fact[], present: Answer }} props
 */
export function OwnValues({ facts, present }) {
  const [added, setAdded] = useState(/** @type {readonly string[]} */ ([]));
  const deciding = decidingFacts(present);
  const shown = facts.filter(({ label }) => deciding.has(label) || added.includes(label));
  const others = facts.filter((fact) => !shown.includes(fact));
  const add = (/** @type {ChoiceEvent} */ event) => {
    setAdded([...added, event.currentTarget.value]);
    event.currentTarget.value = '';
  };
  return html`<fieldset>
    <legend>Suppose otherwise</legend>
    <div class="fields">
      ${shown.map(
        (fact) => html`<${Field} key=${fact.label} label=${fact.label} hint=${fact.description}>
          <${FactInput} fact=${fact} now=${present.decision.facts[fact.label]} />
        <//>`,
      )}
      ${
        others.length > 0 &&
        html`<${Field} label="Another fact">
          <select onChange=${add}>
            <option value="">choose one of ${others.length}</option>
            ${others.map(({ label }) => html`<option>${label}</option>`)}
          </select>
        <//>`
      }
    </div>
  </fieldset>`;
}

/**
 * The facts that the rules of the verdict and of the group compare, and those of the signals that matched.
 * @param {Answer} answer
 */
function decidingFacts({ rules }) {
  if (rules === null) return new Set();
  const signals = rules.signals.rules.filter(({ matched }) => matched);
  const asked = [...rules.verdicts.rules, ...rules.groups.rules, ...signals];
  return new Set(asked.flatMap(({ condition }) => factsIn(condition)));
}

/**
 * @param {ConditionTrace} condition
 * @returns {readonly string[]}
 */
function factsIn(condition) {
  switch (condition.kind) {
    case 'comparison':
      return [condition.fact];
    case 'all':
    case 'any':
      return condition.conditions.flatMap(factsIn);
    case 'not':
    case 'reference':
      return factsIn(condition.condition);
    default:
      return condition;
  }
}

/** @param {{ fact: Fact, now: FactValue | undefined }} props */
function FactInput({ fact: { label, domain }, now }) {
  const name = `${PREFIX}${label}`;
  const asItIs = now === undefined ? 'as it is' : `now ${factText(now)}`;
  switch (domain.type) {
    case 'number': {
      const bounds = { step: domain.integer ? 1 : 'any', min: domain.min, max: domain.max };
      return html`<input name=${name} type="number" ...${bounds} placeholder=${asItIs} />`;
    }
    case 'text':
      return html`<input name=${name} placeholder=${asItIs} />`;
    case 'boolean':
    case 'enum': {
      const values = domain.type === 'boolean' ? ['true', 'false'] : domain.values;
      return html`<select name=${name}>
        <option value="">${asItIs}</option>
        ${values.map((value) => html`<option>${value}</option>`)}
      </select>`;
    }
    default:
      return domain;
  }
}

/**
 * The supposed values in a form, by label.
 * @param {Readonly<Record<string, string>>} values
 * @param {readonly Fact[]} facts
 */
export function ownValuesOf(values, facts) {
  const own = facts.flatMap(({ label, domain }) => {
    const text = values[`${PREFIX}${label}`];
    return text === undefined ? [] : [/** @type {const} */ ([label, typed(domain.type, text)])];
  });
  return Object.fromEntries(own);
}

/**
 * @param {Fact['domain']['type']} type
 * @param {string} text
 */
function typed(type, text) {
  if (type === 'number') return Number(text);
  return type === 'boolean' ? text === 'true' : text;
}
