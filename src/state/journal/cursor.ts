import { PARTITIONS } from '../keys.ts';
import { UnknownCursor } from '../store-errors.ts';
import type { EntryPlace } from './entry.ts';

/** The id of a stream entry: `ms-seq`. */
export interface JournalPlace {
  readonly ms: number;
  readonly seq: number;
}

/** Up to where each partition was read; null, or absent, where nothing was read yet. */
export type JournalPlaces = readonly (JournalPlace | null)[];

/** How a store writes places as a cursor. */
export interface JournalCursors {
  /** Throws UnknownCursor when the text is no cursor of such a store. */
  readonly read: (cursor: string | null) => JournalPlaces;
  readonly write: (places: JournalPlaces) => string | null;
}

/** Whether the entry at a place was read. */
export function isBehind(places: JournalPlaces, { partition, ...place }: EntryPlace): boolean {
  const read = places[partition] ?? null;
  return read !== null && comparePlaces(place, read) <= 0;
}

/** Of a journal without partitions: the number of the last entry that was read. */
export const NUMBER_CURSORS: JournalCursors = {
  read: (cursor) => {
    if (cursor === null) return [null];
    if (/^\d{1,16}$/.test(cursor)) return [{ ms: 0, seq: Number(cursor) }];
    throw new UnknownCursor();
  },
  write: ([place = null]) => (place === null ? null : String(place.seq)),
};

/** Of a journal in partitions. */
export const PARTITION_CURSORS: JournalCursors = { read: readCursor, write: writeCursor };

const FORMAT = '1';

export function parsePlace(id: string): JournalPlace {
  const [ms, seq] = id.split('-');
  return { ms: Number(ms), seq: Number(seq) };
}

export function comparePlaces(a: JournalPlace, b: JournalPlace): number {
  return a.ms - b.ms || a.seq - b.seq;
}

/** The places in all partitions as one text: `1.<place>.<place>...`, empty where nothing was read yet. */
export function writeCursor(places: JournalPlaces): string {
  return [FORMAT, ...PARTITIONS.map((_, index) => writePlace(places[index] ?? null))].join('.');
}

/** The places in the partitions. Throws UnknownCursor when the text was not written by `writeCursor`. */
export function readCursor(cursor: string | null): JournalPlaces {
  if (cursor === null) return [];
  const [format, ...places] = cursor.split('.');
  if (format !== FORMAT || places.length !== PARTITIONS.length) throw new UnknownCursor();
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
