import { html } from '../../html.js';
import { Field } from '../form.js';
import { count, dateTime } from '../format.js';
import { Empty } from '../notice.js';

/** @import { RulesReport, SweptCombination } from '../../answers.d.ts' */

/**
 * From when to when something was counted, and what within that is lost.
 * @param {{ span: Pick<RulesReport, 'from' | 'to' | 'decisions' | 'gaps'> }} props
 */
export function Span({ span: { from, to, decisions, gaps } }) {
  const when = from === null || to === null ? '' : `, ${dateTime(from)} to ${dateTime(to)}`;
  return html`<p class="faint">${count(decisions)} decisions${when}.</p>
    <${Gaps} gaps=${gaps} />`;
}

/**
 * What within the time of a figure is lost.
 * @param {Pick<RulesReport, 'gaps'>} props
 */
export function Gaps({ gaps }) {
  return html`${gaps.map(
    (gap) => html`<p class="bad">
      About ${count(gap.entries)} entries between ${dateTime(gap.from)} and ${dateTime(gap.to)} are lost.
    </p>`,
  )}`;
}

/**
 * Whom a side held out of its rules, so that its figures are those of live traffic.
 * @param {{ side: string, heldOut: SweptCombination['heldOut'] }} props
 */
export function HeldOut({ side, heldOut }) {
  return html`${heldOut.map((one) => html`<p class="faint">${heldOutText(side, one)}</p>`)}`;
}

/**
 * @param {string} side
 * @param {SweptCombination['heldOut'][number]} heldOut
 */
export function heldOutText(side, { rule, share, decisions, clients }) {
  const part = `${Number((100 * share).toFixed(4))} %`;
  const skipped = `${count(decisions)} decisions about ${count(clients)} clients`;
  const who = `As in live traffic, ${side} holds ${part} of the clients out of ${rule}`;
  return `${who}: it matched and was skipped in ${skipped}.`;
}

/** Nothing to tell anything from. */
export function NoDecision() {
  return html`<${Empty} title="No decision within this time">
    Choose a longer time. Decisions reach the archive within about ten seconds.
  <//>`;
}

const DAY_MS = 86_400_000;

/** How far back evidence is looked for; the number is of days. */
const REACHES = /** @type {const} */ ([
  ['1', 'the last day'],
  ['7', 'the last 7 days'],
  ['30', 'the last 30 days'],
  ['90', 'the last 90 days'],
  ['all', 'everything'],
]);

/**
 * The field that says how far back the decisions reach that are looked at, as `days`.
 * @param {{ days?: string }} props what is chosen at first
 */
export function Reach({ days }) {
  return html`<${Field} label="on decisions of">
    <select name="days">
      ${REACHES.map(
        ([value, text]) => html`<option value=${value} selected=${value === days}>${text}</option>`,
      )}
    </select>
  <//>`;
}

/**
 * The beginning of the day so many days ago, in UTC: the same question all day long. Undefined for
 * everything.
 * @param {string} days
 */
export function sinceDays(days) {
  const number = Number(days);
  if (!(number > 0)) return undefined;
  return Math.floor((Date.now() - number * DAY_MS) / DAY_MS) * DAY_MS;
}
