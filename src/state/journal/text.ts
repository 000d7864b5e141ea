import type { Decision } from '../../decision/decision.ts';
import type { JournalGap } from '../store.ts';
import type { ErasureEntry, JournalEntry, JournalRecord } from './entry.ts';
import { outcomeText, parsePositionalText, scoreText } from './positional-text.ts';

/** A verdict in the journal: its record is kept anyway, so only which one it is and when it was made. */
export interface VerdictReference {
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
}

/** A verdict whose record is gone before its journal entry was read. */
export interface LostVerdict {
  readonly kind: 'lost';
  /** Epoch ms. */
  readonly at: number;
}

/** What a journal entry is stored as. */
export function journalText(entry: JournalRecord): string {
  switch (entry.kind) {
    case 'verdict':
      // The end of its id says both already.
      return entry.decision.decisionId.slice(entry.decision.decisionId.indexOf('.') + 1);
    case 'score':
      return scoreText(entry) ?? JSON.stringify(entry);
    case 'outcome':
      return outcomeText(entry);
    default:
      return JSON.stringify(entry);
  }
}

/** The entry that was written as `text`, or the verdict that it refers to. */
export function parseJournalText(text: string): JournalRecord | VerdictReference {
  const [, seq, at] = /^(\d+)\.([0-9a-z]+)$/.exec(text) ?? [];
  if (seq !== undefined && at !== undefined) return { seq: Number(seq), at: Number.parseInt(at, 36) };
  const positional = parsePositionalText(text);
  if (positional !== null) return positional;
  const named: JournalRecord = JSON.parse(text);
  return named;
}

/** The erasure that `journalText` wrote. */
export function parseErasure(text: string): ErasureEntry {
  const erasure: ErasureEntry = JSON.parse(text);
  return erasure;
}

/** The gap left by verdicts without a record, joined with a known one; null without either. */
export function gapWith(lost: readonly LostVerdict[], known: JournalGap | null): JournalGap | null {
  return lost.map(({ at }): JournalGap => ({ from: at, to: at, entries: 1 })).reduce(widerGap, known);
}

/** Both gaps as one. */
export function widerGap(a: JournalGap | null, b: JournalGap): JournalGap {
  if (a === null) return b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to), entries: a.entries + b.entries };
}

/** The entry of a verdict. */
export function verdictEntry(decision: Decision): JournalEntry {
  const { at, platform, clientIdKey } = decision;
  return { kind: 'verdict', at, platform, clientIdKey, decision };
}
