import { html } from '../../html.js';
import { LadderMove } from '../../parts/ladder.js';
import { FactsTable, RulesTrace } from '../../parts/trace.js';
import { Figures, Verdict } from '../../parts/verdict.js';

/**
 * @import { WhatIfAnswers } from '../../answers.d.ts'
 * @typedef {WhatIfAnswers['answers'][number]} Answer
 */

const COMPARED = /** @type {const} */ ([
  ['verdict', 'verdict'],
  ['waitSeconds', 'wait'],
  ['rule', 'rule'],
  ['clientGroup', 'group'],
  ['isBot', 'bot flag'],
  ['paymentScore', 'payment score'],
]);

/**
 * What each version would answer, side by side.
 * @param {{ answers: readonly Answer[] }} props
 */
export function Answers({ answers }) {
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
