import { ask, Refusal, useAnswer } from '../../api.js';
import { html, useEffect, useRef, useState } from '../../html.js';
import { Field, formValues } from '../../parts/form.js';
import { factText } from '../../parts/format.js';
import { toClient } from '../../parts/links.js';
import { Trouble } from '../../parts/notice.js';
import { groupTone, Pill } from '../../parts/verdict.js';
import { ruleFolder, WHAT_IF } from '../../questions.js';
import { Answers } from './answers.js';
import { OwnValues, ownValuesOf } from './own-values.js';

/**
 * @import { ClientView, WhatIfAnswers } from '../../answers.d.ts'
 * @import { ChoiceEvent, FormEvent } from '../../parts/form.js'
 * @typedef {WhatIfAnswers['answers']} Answers
 * @typedef {{ clientIdKey: string, view: ClientView | null, versions: readonly string[] }} QuestionProps
 */

/**
 * A request of the client as its last one was, asked at once; it, the versions and facts may be changed.
 * @param {QuestionProps} props `view` is null of a client that nobody knows
 */
export function Question({ clientIdKey, view, versions }) {
  const [newest = '', second = ''] = versions;
  const [version, setVersion] = useState(newest);
  const folder = useAnswer(ruleFolder(version));
  const { answers, present, error, answer } = useAnswers();
  const pose = (/** @type {Record<string, string>} */ values) => {
    const { version: one = newest, beside, ...rest } = values;
    const facts = ownValuesOf(rest, folder.data?.facts ?? []);
    const request = { clientIdKey, ...requestOf(rest) };
    const asked = beside === undefined || beside === one ? [one] : [one, beside];
    return answer({ versions: asked, request, facts });
  };
  const first = lastRequest(view);
  useEffect(() => {
    pose({ ...first, version: newest, beside: second });
  }, []);
  const choose = (/** @type {ChoiceEvent} */ event) => setVersion(event.currentTarget.value);
  const submit = (/** @type {FormEvent} */ event) => pose(formValues(event));
  return html`<form class="card" onSubmit=${submit}>
      <h2>${clientIdKey} <${Standing} view=${view} /></h2>
      <div class="fields">
        <${Field} label="One version">
          <select name="version" value=${version} onChange=${choose}>
            ${versions.map((one) => html`<option>${one}</option>`)}
          </select>
        <//>
        <${Field} label="Beside it">
          <select name="beside">
            <option value="">none</option>
            ${versions.map((one) => html`<option selected=${one === second}>${one}</option>`)}
          </select>
        <//>
        ${REQUEST.map((member) => {
          const field = { name: member, required: member !== 'toPayCurrency', maxlength: 256 };
          return html`<${Field} label=${member}><input ...${field} defaultValue=${first[member]} /><//>`;
        })}
      </div>
      ${present && folder.data && html`<${OwnValues} facts=${folder.data.facts} present=${present} />`}
      <button type="submit" class="button-accent">Ask</button>
    </form>
    ${error && html`<${Trouble} error=${error} />`}
    <div role="status" class="answers">
      ${answers.length > 0 && html`<${Answers} answers=${answers} />`}
    </div>`;
}

/** The answers to the newest question; `present` is the first one ever, on the client's own facts. */
function useAnswers() {
  const [answers, setAnswers] = useState(/** @type {Answers} */ ([]));
  const [present, setPresent] = useState(/** @type {Answers[number] | null} */ (null));
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const asks = useRef(0);
  const answer = async (/** @type {object} */ question) => {
    asks.current++;
    const mine = asks.current;
    try {
      const found = await ask('POST', WHAT_IF, question);
      // An answer that is overtaken is one to what stood in the form before.
      if (mine !== asks.current) return;
      setAnswers(found.answers);
      setPresent((before) => before ?? found.answers[0] ?? null);
      setError(null);
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      if (mine !== asks.current) return;
      setAnswers([]);
      setError(refusal);
    }
  };
  return { answers, present, error, answer };
}

/** The members of a verdict request, but for the client. */
const REQUEST = /** @type {const} */ ([
  'orderRef',
  'sellPointKey',
  'method',
  'amountRequested',
  'toPayCurrency',
]);

/** @param {Readonly<Record<string, string>>} values */
function requestOf(values) {
  return Object.fromEntries(REQUEST.flatMap((name) => (values[name] ? [[name, values[name]]] : [])));
}

/**
 * What the client asked for last; of a client that nobody knows, something ordinary.
 * @param {ClientView | null} view
 */
function lastRequest(view) {
  const last = view?.decisions[0];
  const { amount, currency, method } = last?.facts ?? {};
  return {
    orderRef: last?.orderRef ?? 'what-if',
    sellPointKey: last?.sellPointKey ?? 'shop-1',
    method: method === undefined ? 'card' : factText(method),
    amountRequested: amount === undefined ? '25.00' : factText(amount),
    toPayCurrency: currency === undefined ? '' : factText(currency),
  };
}

/** @param {{ view: ClientView | null }} props */
function Standing({ view }) {
  if (view === null) return html`<${Pill}>nobody knows this client<//>`;
  return html`<${Pill} tone=${groupTone(view.clientGroup)}>${view.clientGroup}<//>
    <a href=${toClient(view.clientIdKey)}>its history</a>`;
}
