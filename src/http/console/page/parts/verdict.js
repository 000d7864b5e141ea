import { html } from '../html.js';

/** The verdicts in the order in which they are stacked, with the sign that stands for the colour. */
export const VERDICTS = [
  { name: 'GET_NEW', sign: '+', color: '--get-new' },
  { name: 'GET_SAME_STICKY', sign: '=', color: '--sticky' },
  { name: 'WAIT', sign: '~', color: '--wait' },
  { name: 'BLOCK', sign: '×', color: '--block' },
];

export const GROUPS = [
  { name: 'NEW', color: '--group-new' },
  { name: 'STICKY', color: '--sticky' },
  { name: 'PAYING', color: '--get-new' },
  { name: 'TRUSTED', color: '--group-trusted' },
  { name: 'BLOCKED', color: '--block' },
];

export function Verdict({ verdict, waitSeconds }) {
  const sign = VERDICTS.find(({ name }) => name === verdict)?.sign ?? '?';
  const wait = verdict === 'WAIT' && waitSeconds ? html` <span class="num">${waitSeconds} s</span>` : '';
  return html`<span class=${`verdict verdict-${verdict}`}><i aria-hidden="true">${sign}</i>${verdict}${wait}</span>`;
}

/** A short word about a state: good, bad, note or plain. */
export function Pill({ tone = 'plain', children }) {
  return html`<span class=${`pill pill-${tone}`}>${children}</span>`;
}

/** A row of figures, each under its name. */
export function Figures({ items }) {
  return html`<dl class="figures">
    ${items.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
