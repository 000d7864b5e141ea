import { PARTITIONS } from '../keys.ts';
import { UnknownCursor } from '../store.ts';

/** The id of a stream entry: `ms-seq`. */
export interface JournalPlace {
  readonly ms: number;
  readonly seq: number;
}

const FORMAT = '1';

export function parsePlace(id: string): JournalPlace {
  const [ms, seq] = id.split('-');
  return { ms: Number(ms), seq: Number(seq) };
}

export function comparePlaces(a: JournalPlace, b: JournalPlace): number {
  return a.ms - b.ms || a.seq - b.seq;
}

/** The places in all partitions as one text: `1.<place>.<place>...`, empty where nothing was read yet. */
export function writeCursor(places: readonly (JournalPlace | null)[]): string {
  return [FORMAT, ...places.map(writePlace)].join('.');
}

/** The places in the partitions. Throws UnknownCursor when the text was not written by `writeCursor`. */
export function readCursor(cursor: string | null): readonly (JournalPlace | null)[] {
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
