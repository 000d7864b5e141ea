import { html, useMemo, useState } from '../../html.js';
import { clockSeconds, counted, day } from '../format.js';
import { earlyMs, KINDS, rowsOf } from './history.js';
import { fineDuration, MomentBody } from './moment.js';
import { Sign, signOfRow } from './sign.js';

/**
 * @import { HistoryEntry } from '../../answers.d.ts'
 * @import { Row } from './history.js'
 * @typedef {HistoryEntry['kind']} Kind
 */

/**
 * All that happened to a client on one line, newest first. `mayLook` says whether the key may open
 * decisions, so that links to them lead somewhere.
 * @param {{ entries: readonly HistoryEntry[], mayLook: boolean }} props
 */
export function TimeLine({ entries, mayLook }) {
  const rows = useMemo(() => rowsOf(entries, Date.now()), [entries]);
  const [hidden, setHidden] = useState(/** @type {readonly Kind[]} */ ([]));
  const toggle = (/** @type {Kind} */ kind) =>
    setHidden(hidden.includes(kind) ? hidden.filter((one) => one !== kind) : [...hidden, kind]);
  const shown = rows.filter((row) => !hidden.includes(kindShownWith(row)));
  return html`
    <${Kinds} entries=${entries} hidden=${hidden} toggle=${toggle} />
    <p class="faint" role="status">${summary(rows, entries)}</p>
    ${shown.length === 0 && html`<p>All kinds are hidden. Press one of the buttons above to show it.</p>`}
    ${[...Map.groupBy(shown, ({ at }) => day(at))].map(
      ([date, ofDay]) => html`<section key=${date} class="day">
        <h3>${date}</h3>
        <ol class="moments" role="list">
          ${ofDay.map((row) => html`<${Moment} row=${row} mayLook=${mayLook} />`)}
        </ol>
      </section>`,
    )}`;
}

/**
 * The end of a wait goes with the verdict that began it.
 * @param {Row} row
 */
function kindShownWith(row) {
  return 'entry' in row ? row.kind : 'verdict';
}

/**
 * Buttons that show and hide the kinds; what they show is also the key to the signs.
 * @param {{
 *   entries: readonly HistoryEntry[], hidden: readonly Kind[], toggle: (kind: Kind) => void,
 * }} props
 */
function Kinds({ entries, hidden, toggle }) {
  return html`<div class="kinds" role="group" aria-label="Kinds of entries shown">
    ${KINDS.map(({ kind, many }) => {
      const times = entries.filter((entry) => entry.kind === kind).length;
      const state = { 'aria-pressed': !hidden.includes(kind), disabled: times === 0 };
      return html`<button type="button" ...${state} onClick=${() => toggle(kind)}>
        <${Sign} kind=${kind} /><span>${many} <b class="num">${times}</b></span>
      </button>`;
    })}
  </div>`;
}

/**
 * @param {readonly Row[]} rows
 * @param {readonly HistoryEntry[]} entries
 */
function summary(rows, entries) {
  const waits = rows.filter((row) => 'wait' in row && row.wait !== null).length;
  const early = entries.filter((entry) => earlyMs(entry) > 0).length;
  const all = `${counted(entries.length, 'entry', 'entries')}, newest first`;
  if (waits === 0) return `${all}; no wait`;
  const asked =
    early === 0 ? 'none was cut into' : `asked too early ${early === 1 ? 'once' : `${early} times`}`;
  return `${all}; ${counted(waits, 'wait')}, ${asked}`;
}

/** @param {{ row: Row, mayLook: boolean }} props */
function Moment({ row, mayLook }) {
  const { kind, at, waitingBefore, waitingAfter } = row;
  const sinceMs = 'sinceMs' in row ? (row.sinceMs ?? 0) : 0;
  const classes = ['moment', `moment-${kind}`];
  if (waitingAfter) classes.push('waits-after');
  if (waitingBefore) classes.push('waits-before');
  const time = kind === 'running' ? 'now' : clockSeconds(at);
  return html`<li class=${classes.join(' ')}>
    <span class="moment-time num">
      <time datetime=${new Date(at).toISOString()}>${time}</time>
      ${sinceMs > 0 && html`<small class="faint">+${fineDuration(sinceMs)}</small>`}
    </span>
    <span class="moment-sign"><${Sign} ...${signOfRow(row)} /></span>
    <div class="moment-body"><${MomentBody} row=${row} mayLook=${mayLook} /></div>
  </li>`;
}
