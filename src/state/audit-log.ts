/**
 * What people and keys changed, in the order in which it was noted. It keeps the newest AUDIT_ENTRIES_MAX
 * entries, about. An erasure forgets what was noted about the client.
 */
export interface AuditLog {
  /** `clientHash` names the client that the entry is about; null when it is about none. */
  append(entry: string, clientHash: string | null): Promise<void>;
  /** Entries after a cursor (null: from the oldest kept). Throws UnknownCursor. */
  read(after: string | null, limit: number): Promise<AuditLogPage>;
}

export interface AuditLogPage {
  readonly entries: readonly string[];
  /** The place after the last entry; null when there is none yet. */
  readonly cursor: string | null;
}

/** Some years of people's changes; about 50 MiB when every entry is long. */
export const AUDIT_ENTRIES_MAX = 100_000;
