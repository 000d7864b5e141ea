import { html } from '../html.js';

/**
 * @import { VerdictCommand } from '../answers.d.ts'
 * @import { ComponentChildren } from 'preact'
 */

/** A state's tone. @typedef {'plain' | 'good' | 'bad' | 'note'} Tone */

/** The verdicts in the order in which they are stacked, with the sign that stands for the colour. */
export const VERDICTS = /** @type {const} */ ([
  { name: 'GET_NEW', sign: '+', color: '--get-new' },
  { name: 'GET_SAME_STICKY', sign: '=', color: '--sticky' },
  { name: 'WAIT', sign: '~', color: '--wait' },
  { name: 'BLOCK', sign: '×', color: '--block' },
]);

export const GROUPS = /** @type {const} */ ([
  { name: 'NEW', color: '--group-new' },
  { name: 'STICKY', color: '--sticky' },
  { name: 'PAYING', color: '--get-new' },
  { name: 'TRUSTED', color: '--group-trusted' },
  { name: 'BLOCKED', color: '--block' },
]);

/** @param {{ verdict: VerdictCommand, waitSeconds?: number }} props */
export function Verdict({ verdict, waitSeconds }) {
  const wait = verdict === 'WAIT' && waitSeconds ? html` <span class="num">${waitSeconds} s</span>` : '';
  return html`<span class=${`verdict verdict-${verdict}`}>
    <i aria-hidden="true">${signOf(verdict)}</i>${verdict}${wait}
  </span>`;
}

/** @param {VerdictCommand} verdict */
export function signOf(verdict) {
  return VERDICTS.find(({ name }) => name === verdict)?.sign ?? '?';
}

/**
 * A short word about a state: good, bad, note or plain.
 * @param {{ tone?: Tone, children: ComponentChildren }} props
 */
export function Pill({ tone = 'plain', children }) {
  return html`<span class=${`pill pill-${tone}`}>${children}</span>`;
}

/**
 * The tone in which a client group is shown.
 * @param {string} group
 * @returns {Tone}
 */
export function groupTone(group) {
  if (group === 'BLOCKED') return 'bad';
  return group === 'NEW' ? 'plain' : 'good';
}

/**
 * A row of figures, each under its name.
 * @param {{ items: readonly (readonly [string, ComponentChildren])[] }} props
 */
export function Figures({ items }) {
  return html`<dl class="figures">
    ${items.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
