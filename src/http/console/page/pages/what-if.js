import { ask, useAnswer } from '../api.js';
import { html, useState } from '../html.js';
import { Field, formValues } from '../parts/dialog.js';
import { LadderMove } from '../parts/ladder.js';
import { Answered, Empty, Trouble } from '../parts/notice.js';
import { FactsTable, RulesTrace } from '../parts/trace.js';
import { Figures, Verdict } from '../parts/verdict.js';

const FACT = 'fact:';

/** What two versions would answer to one request. Nothing is written. */
export function WhatIfPage() {
  const versions = useAnswer('rules/versions');
  return html`<p class="faint">The same core decides as for callers. Nothing is written, and the client's counters stay as they are.</p>
    <${Answered} answer=${versions}>${({ versions: list }) => {
      const sound = list.filter((one) => one.sound).map(({ version }) => version);
      return sound.length === 0
        ? html`<${Empty} title="No sound version">The page Rules shows what is wrong with those on this node.<//>`
        : html`<${Question} sound=${sound} />`;
    }}<//>`;
}

function Question({ sound }) {
  const [first, setFirst] = useState(sound[0]);
  const [state, setState] = useState({ answers: null, error: null });
  const submit = async (event) => {
    const { first: one, second, ...values } = formValues(event);
    const versions = second === undefined || second === one ? [one] : [one, second];
    try {
      const { answers } = await ask('POST', 'rules/what-if', {
        versions,
        request: requestOf(values),
        facts: factsOf(values),
      });
      setState({ answers, error: null });
    } catch (error) {
      setState({ answers: null, error });
    }
  };
  return html`<form class="card" onSubmit=${submit}>
    <div class="fields">
      <${Field} label="One version"><select name="first" value=${first} onChange=${(event) => setFirst(event.currentTarget.value)}>${sound.map((version) => html`<option>${version}</option>`)}</select><//>
      <${Field} label="Beside it"><select name="second"><option value="">none</option>${sound.map((version) => html`<option selected=${version === sound[1]}>${version}</option>`)}</select><//>
      <${Field} label="clientIdKey" hint="Unknown: as a first request"><input name="clientIdKey" required maxlength="256" defaultValue="what-if" /><//>
      <${Field} label="orderRef"><input name="orderRef" required maxlength="256" defaultValue="what-if" /><//>
      <${Field} label="sellPointKey"><input name="sellPointKey" required maxlength="256" defaultValue="shop-1" /><//>
      <${Field} label="method"><input name="method" required maxlength="256" defaultValue="card" /><//>
      <${Field} label="amountRequested"><input name="amountRequested" required inputmode="decimal" defaultValue="25.00" /><//>
      <${Field} label="toPayCurrency" hint="Empty: the platform's"><input name="toPayCurrency" maxlength="4" /><//>
    </div>
    <${OwnValues} version=${first} />
    <button type="submit" class="button-accent">Ask</button>
  </form>
  ${state.error && html`<${Trouble} error=${state.error} />`}
  <div role="status" class="answers">${state.answers && html`<${Answers} answers=${state.answers} />`}</div>`;
}

function requestOf(values) {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !name.startsWith(FACT)));
}

/** Own values by label; the field of a number or a yes-or-no says of which kind it is. */
function factsOf(values) {
  const own = Object.entries(values).filter(([name]) => name.startsWith(FACT));
  return Object.fromEntries(
    own.map(([name, text]) => {
      const [, type, label] = name.split(/:([a-z]+):/s);
      return [label, typed(type, text)];
    }),
  );
}

function typed(type, text) {
  if (type === 'number') return Number(text);
  return type === 'boolean' ? text === 'true' : text;
}

function OwnValues({ version }) {
  const answer = useAnswer(`rules/versions/${version}`);
  return html`<details><summary>Own values instead of the client's</summary>
    <${Answered} answer=${answer}>${({ facts }) => html`<div class="fields">
      ${facts.map((fact) => html`<${Field} key=${fact.label} label=${fact.label} hint=${fact.description}><${FactInput} fact=${fact} /><//>`)}
    </div>`}<//>
  </details>`;
}

function FactInput({ fact: { label, domain } }) {
  const name = `${FACT}${domain.type}:${label}`;
  switch (domain.type) {
    case 'number':
      return html`<input name=${name} type="number" step=${domain.integer ? 1 : 'any'} min=${domain.min} max=${domain.max} placeholder="as it is" />`;
    case 'text':
      return html`<input name=${name} placeholder="as it is" />`;
    default: {
      const values = domain.type === 'boolean' ? ['true', 'false'] : domain.values;
      return html`<select name=${name}><option value="">as it is</option>${values.map((value) => html`<option>${value}</option>`)}</select>`;
    }
  }
}

const COMPARED = [
  ['verdict', 'verdict'],
  ['waitSeconds', 'wait'],
  ['rule', 'rule'],
  ['clientGroup', 'group'],
  ['isBot', 'bot flag'],
  ['paymentScore', 'payment score'],
];

/** In a sentence what one would otherwise look for in two columns. */
function compared(one, two) {
  const different = COMPARED.filter(([member]) => one.decision[member] !== two.decision[member]);
  if (different.length === 0) return `${one.version} and ${two.version} answer alike.`;
  return html`${one.version} and ${two.version} differ in: <b>${different.map(([, name]) => name).join(', ')}</b>.`;
}

function Answers({ answers }) {
  const [one, two] = answers;
  return html`${two && html`<p class="notice"><span>${compared(one, two)}</span></p>`}<div class="two">${answers.map(
    ({ version, decision, rules }, index) => html`<section class="card" key=${version}>
      <h2>${version} <${Verdict} ...${decision} /></h2>
      <p>${decision.reason}</p>
      <${Figures} items=${[
        ['rule', decision.rule],
        ['group', decision.clientGroup],
        ['bot', decision.isBot ? 'yes' : 'no'],
        ['payment score', decision.paymentScore],
      ]} />
      <${LadderMove} before=${decision.ladderBefore} after=${decision.ladderAfter} at=${decision.at} />
      ${rules && html`<${RulesTrace} rules=${rules} />`}
      <details><summary>Facts</summary><${FactsTable} facts=${decision.facts} other=${(index === 0 ? two : one)?.decision.facts} /></details>
    </section>`,
  )}</div>`;
}
