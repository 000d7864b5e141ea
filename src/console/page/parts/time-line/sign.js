import { html } from '../../html.js';
import { signOf } from '../verdict.js';

/** @import { Row, OutcomeEntry } from './history.js' */

/** The kind gives the shape, the variant its colour. */
/** @typedef {{ kind: Row['kind'], variant?: string, text?: string }} SignProps */

/** @type {Readonly<Record<Row['kind'], object>>} */
const SHAPES = {
  verdict: html`<circle cx="11" cy="11" r="9" />`,
  score: html`<circle cx="11" cy="11" r="6" />`,
  outcome: html`<rect x="3" y="3" width="16" height="16" rx="2" />`,
  binding: html`<path d="M11 1.5L20.5 11L11 20.5L1.5 11Z" />`,
  override: html`<path d="M11 1.5L19.5 4.5V10.5C19.5 15.5 15.5 19 11 20.5C6.5 19 2.5 15.5 2.5 10.5V4.5Z" />`,
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

/**
 * Why an outcome counts neither way; null when it counts.
 * @param {ToldOutcome} entry
 */
export function whyNeither({ outcome, cause, turnedAway = false }) {
  if (cause === 'TECHNICAL') return 'counts neither way';
  return turnedAway && outcome === 'UNPAID' ? 'counts neither way: no requisite was shown for it' : null;
}
