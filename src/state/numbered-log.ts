import type { AuditLink, AuditRows } from './audit-log.ts';
import type { ListLog, ListLogChange, ListLogPage, ListLogRecord, WritePreventingChange } from './store.ts';

/**
 * A log of texts under numbers. Texts are appended, read after a number, and trimmed up to a number. If several texts
 * have the same id, the newest is kept. The shared lists and the audit are stored in such logs.
 */
export interface NumberedLog {
  /**
   * Appends all changes. Returns null if the terms are not met. A change with `expected` is made only if the stored
   * text of the same id has the number `expected`.
   */
  append(changes: readonly ListLogChange[], terms?: AppendTerms): Promise<readonly boolean[] | null>;
  /** Reads the newest number (0 if there is none), the horizon and the epoch. ListLogPage explains the last two. */
  head(): Promise<Omit<ListLogPage, 'records'>>;
  /**
   * Reads the texts after a number, the oldest first. A text that changes during the read may come with its newer
   * content, and comes again under its newer number.
   */
  readAfter(after: number, limit: number): Promise<readonly ListLogRecord[]>;
  /** Reads the newest text. Returns null if there is none. */
  newestText(): Promise<string | null>;
  /** Removes the texts up to a number. No trace of them stays. */
  trim(through: number): Promise<void>;
  /** Reads the parts of the texts with these numbers. Null stands for a text without a part. */
  readParts(numbers: readonly number[]): Promise<readonly (string | null)[]>;
  /** Lists the numbers of the texts whose part names an owner, the smallest first. */
  listParts(owner: string): Promise<readonly number[]>;
  forgetParts(owner: string, numbers: readonly number[]): Promise<void>;
}

/** The conditions of an append, and the part of the first text that is stored separately. */
export interface AppendTerms {
  readonly unless?: WritePreventingChange | undefined;
  /** The number that the first text must get. */
  readonly number?: number;
  /** The part that names an owner, who is a payer. An erasure can forget the part alone. */
  readonly part?: { readonly owner: string; readonly text: string } | null;
}

/** Creates the log of the shared lists on a numbered log. */
export function createSharedListLog(log: NumberedLog): ListLog {
  return {
    write: (changes, unless) => log.append(changes, { unless }),
    // The head (the newest number) is read first, so it never names a change that the texts lack.
    read: async (after, limit) => {
      const head = await log.head();
      return { ...head, records: head.latest <= after ? [] : await log.readAfter(after, limit) };
    },
  };
}

/** Stores the audit in a log. The parts that identify payers are stored apart from the entries. */
export function createAuditRows(log: NumberedLog): AuditRows {
  return {
    // The head is read before the text. If another entry is added in between, the next number is already taken. So an
    // entry with the hash of the wrong previous entry is refused.
    newest: async () => {
      const { latest } = await log.head();
      const text = await log.newestText();
      return latest === 0 ? null : { number: latest, hash: parseLink(text ?? '').hash };
    },
    add: async ({ number, previous, hash, body, payer }) => {
      const record = { id: String(number), text: JSON.stringify([previous, hash, body]) };
      const part = payer && {
        owner: payer.clientHash,
        text: JSON.stringify([payer.clientHash, payer.text]),
      };
      return (await log.append([record], { number, part })) !== null;
    },
    read: async (after, limit) => {
      const records = await log.readAfter(after, limit);
      const parts = records.length === 0 ? [] : await log.readParts(records.map(({ version }) => version));
      return records.flatMap(({ version, text }, place) =>
        text === null ? [] : { number: version, ...parseLink(text), payer: parsePart(parts[place] ?? null) },
      );
    },
    about: (clientHash) => log.listParts(clientHash),
    forgetPayer: async (clientHash, numbers) => {
      if (numbers.length > 0) await log.forgetParts(clientHash, numbers);
    },
    drop: (through) => log.trim(through),
  };
}

/** Parses a stored entry. A damaged one becomes an entry without hashes, whose body is the stored text. */
function parseLink(text: string): Pick<AuditLink, 'previous' | 'hash' | 'body'> {
  try {
    const [previous, hash, body]: readonly unknown[] = JSON.parse(text);
    return { previous: String(previous), hash: String(hash), body: String(body) };
  } catch {
    return { previous: '', hash: '', body: text };
  }
}

/** Parses a stored part. A damaged one is returned with its stored text. */
function parsePart(text: string | null): AuditLink['payer'] {
  if (text === null) return null;
  try {
    const [clientHash, part]: readonly unknown[] = JSON.parse(text);
    return { clientHash: String(clientHash), text: String(part) };
  } catch {
    return { clientHash: '', text };
  }
}
