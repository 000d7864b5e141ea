import type { Decision } from '../../decision/decision.ts';
import { Positional } from '../positional.ts';
import { StoreUnavailable } from '../store-errors.ts';
import type { EntryPlace, ErasureEntry, JournalEntry, JournalRecord, Placed } from './entry.ts';
import {
  BindingEntrySchema,
  ErasureEntrySchema,
  OutcomeEntrySchema,
  OverrideEntrySchema,
  ScoreEntrySchema,
} from './entry.ts';

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

/** An entry that is damaged, or of a kind that a newer version wrote. Everything else goes on without it. */
export interface UnreadableEntry {
  readonly kind: 'unreadable';
  readonly place: EntryPlace;
  /** '' where nobody can tell. */
  readonly clientHash: string;
  readonly why: string;
  /** As it is stored. */
  readonly text: string;
}

/** What a row of a journal comes to. */
export type ReadEntry = Placed<JournalRecord> | LostVerdict | UnreadableEntry;

export function isOfClient(entry: ReadEntry): entry is Placed<JournalEntry> {
  return entry.kind !== 'erasure' && entry.kind !== 'lost' && entry.kind !== 'unreadable';
}

/** As the member of a page; none where everything can be read. */
export function unreadableAmong(entries: readonly ReadEntry[]): {
  readonly unreadable?: readonly UnreadableEntry[];
} {
  const unreadable = entries.filter((entry) => entry.kind === 'unreadable');
  return unreadable.length === 0 ? {} : { unreadable };
}

const SCORE = new Positional(ScoreEntrySchema);
const OUTCOME = new Positional(OutcomeEntrySchema);
const BINDING = new Positional(BindingEntrySchema);
const OVERRIDE = new Positional(OverrideEntrySchema);
const ERASURE = new Positional(ErasureEntrySchema);

/**
 * What a journal entry is stored as: a letter for its kind, then its members by their places. Throws where its time is
 * none: nobody could read it again.
 */
export function journalText(entry: JournalRecord): string {
  if (!Number.isSafeInteger(entry.at)) throw new RangeError('a journal entry without a time is not written');
  switch (entry.kind) {
    case 'verdict':
      // The end of its id says both already.
      return entry.decision.decisionId.slice(entry.decision.decisionId.indexOf('.') + 1);
    case 'score':
      return `s${SCORE.write(entry)}`;
    case 'outcome':
      return `o${OUTCOME.write(entry)}`;
    case 'binding':
      return `b${BINDING.write(entry)}`;
    case 'override':
      return `v${OVERRIDE.write(entry)}`;
    case 'erasure':
      return `e${ERASURE.write(entry)}`;
    default:
      return entry satisfies never;
  }
}

/** The entry that was written as `text`, or the verdict that it refers to. */
export function parseJournalText(text: string): JournalRecord | VerdictReference {
  const row = text.slice(1);
  switch (text[0]) {
    case 's':
      return SCORE.read(row);
    case 'o':
      return OUTCOME.read(row);
    case 'b':
      return BINDING.read(row);
    case 'v':
      return OVERRIDE.read(row);
    case 'e':
      return ERASURE.read(row);
    default: {
      const [, seq, at = ''] = /^(\d+)\.([0-9a-z]+)$/.exec(text) ?? [];
      if (seq === undefined) throw new TypeError(`no journal entry is stored as ${text}`);
      return { seq: Number(seq), at: Number.parseInt(at, 36) };
    }
  }
}

/** What work on a stored entry gives, or why it cannot be read. That a store is away is not the entry's fault. */
export async function readOr<T>(
  stored: Omit<UnreadableEntry, 'kind' | 'why'>,
  read: () => T | Promise<T>,
): Promise<T | UnreadableEntry> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    return { kind: 'unreadable', ...stored, why: error instanceof Error ? error.message : String(error) };
  }
}

/** The erasure that `journalText` wrote. */
export function parseErasure(text: string): ErasureEntry {
  return ERASURE.read(text.slice(1));
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

/** Entries that are gone before anybody read them. Times are epoch ms, and about. */
export interface JournalGap {
  readonly from: number;
  readonly to: number;
  readonly entries: number;
}
