import type { HistoryEntry } from '../answers.ts';
import { html } from '../html.ts';
import { signOf } from './verdict.ts';

/**
 * What a time line shows of a client's history: its entries as rows, each with the waits that were due
 * around it, and rows for the moments at which a wait was over.
 */

export type OutcomeEntry = Extract<HistoryEntry, { kind: 'outcome' }>;

/**
 * A wait that a verdict imposed, with the moments at which requests came inside, and where and why it was
 * cut short.
 */
export interface Wait {
  readonly at: number;
  readonly end: number;
  readonly level: number;
  readonly requests: number[];
  cut: { at: number; why: 'paid' | 'longer' | 'granted' | 'ended' } | null;
}

/** An entry, with the time since the one before it, the wait that it began, and the outcome it corrects. */
export interface EntryRow {
  readonly kind: HistoryEntry['kind'];
  readonly at: number;
  readonly entry: HistoryEntry;
  readonly sinceMs: number | null;
  readonly wait: Wait | null;
  readonly corrects: OutcomeEntry | null;
}

/** Where a wait was served. */
interface OverRow {
  kind: 'over';
  at: number;
  level: number;
}

/** Now, inside a wait. */
interface RunningRow {
  kind: 'running';
  at: number;
  end: number;
  level: number;
}

/** Whether a wait was due just before and just after a row. */
interface Due {
  waitingBefore: boolean;
  waitingAfter: boolean;
}

export type Row = (EntryRow | OverRow | RunningRow) & Due;

/** The kinds of entries in the order of their buttons, with the word for many of them. */
export const KINDS = [
  { kind: 'verdict', many: 'verdicts' },
  { kind: 'score', many: 'scores' },
  { kind: 'outcome', many: 'outcomes' },
  { kind: 'binding', many: 'bindings' },
  { kind: 'override', many: 'overrides' },
  { kind: 'waitEnded', many: 'ended waits' },
] as const;

/** Rows, newest first. `entries`: newest first; `now`: epoch ms. */
export function rowsOf(entries: readonly HistoryEntry[], now: number): readonly Row[] {
  const rows = new Rows();
  for (const entry of entries.toReversed()) rows.add(entry);
  return rows.until(now).toReversed();
}

class Rows {
  #rows: Row[] = [];
  #due: Wait | null = null;
  #before: HistoryEntry | null = null;

  /** `entry`: later than those before it. */
  add(entry: HistoryEntry) {
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

  until(now: number) {
    this.#serve(now);
    if (this.#due === null) return this.#rows;
    const { end, level } = this.#due;
    const running = { kind: 'running', at: now, end, level } as const;
    return [...this.#rows, { ...running, waitingBefore: true, waitingAfter: true }];
  }

  #serve(now: number) {
    if (this.#due === null || this.#due.end > now) return;
    const { end, level } = this.#due;
    this.#due = null;
    this.#rows.push({ kind: 'over', at: end, level, waitingBefore: true, waitingAfter: false });
  }
}

/** How long before the end of a wait a verdict was asked for, ms; 0 when none was due. */
export function earlyMs(entry: HistoryEntry) {
  if (entry.kind !== 'verdict') return 0;
  return Math.max(0, (entry.decision.ladderBefore.waitUntil ?? 0) - entry.at);
}

/** The wait that an entry began; null when it began none. */
function waitOf(entry: HistoryEntry): Wait | null {
  if (entry.kind !== 'verdict' || entry.decision.verdict !== 'WAIT') return null;
  const { waitUntil, level } = entry.decision.ladderAfter;
  return waitUntil === null ? null : { at: entry.at, end: waitUntil, level, requests: [], cut: null };
}

/** What an entry does to the wait that is due: null when it ends it. */
function after(due: Wait, entry: HistoryEntry, next: Wait | null) {
  if (entry.kind === 'outcome' && entry.outcome === 'PAID') return cut(due, entry.at, 'paid');
  if (entry.kind === 'waitEnded') return cut(due, entry.at, 'ended');
  if (entry.kind !== 'verdict') return due;
  due.requests.push(entry.at);
  if (next !== null) return cut(due, entry.at, 'longer');
  return entry.decision.ladderAfter.waitUntil === null ? cut(due, entry.at, 'granted') : due;
}

function cut(wait: Wait, at: number, why: 'paid' | 'longer' | 'granted' | 'ended') {
  wait.cut = { at, why };
  return null;
}

/** The outcome of an order before this one; null when this is the first. */
function earlierOutcome(rows: readonly Row[], orderRef: string) {
  const outcomes = rows.flatMap((row) =>
    'entry' in row && row.entry.kind === 'outcome' && row.entry.orderRef === orderRef ? [row.entry] : [],
  );
  return outcomes.at(-1) ?? null;
}

/** The kind gives the shape, the variant its colour. */
interface SignProps {
  kind: Row['kind'];
  variant?: string;
  text?: string;
}

const SHAPES: Readonly<Record<Row['kind'], object>> = {
  verdict: html`<circle cx="11" cy="11" r="9" />`,
  score: html`<circle cx="11" cy="11" r="6" />`,
  outcome: html`<rect x="3" y="3" width="16" height="16" rx="2" />`,
  binding: html`<path d="M11 1.5L20.5 11L11 20.5L1.5 11Z" />`,
  override: html`<path d="M11 1.5L19.5 4.5V10.5C19.5 15.5 15.5 19 11 20.5C6.5 19 2.5 15.5 2.5 10.5V4.5Z" />`,
  waitEnded: html`<path d="M4 11H18M4 7V15" />`,
  over: html`<path d="M4 11H18" />`,
  running: html`<path d="M5 14L11 7L17 14" />`,
};

export function Sign({ kind, variant = 'plain', text = '' }: SignProps) {
  return html`<svg class=${`sign sign-${kind} sign-${variant}`} viewBox="0 0 22 22" aria-hidden="true">
    ${SHAPES[kind]} ${text !== '' && html`<text x="11" y="15.5" text-anchor="middle">${text}</text>`}
  </svg>`;
}

/** Which sign a row has: the shape tells the kind, what stands in it the answer, and hollow means lifted. */
export function signOfRow(row: Row): SignProps {
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

type ToldOutcome = Pick<OutcomeEntry, 'outcome' | 'cause' | 'turnedAway'>;

export function outcomeTone(entry: ToldOutcome) {
  if (entry.outcome === 'PAID') return 'good';
  return whyNeither(entry) === null ? 'bad' : 'plain';
}

/** Why an outcome counts neither way; null when it counts. */
export function whyNeither({ outcome, cause, turnedAway = false }: ToldOutcome) {
  if (cause === 'TECHNICAL') return 'counts neither way';
  return turnedAway && outcome === 'UNPAID' ? 'counts neither way: no requisite was shown for it' : null;
}
