import { Type } from '#base/json-schema.ts';
import { count, epochMs, list, literal, nullable, plainText, shape, type ValueOf } from '#base/shapes.ts';
import { type Decision, DecisionSchema, ScoreAnswerSchema } from '#decision/decision.ts';
import { DrawnHoldoutSchema } from '#decision/holdout.ts';
import { createPlatformSchema } from '#decision/payer/client-key.ts';
import { BindingSchema, OverrideSchema } from '#decision/payer/client-state.ts';
import {
  DatedReportSchema,
  OrderOutcomeSchema,
  type OrderStage,
  toAskedOrderStage,
  turnedAwaySchema,
} from '#decision/payer/order.ts';
import { ScoreRequestSchema } from '#decision/requests.ts';
import { ruleVersionSchema } from '#decision/rules/rule-set.ts';
import { PARTITION_TAGS } from './keys.ts';
import { PositionalCodec } from './positional-codec.ts';
import { StoreUnavailable, UnknownCursor } from './store-errors.ts';

const platform = createPlatformSchema('The tenant');
const clientIdKey = plainText("The caller's identifier of the payer");
const orderRef = plainText("The caller's order");

export const ScoreEntrySchema = shape('One answered score request', {
  kind: literal('score'),
  at: epochMs('When it was answered'),
  platform,
  clientIdKey,
  request: ScoreRequestSchema,
  ruleVersion: ruleVersionSchema,
  holdout: Type.Optional(
    list(DrawnHoldoutSchema, 'Rules that may be skipped, and matched; absent without one'),
  ),
  answer: ScoreAnswerSchema,
});

const VerdictEntrySchema = shape('One answered verdict request', {
  kind: literal('verdict'),
  at: epochMs('When it was decided'),
  platform,
  clientIdKey,
  decision: DecisionSchema,
});

export const OutcomeEntrySchema = shape('What became of an order, as it was reported', {
  kind: literal('outcome'),
  at: epochMs('When it was accepted'),
  platform,
  clientIdKey,
  orderRef,
  /** The outcome of the order that is valid from now on. */
  order: OrderOutcomeSchema,
  /** The report itself, if it differs from `order` or has an amount. */
  report: Type.Optional(DatedReportSchema),
  amount: Type.Optional(
    plainText('What was asked for the order, like "25.5 EUR"; absent when that was not known'),
  ),
  settledAmount: Type.Optional(
    plainText(
      'The money that the result is about, where that is not what was asked for: of a payment what was captured less what was taken back, of a reversal what was captured',
    ),
  ),
  turnedAway: Type.Optional(turnedAwaySchema),
});

export const BindingEntrySchema = shape('A client was bound to a requisite, or unbound', {
  kind: literal('binding'),
  at: epochMs('When it was accepted'),
  platform,
  clientIdKey,
  binding: nullable(BindingSchema),
});

export const OverrideEntrySchema = shape('A person set or lifted an override', {
  kind: literal('override'),
  at: epochMs('When it was accepted'),
  platform,
  clientIdKey,
  override: nullable(OverrideSchema),
  who: plainText('The key that it was done with, as the audit names it'),
});

export const WaitEndedEntrySchema = shape('A person ended a wait of a client before its time', {
  kind: literal('waitEnded'),
  at: epochMs('When it was ended'),
  platform,
  clientIdKey,
  decisionId: plainText('The decision that imposed the wait'),
  reason: plainText('Why'),
  who: plainText('The key or person who ended it, as the audit names it'),
});

/**
 * The position of an entry in the journal. All entries of a client are in one partition, sorted by `ms` and then by
 * `seq`. Only the servers' clocks tell which of two entries in different partitions is older.
 */
export const EntryPlaceSchema = shape('Where an entry stands in the journal', {
  partition: count('The part of the journal that the entry stood in, from 0; always the same for a client'),
  ms: count("The journal's own clock when it took the entry, epoch ms; 0 with SQLite"),
  seq: count('Number of the entry, within journal_ms where that is not 0'),
});

export type EntryPlace = ValueOf<typeof EntryPlaceSchema>;

export type ScoreEntry = ValueOf<typeof ScoreEntrySchema>;
export type OutcomeEntry = ValueOf<typeof OutcomeEntrySchema>;

/**
 * Returns how far an order had come when its report was accepted. Only `turnedAway` is recorded, because further
 * differences do not matter.
 */
export function getRecordedOrderStage(turnedAway: OutcomeEntry['turnedAway']): OrderStage {
  return toAskedOrderStage(turnedAway !== true);
}

/** An accepted input, with its decision. */
export type JournalEntry =
  | ScoreEntry
  | ValueOf<typeof VerdictEntrySchema>
  | OutcomeEntry
  | ValueOf<typeof BindingEntrySchema>
  | ValueOf<typeof OverrideEntrySchema>
  | ValueOf<typeof WaitEndedEntrySchema>;

export const ErasureEntrySchema = shape(
  'A client was erased: whoever keeps journal entries elsewhere removes those about it, too',
  {
    kind: literal('erasure'),
    at: epochMs('When the platform asked for it'),
    platform,
    clientNumber: plainText('`clientNumber` of its hash'),
  },
);

export type ErasureEntry = ValueOf<typeof ErasureEntrySchema>;

/** An entry as the journal stores it: an accepted input with its decision, or an erasure. */
export type AnyJournalEntry = JournalEntry | ErasureEntry;

export type PlacedEntry<Entry extends AnyJournalEntry> = Entry & { readonly place: EntryPlace };

/** The position of an entry among the entries of its client. */
export type DatedJournalPlace = { readonly at: number; readonly place: JournalPlace };

/**
 * Compares entries of a client, the newest first. The times are compared before the positions, because a store that
 * was restored from a backup gives positions a second time.
 */
export function compareNewestEntryFirst(a: PlacedEntry<JournalEntry>, b: PlacedEntry<JournalEntry>): number {
  return b.at - a.at || b.place.ms - a.place.ms || b.place.seq - a.place.seq;
}

/** The id of a stream entry: `ms-seq`. */
export interface JournalPlace {
  readonly ms: number;
  readonly seq: number;
}

/** The position up to which each partition was read. Null or missing if nothing was read yet. */
export type JournalPlaces = readonly (JournalPlace | null)[];

export interface JournalCursorFormat {
  /** Throws UnknownCursor if the text is no cursor of this kind of store. */
  readonly parse: (cursor: string | null) => JournalPlaces;
  readonly format: (places: JournalPlaces) => string;
}

/** Whether the entry at a position was read. */
export function isPlaceRead(places: JournalPlaces, { partition, ...place }: EntryPlace): boolean {
  const read = places[partition] ?? null;
  return read !== null && comparePlaces(place, read) <= 0;
}

/** The cursors of a journal without partitions: the number of the last entry that was read. */
export const NUMBER_CURSORS: JournalCursorFormat = {
  parse: (cursor) => {
    if (cursor === null) return [null];
    if (/^\d{1,16}$/.test(cursor)) return [{ ms: 0, seq: Number(cursor) }];
    throw new UnknownCursor();
  },
  format: ([place]) => String(place?.seq ?? 0),
};

export const PARTITION_CURSORS: JournalCursorFormat = { parse: parseCursor, format: formatCursor };

const FORMAT = '1';

export function parsePlace(id: string): JournalPlace {
  const [ms, seq] = id.split('-');
  return { ms: Number(ms), seq: Number(seq) };
}

export function comparePlaces(a: JournalPlace, b: JournalPlace): number {
  return a.ms - b.ms || a.seq - b.seq;
}

export function pickLaterPlace(a: JournalPlace | null, b: JournalPlace | null): JournalPlace | null {
  if (a === null || b === null) return a ?? b;
  return comparePlaces(a, b) < 0 ? b : a;
}

/**
 * Writes the positions in all partitions as one text, `1.<position>.<position>...`. A position is empty if nothing
 * was read yet.
 */
export function formatCursor(places: JournalPlaces): string {
  return [FORMAT, ...PARTITION_TAGS.map((_, index) => writePlace(places[index] ?? null))].join('.');
}

/** Reads the positions in the partitions. Throws UnknownCursor if `formatCursor` did not write the text. */
export function parseCursor(cursor: string | null): JournalPlaces {
  if (cursor === null) return [];
  const [format, ...places] = cursor.split('.');
  if (format !== FORMAT || places.length !== PARTITION_TAGS.length) throw new UnknownCursor();
  return places.map(readPlace);
}

function writePlace(place: JournalPlace | null): string {
  if (place === null) return '';
  const ms = place.ms.toString(36);
  return place.seq === 0 ? ms : `${ms}-${place.seq.toString(36)}`;
}

function readPlace(text: string): JournalPlace | null {
  if (text === '') return null;
  const [ms = '', seq = '0'] = text.split('-');
  const place = { ms: Number.parseInt(ms, 36), seq: Number.parseInt(seq, 36) };
  if (!Number.isSafeInteger(place.ms) || !Number.isSafeInteger(place.seq)) {
    throw new UnknownCursor();
  }
  return place;
}

/**
 * A verdict in the journal. The decision's record is stored elsewhere, so the journal holds only the number and the
 * time of the decision.
 */
export interface VerdictReference {
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
}

/** A verdict whose record was deleted before its journal entry was read. */
export interface LostVerdictRecord {
  readonly kind: 'lost';
  /** Epoch ms. */
  readonly at: number;
}

/** An entry that is damaged, or of a kind that a newer version wrote. Reading continues without it. */
export interface UnreadableEntry {
  readonly kind: 'unreadable';
  readonly place: EntryPlace;
  /** Empty if the client is not known. */
  readonly clientHash: string;
  readonly why: string;
  /** The stored text. */
  readonly text: string;
}

export type ReadEntry = PlacedEntry<AnyJournalEntry> | LostVerdictRecord | UnreadableEntry;

/**
 * Collects the entries that cannot be read into the `unreadable` member of a page. The member is missing if there are
 * none.
 */
export function createUnreadableMember(entries: readonly ReadEntry[]): {
  readonly unreadable?: readonly UnreadableEntry[];
} {
  const unreadable = entries.filter((entry) => entry.kind === 'unreadable');
  return unreadable.length === 0 ? {} : { unreadable };
}

const SCORE = new PositionalCodec(ScoreEntrySchema);
const OUTCOME = new PositionalCodec(OutcomeEntrySchema);
const BINDING = new PositionalCodec(BindingEntrySchema);
const OVERRIDE = new PositionalCodec(OverrideEntrySchema);
const WAIT_ENDED = new PositionalCodec(WaitEndedEntrySchema);
const ERASURE = new PositionalCodec(ErasureEntrySchema);

/**
 * Encodes a journal entry: a letter for its kind, then its members by position. Throws if its time is invalid,
 * because nobody could read the entry again.
 */
export function encodeJournalEntry(entry: AnyJournalEntry): string {
  if (!Number.isSafeInteger(entry.at)) throw new RangeError('a journal entry without a time is not written');
  switch (entry.kind) {
    case 'verdict':
      // The end of the id already contains the seq and the time.
      return entry.decision.decisionId.slice(entry.decision.decisionId.indexOf('.') + 1);
    case 'score':
      return `s${SCORE.write(entry)}`;
    case 'outcome':
      return `o${OUTCOME.write(entry)}`;
    case 'binding':
      return `b${BINDING.write(entry)}`;
    case 'override':
      return `v${OVERRIDE.write(entry)}`;
    case 'waitEnded':
      return `w${WAIT_ENDED.write(entry)}`;
    case 'erasure':
      return `e${ERASURE.write(entry)}`;
    default:
      return entry satisfies never;
  }
}

/** The codecs by the letter with which `encodeJournalEntry` begins. */
const FORMS = new Map<string | undefined, { read(row: string): AnyJournalEntry }>(
  Object.entries({ s: SCORE, o: OUTCOME, b: BINDING, v: OVERRIDE, w: WAIT_ENDED, e: ERASURE }),
);

/** Decodes an entry, or the verdict that it refers to. */
export function decodeJournalEntry(text: string): AnyJournalEntry | VerdictReference {
  const form = FORMS.get(text[0]);
  if (form !== undefined) return form.read(text.slice(1));
  const [, seq, at = ''] = /^(\d+)\.([0-9a-z]+)(?:\.|$)/.exec(text) ?? [];
  if (seq === undefined) throw new TypeError(`no journal entry is stored as ${text}`);
  return { seq: Number(seq), at: Number.parseInt(at, 36) };
}

/**
 * Runs `read` on a stored entry. If `read` throws, returns why the entry cannot be read. StoreUnavailable is thrown
 * on, because it says nothing about the entry.
 */
export async function readOrExplain<T>(
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

export function parseErasureEntry(text: string): ErasureEntry {
  return ERASURE.read(text.slice(1));
}

/** Joins a known gap with the gaps that verdicts without a record leave. Returns null if there is no gap. */
export function addLostVerdictsToGap(
  lost: readonly LostVerdictRecord[],
  known: JournalGap | null,
): JournalGap | null {
  return lost.map(({ at }): JournalGap => ({ from: at, to: at, entries: 1 })).reduce(joinGaps, known);
}

export function joinGaps(a: JournalGap | null, b: JournalGap): JournalGap {
  if (a === null) return b;
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to), entries: a.entries + b.entries };
}

export function toVerdictEntry(decision: Decision): JournalEntry {
  const { at, platform, clientIdKey } = decision;
  return { kind: 'verdict', at, platform, clientIdKey, decision };
}

/** Entries that were lost before anybody read them. Times are approximate, epoch ms. */
export interface JournalGap {
  readonly from: number;
  readonly to: number;
  readonly entries: number;
}
