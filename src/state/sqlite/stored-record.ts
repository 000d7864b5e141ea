import type { StoredRecord } from '../stored-record.ts';

/** The record in a row of `decisions`. */
export function storedRecord({ client, record }: Readonly<Record<string, unknown>>): StoredRecord {
  return { clientHash: String(client), text: String(record) };
}
