import { html } from '../html.js';
import { signOf } from './verdict.js';

/** @import { HistoryEntry } from '../answers.d.ts' */

/**
 * What a time line shows of a client's history: its entries as rows, each with the waits that were due
 * around it, and rows for the moments at which a wait was over.
 */

/** @typedef {Extract<HistoryEntry, { kind: 'outcome' }>} OutcomeEntry */

/**
 * A wait that a verdict imposed, with the moments at which requests came inside, and where and why it was
 * cut short.
 * @typedef {object} Wait
 * @property {number} at
 * @property {number} end
 * @property {number} level
 * @property {number[]} requests
 * @property {{ at: number, why: 'paid' | 'longer' | 'granted' | 'ended' } | null} cut
 */

/**
 * An entry, with the time since the one before it, the wait that it began, and the outcome it corrects.
 * @typedef {object} EntryRow
 * @property {HistoryEntry['kind']} kind
 * @property {number} at
 * @property {HistoryEntry} entry
 * @property {number | null} sinceMs
 * @property {Wait | null} wait
 * @property {OutcomeEntry | null} corrects
 */

/** Where a wait was served. @typedef {{ kind: 'over', at: number, level: number }} OverRow */

/** Now, inside a wait. @typedef {{ kind: 'running', at: number, end: number, level: number }} RunningRow */

/** Whether a wait was due just before and just after a row. */
/** @typedef {{ waitingBefore: boolean, waitingAfter: boolean }} Due */

/** @typedef {(EntryRow | OverRow | RunningRow) & Due} Row */

/** The kinds of entries in the order of their buttons, with the word for many of them. */
export const KINDS = /** @type {const} */ ([
  { kind: 'verdict', many: 'verdicts' },
  { kind: 'score', many: 'scores' },
  { kind: 'outcome', many: 'outcomes' },
  { kind: 'binding', many: 'bindings' },
  { kind: 'override', many: 'overrides' },
  { kind: 'waitEnded', many: 'ended waits' },
]);

/**
 * Rows, newest first.
 * @param {readonly HistoryEntry[]} entries newest first
 * @param {number} now epoch ms
 * @returns {readonly Row[]}
 */
export function rowsOf(entries, now) {
  const rows = new Rows();
  for (const entry of entries.toReversed()) rows.add(entry);
  return rows.until(now).toReversed();
}

class Rows {
  /** @type {Row[]} */
  #rows = [];
  /** @type {Wait | null} */
  #due = null;
  /** @type {HistoryEntry | null} */
  #before = null;

  /** @param {HistoryEntry} entry later than those before it */
  add(entry) {
    this.#serve(entry.at);
    const waitingBefore = this.#due !== null;
    const wait = waitOf(entry);
    if (this.#due !== null) this.#due = after(this.#due, entry, wait);
    if (wait !== null) this.#due = wait;
    const sinceMs = this.#before === null ? null : entry.at - this.#before.at;
    const corrects = entry.kind === 'outcome' ? earlierOutcome(this.#rows, entry.orderRef) : null;
    const waitingAfter = this.#due !== null;
    this.#rows.push({
      ...{ kind: entry.kind, at: entry.at, entry, sinceMs, wait, corrects },
      ...{ waitingBefore, waitingAfter },
    });
    this.#before = entry;
  }

  /** @param {number} now */
  until(now) {
    this.#serve(now);
    if (this.#due === null) return this.#rows;
    const { end, level } = this.#due;
    const running = /** @type {const} */ ({ kind: 'running', at: now, end, level });
    return [...this.#rows, { ...running, waitingBefore: true, waitingAfter: true }];
  }

  /** @param {number} now */
  #serve(now) {
    if (this.#due === null || this.#due.end > now) return;
    const { end, level } = this.#due;
    this.#due = null;
    this.#rows.push({ kind: 'over', at: end, level, waitingBefore: true, waitingAfter: false });
  }
}

/**
 * How long before the end of a wait a verdict was asked for, ms; 0 when none was due.
 * @param {HistoryEntry} entry
 */
export function earlyMs(entry) {
  if (entry.kind !== 'verdict') return 0;
  return Math.max(0, (entry.decision.ladderBefore.waitUntil ?? 0) - entry.at);
}

/**
 * The wait that an entry began; null when it began none.
 * @param {HistoryEntry} entry
 * @returns {Wait | null}
 */
function waitOf(entry) {
  if (entry.kind !== 'verdict' || entry.decision.verdict !== 'WAIT') return null;
  const { waitUntil, level } = entry.decision.ladderAfter;
  return waitUntil === null ? null : { at: entry.at, end: waitUntil, level, requests: [], cut: null };
}

/**
 * What an entry does to the wait that is due: null when it ends it.
 * @param {Wait} due
 * @param {HistoryEntry} entry
 * @param {Wait | null} next
 */
function after(due, entry, next) {
  if (entry.kind === 'outcome' && entry.outcome === 'PAID') return cut(due, entry.at, 'paid');
  if (entry.kind === 'waitEnded') return cut(due, entry.at, 'ended');
  if (entry.kind !== 'verdict') return due;
  due.requests.push(entry.at);
  if (next !== null) return cut(due, entry.at, 'longer');
  return entry.decision.ladderAfter.waitUntil === null ? cut(due, entry.at, 'granted') : due;
}

/**
 * @param {Wait} wait
 * @param {number} at
 * @param {'paid' | 'longer' | 'granted' | 'ended'} why
 */
function cut(wait, at, why) {
  wait.cut = { at, why };
  return null;
}

/**
 * The outcome of an order before this one; null when this is the first.
 * @param {readonly Row[]} rows
 * @param {string} orderRef
 */
function earlierOutcome(rows, orderRef) {
  const outcomes = rows.flatMap((row) =>
    'entry' in row && row.entry.kind === 'outcome' && row.entry.orderRef === orderRef ? [row.entry] : [],
  );
  return outcomes.at(-1) ?? null;
}

/** The kind gives the shape, the variant its colour. */
/** @typedef {{ kind: Row['kind'], variant?: string, text?: string }} SignProps */

/** @type {Readonly<Record<Row['kind'], object>>} */
const SHAPES = {
  verdict: html`<circle cx="11" cy="11" r="9" />`,
  score: html`<circle cx="11" cy="11" r="6" />`,
  outcome: html`<rect x="3" y="3" width="16" height="16" rx="2" />`,
  binding: html`<path d="M11 1.5L20.5 11L11 20.5L1.5 11Z" />`,
  override: html`<path d="M11 1.5L19.5 4.5V10.5C19.5 15.5 15.5 19 11 20.5C6.5 19 2.5 15.5 2.5 10.5V4.5Z" />`,
  waitEnded: html`<path d="M4 11H18M4 7V15" />`,
  over: html`<path d="M4 11H18" />`,
  running: html`<path d="M5 14L11 7L17 14" />`,
};

/** @param {SignProps} props */
export function Sign({ kind, variant = 'plain', text = '' }) {
  return html`<svg class=${`sign sign-${kind} sign-${variant}`} viewBox="0 0 22 22" aria-hidden="true">
    ${SHAPES[kind]} ${text !== '' && html`<text x="11" y="15.5" text-anchor="middle">${text}</text>`}
  </svg>`;
}

/**
 * Which sign a row has: the shape tells the kind, what stands in it the answer, and hollow means lifted.
 * @param {Row} row
 * @returns {SignProps}
 */
export function signOfRow(row) {
  if (!('entry' in row)) return { kind: row.kind };
  const { entry } = row;
  switch (entry.kind) {
    case 'verdict': {
      const { verdict } = entry.decision;
      return { kind: entry.kind, variant: verdict, text: signOf(verdict) };
    }
    case 'outcome':
      return { kind: 'outcome', variant: outcomeTone(entry), text: entry.outcome === 'PAID' ? '✓' : '✗' };
    case 'override':
      if (entry.override === null) return { kind: entry.kind, variant: 'lifted' };
      return { kind: entry.kind, variant: entry.override.group === 'BLOCKED' ? 'bad' : 'good' };
    case 'binding':
      return { kind: entry.kind, variant: entry.binding === null ? 'lifted' : 'set' };
    case 'score':
      return { kind: entry.kind };
    case 'waitEnded':
      return { kind: entry.kind, variant: 'lifted' };
    default:
      return entry;
  }
}

/** @typedef {Pick<OutcomeEntry, 'outcome' | 'cause' | 'turnedAway'>} ToldOutcome */

/** @param {ToldOutcome} entry */
export function outcomeTone(entry) {
  if (entry.outcome === 'PAID') return 'good';
  return whyNeither(entry) === null ? 'bad' : 'plain';
}

/** Why an outcome counts neither way; null when it counts. @param {ToldOutcome} entry */
export function whyNeither({ outcome, cause, turnedAway = false }) {
  if (cause === 'TECHNICAL') return 'counts neither way';
  return turnedAway && outcome === 'UNPAID' ? 'counts neither way: no requisite was shown for it' : null;
}
