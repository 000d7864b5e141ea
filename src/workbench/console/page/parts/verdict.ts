import { type Html, html } from '#workbench/console/page/html.ts';
import type { VerdictCommand } from '#workbench/console/page/questions.ts';
import { formatDuration } from './format.ts';

/** How a pill shows a state: plain, good, bad, or worth a note. */
export type Tone = 'plain' | 'good' | 'bad' | 'note';

/**
 * The verdicts in the sequence in which charts stack them. Each has a colour, and a sign that tells it
 * apart without the colour.
 */
export const VERDICT_STYLES = [
  { name: 'GET_NEW', sign: '+', color: '--get-new' },
  { name: 'GET_SAME_STICKY', sign: '=', color: '--sticky' },
  { name: 'WAIT', sign: '~', color: '--wait' },
  { name: 'BLOCK', sign: '×', color: '--block' },
] as const;

export const VERDICTS_IN_CHART_ORDER = VERDICT_STYLES.map(({ name }) => name);

export const GROUP_COLORS = [
  { name: 'NEW', color: '--group-new' },
  { name: 'STICKY', color: '--sticky' },
  { name: 'PAYING', color: '--get-new' },
  { name: 'TRUSTED', color: '--accent' },
  { name: 'BLOCKED', color: '--block' },
] as const;

export function VerdictPill({ verdict, waitSeconds }: { verdict: VerdictCommand; waitSeconds?: number }) {
  const wait =
    verdict === 'WAIT' && waitSeconds
      ? html` <span class="num">${formatDuration(waitSeconds * 1000)}</span>`
      : '';
  return html`<span class=${`verdict verdict-${verdict}`}>
    <i aria-hidden="true">${getSign(verdict)}</i>${verdict}${wait}
  </span>`;
}

function getSign(verdict: VerdictCommand) {
  return VERDICT_STYLES.find(({ name }) => name === verdict)?.sign ?? '?';
}

/** Renders a few words about a state. */
export function renderPill(words: Html, tone: Tone = 'plain') {
  return html`<span class=${`pill pill-${tone}`}>${words}</span>`;
}

/** Renders a flag of flags.yaml, which stands beside a verdict. */
export function renderFlagPill(flag: string) {
  return html` ${renderPill(`flag ${flag}`, 'note')}`;
}

export function chooseGroupTone(group: string): Tone {
  if (group === 'BLOCKED') return 'bad';
  return group === 'NEW' ? 'plain' : 'good';
}

/** Whether a value needs more room than a column of figures has. */
function isLong(value: Html) {
  return typeof value === 'string' && value.length > COLUMN_LETTERS;
}

const COLUMN_LETTERS = 22;

/** Renders a row of figures, each under its name. `note` is the value with which a figure is compared. */
export function renderFigures(items: readonly (readonly [name: Html, value: Html, note?: Html])[]) {
  return html`<dl class="figures">
    ${items.map(
      ([name, value, note]) => html`<div class=${isLong(value) ? 'long' : undefined}>
        <dt>${name}</dt><dd>${value}</dd>${note && html`<dd class="faint">${note}</dd>`}
      </div>`,
    )}
  </dl>`;
}

/** Renders what is known about a payer or a thing, one line for each item. */
export function renderDetails(items: readonly (readonly [string, Html])[]) {
  return html`<dl class="about">
    ${items.map(([name, value]) => html`<div><dt class="faint">${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

/** The colours of names that have a colour of their own. */
const OWN_COLORS: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...VERDICT_STYLES, ...GROUP_COLORS].map(({ name, color }) => [name, color])),
  bot: '--block',
  'no bot': '--get-new',
  1: '--wait-1',
  2: '--wait-2',
  3: '--wait',
};

const OTHER_COLORS = [
  '--accent',
  '--sticky',
  '--wait-2',
  '--get-new',
  '--wait-4',
  '--block',
  '--group-new',
  '--wait-1',
  '--wait',
] as const;

/**
 * Assigns a colour to each name. A name has the same colour everywhere, whatever stands beside it and
 * however often it occurs.
 */
export function assignColors(names: readonly string[]): ReadonlyMap<string, string> {
  const colors = new Map(names.map((name) => [name, OWN_COLORS[name] ?? '']));
  const isFree = (color: string) => ![...colors.values()].includes(color);
  for (const [name, own] of [...colors].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (own !== '') continue;
    const first = [...name].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) % 65_521, 7);
    const inTurn = OTHER_COLORS.map((_, place) => OTHER_COLORS[(first + place) % OTHER_COLORS.length] ?? '');
    colors.set(name, inTurn.find(isFree) ?? '--ink-faint');
  }
  return colors;
}
