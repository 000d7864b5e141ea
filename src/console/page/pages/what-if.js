import { ask, may, Refusal, useAnswer } from '../api.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { LatelySeen } from '../parts/decision-table.js';
import { Choice, Field, goTo, sent } from '../parts/form.js';
import { factText } from '../parts/format.js';
import { LadderMove } from '../parts/ladder.js';
import { toClient, toVersion } from '../parts/links.js';
import { answered, Empty, Trouble } from '../parts/notice.js';
import { FactsTable, RulesTrace } from '../parts/trace.js';
import { Figures, groupTone, Pill, Verdict } from '../parts/verdict.js';
import { client, RULE_FOLDERS, ruleFolder, WHAT_IF } from '../questions.js';

/**
 * @import { ClientView, ConditionTrace, FactValue, OpenedRuleFolder, WhatIfAnswers } from '../answers.d.ts'
 * @import { PageProps } from '../page-props.d.ts'
 */

/**
 * What a version, and another beside it, would answer to a client now. Nothing is written.
 * @param {PageProps} props
 */
export function WhatIfPage({ place, session }) {
  const to = (/** @type {string} */ clientIdKey) =>
    toVersion(place.version, `what-if/${encodeURIComponent(clientIdKey)}`);
  const start = sent(({ clientIdKey = '' }) => goTo(to(clientIdKey)));
  return html`<form class="filters" key=${place.item} onSubmit=${start}>
      <${Field} label="clientIdKey">
        <input name="clientIdKey" required maxlength="256" defaultValue=${place.item} />
      <//>
      <div class="buttons"><button type="submit" class="button-accent">Start from this client</button></div>
    </form>
    <p class="faint">
      The same core decides as for callers. Nothing is written, and the client's counters stay as they are. A
      name that nobody knows is answered as a first request.
    </p>
    ${
      place.item !== '' &&
      html`<${Client} key=${place.item} clientIdKey=${place.item} preferred=${place.version} />`
    }
    ${place.item === '' && may(session, 'decisions') && html`<${LatelySeen} to=${to} />`}`;
}

/** @param {{ clientIdKey: string, preferred: string }} props */
function Client({ clientIdKey, preferred }) {
  const folders = useAnswer(RULE_FOLDERS);
  const known = useAnswer(client(clientIdKey));
  const isUnknown = known.error?.status === 404;
  return answered(folders, ({ versions }) => {
    const sound = versions
      .filter((one) => one.sound)
      .map(({ version }) => version)
      .toSorted((one, other) => Number(other === preferred) - Number(one === preferred));
    if (sound.length === 0)
      return html`<${Empty} title="No sound version">
        The place Rules shows what is wrong with those on this node.
      <//>`;
    if (known.data === null && !isUnknown) return answered(known, () => null);
    return html`<${Question} clientIdKey=${clientIdKey} view=${known.data} versions=${sound} />`;
  });
}

/**
 * @typedef {WhatIfAnswers['answers']} Answers
 * @typedef {{ clientIdKey: string, view: ClientView | null, versions: readonly string[] }} QuestionProps
 */

/**
 * A request of the client as its last one was, asked at once; it, the versions and facts may be changed.
 * @param {QuestionProps} props `view` is null of a client that nobody knows
 */
function Question({ clientIdKey, view, versions }) {
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
  return html`<form class="card" onSubmit=${sent(pose)}>
      <h2>${clientIdKey} ${standing(view)}</h2>
      <div class="fields">
        <${Choice} label="One version" name="version" chosen=${version} values=${versions} go=${setVersion} />
        <${Choice} label="Beside it" name="beside" chosen=${second} values=${versions} any="none" />
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
      // An overtaken answer belongs to what the form said before.
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

/** @param {ClientView | null} view */
function standing(view) {
  if (view === null) return html`<${Pill}>nobody knows this client<//>`;
  return html`<${Pill} tone=${groupTone(view.clientGroup)}>${view.clientGroup}<//>
    <a href=${toClient(view.clientIdKey)}>its history</a>`;
}

/** @typedef {WhatIfAnswers['answers'][number]} Answer */

const COMPARED = /** @type {const} */ ([
  ['verdict', 'verdict'],
  ['waitSeconds', 'wait'],
  ['rule', 'rule'],
  ['clientGroup', 'group'],
  ['isBot', 'bot flag'],
  ['paymentScore', 'payment score'],
]);

/** What each version would answer, side by side. @param {{ answers: readonly Answer[] }} props */
function Answers({ answers }) {
  const [one, two] = answers;
  return html`
    ${one && two && html`<p class="notice"><span>${compared(one, two)}</span></p>`}
    <div class="two">
      ${answers.map(
        (answer) =>
          html`<${OneAnswer} key=${answer.version} answer=${answer} other=${answer === one ? two : one} />`,
      )}
    </div>`;
}

/**
 * In a sentence what one would otherwise look for in two columns.
 * @param {Answer} one
 * @param {Answer} two
 */
function compared(one, two) {
  const different = COMPARED.filter(([member]) => one.decision[member] !== two.decision[member]);
  if (different.length === 0) return `${one.version} and ${two.version} answer alike.`;
  const names = different.map(([, name]) => name).join(', ');
  return html`${one.version} and ${two.version} differ in: <b>${names}</b>.`;
}

/** @param {{ answer: Answer, other: Answer | undefined }} props */
function OneAnswer({ answer: { version, decision, rules }, other }) {
  const { ladderBefore, ladderAfter, at, facts } = decision;
  const figures = [
    ['rule', decision.rule],
    ['group', decision.clientGroup],
    ['bot', decision.isBot ? 'yes' : 'no'],
    ['payment score', decision.paymentScore],
  ];
  return html`<section class="card">
    <h2>${version} <${Verdict} ...${decision} /></h2>
    <p>${decision.reason}</p>
    <${Figures} items=${figures} />
    <${LadderMove} before=${ladderBefore} after=${ladderAfter} at=${at} />
    ${rules && html`<${RulesTrace} rules=${rules} />`}
    <details>
      <summary>Facts</summary>
      <${FactsTable} facts=${facts} other=${other?.decision.facts} />
    </details>
  </section>`;
}

/** @typedef {OpenedRuleFolder['facts'][number]} Fact */

/** What the names of these fields begin with, to tell them from the members of the request. */
const PREFIX = 'fact:';

/**
 * Facts to be supposed otherwise: those that decide about the verdict and the group, and any other that
 * somebody adds.
 * @param {{ facts: readonly Fact[], present: Answer }} props
 */
function OwnValues({ facts, present }) {
  const [added, setAdded] = useState(/** @type {readonly string[]} */ ([]));
  const add = (/** @type {string} */ label) => setAdded([...added, label]);
  const deciding = decidingFacts(present);
  const shown = facts.filter(({ label }) => deciding.has(label) || added.includes(label));
  const others = facts.filter((fact) => !shown.includes(fact));
  return html`<fieldset>
    <legend>Suppose otherwise</legend>
    <div class="fields">
      ${shown.map(
        (fact) => html`<${Field} key=${fact.label} label=${fact.label}
          hint=${fact.description.replace('999999999', 'never')}>
          <${FactInput} fact=${fact} now=${present.decision.facts[fact.label]} />
        <//>`,
      )}
      ${
        others.length > 0 &&
        html`<${Choice} label="Another fact" values=${others.map(({ label }) => label)}
          any=${`choose one of ${others.length}`} go=${add} />`
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

/** @param {ConditionTrace} condition @returns {readonly string[]} */
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
function ownValuesOf(values, facts) {
  const own = facts.flatMap(({ label, domain }) => {
    const text = values[`${PREFIX}${label}`];
    const typed =
      domain.type === 'number' ? Number(text) : domain.type === 'boolean' ? text === 'true' : text;
    return text === undefined ? [] : [/** @type {const} */ ([label, typed])];
  });
  return Object.fromEntries(own);
}
