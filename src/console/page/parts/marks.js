import { count, dateTime } from './format.js';

/** @import { Explored, Rollout, SharedLists } from '../answers.d.ts' */

/** @typedef {{ readonly from: number, readonly to: number }} Span */

/**
 * Something that happened, drawn as a line across the time. An alert is one that the service raised itself
 * and keeps: those of Prometheus it does not know.
 * @typedef {{ readonly at: number, readonly text: string, readonly isAlert: boolean }} Mark
 */

/**
 * What happened within a time, the first first.
 * @param {{
 *   rollout?: Rollout | null | undefined, lists?: SharedLists['lists'] | undefined,
 *   gaps: Explored['exploration']['gaps'],
 * }} known
 * @param {Span} span
 * @returns {readonly Mark[]}
 */
export function marksOf({ rollout, lists = [], gaps }, { from, to }) {
  return [
    ...(rollout?.history ?? []).map(markOfChange),
    ...lists.map(({ list, changedAt }) => mark(changedAt, `the list ${list} was last changed`)),
    ...gaps.map((gap) => mark(Math.max(gap.from, from), gapText(gap), true)),
  ]
    .filter(({ at }) => at >= from && at < to)
    .sort((a, b) => a.at - b.at);
}

/**
 * @param {number} at
 * @param {string} text
 * @returns {Mark}
 */
function mark(at, text, isAlert = false) {
  return { at, text, isAlert };
}

/** @param {Rollout['history'][number]} change */
function markOfChange({ at, action, from, to, who, reason, emergency = false }) {
  if (action === 'guard') return mark(at, `the guard took ${from ?? 'a candidate'} back: ${reason}`, true);
  const alone = emergency ? ' without anybody else’s approval' : '';
  return mark(at, `${action} ${to}, by ${who}${alone}: ${reason}`, emergency);
}

/** @param {Explored['exploration']['gaps'][number]} gap */
function gapText({ from, to, entries }) {
  return `about ${count(entries)} entries between ${dateTime(from)} and ${dateTime(to)} are lost`;
}
