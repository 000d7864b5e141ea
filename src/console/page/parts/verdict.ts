import type { ComponentChildren } from 'preact';
import type { VerdictCommand } from '../answers.ts';
import { html } from '../html.ts';

/** A state's tone. */
export type Tone = 'plain' | 'good' | 'bad' | 'note';

/** The verdicts in the order in which they are stacked, with the sign that stands for the colour. */
export const VERDICTS = [
  { name: 'GET_NEW', sign: '+', color: '--get-new' },
  { name: 'GET_SAME_STICKY', sign: '=', color: '--sticky' },
  { name: 'WAIT', sign: '~', color: '--wait' },
  { name: 'BLOCK', sign: '×', color: '--block' },
] as const;

export const GROUPS = [
  { name: 'NEW', color: '--group-new' },
  { name: 'STICKY', color: '--sticky' },
  { name: 'PAYING', color: '--get-new' },
  { name: 'TRUSTED', color: '--group-trusted' },
  { name: 'BLOCKED', color: '--block' },
] as const;

export function Verdict({ verdict, waitSeconds }: { verdict: VerdictCommand; waitSeconds?: number }) {
  const wait = verdict === 'WAIT' && waitSeconds ? html` <span class="num">${waitSeconds} s</span>` : '';
  return html`<span class=${`verdict verdict-${verdict}`}>
    <i aria-hidden="true">${signOf(verdict)}</i>${verdict}${wait}
  </span>`;
}

export function signOf(verdict: VerdictCommand) {
  return VERDICTS.find(({ name }) => name === verdict)?.sign ?? '?';
}

/** A short word about a state: good, bad, note or plain. */
export function Pill({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) {
  return html`<span class=${`pill pill-${tone}`}>${children}</span>`;
}

/** The tone in which a client group is shown. */
export function groupTone(group: string): Tone {
  if (group === 'BLOCKED') return 'bad';
  return group === 'NEW' ? 'plain' : 'good';
}

/** A row of figures, each under its name. */
export function Figures({ items }: { items: readonly (readonly [string, ComponentChildren])[] }) {
  return html`<dl class="figures">
    ${items.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
