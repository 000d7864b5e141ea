import type { PlatformName } from '../client/client-key.ts';

/**
 * What people and keys changed, in the order in which it was noted. It keeps the newest entries of each platform and,
 * beside them, of the installation, so that a platform that changes much pushes out nothing but its own. An erasure
 * forgets what was noted about the client.
 */
export interface AuditLog {
  append(entry: string, about: AuditAbout): Promise<void>;
  /** Entries after a cursor (null: from the oldest kept). Throws UnknownCursor. */
  read(after: string | null, limit: number): Promise<AuditLogPage>;
}

export interface AuditLogPage {
  readonly entries: readonly string[];
  /** The place after the last entry; null when there is none yet. */
  readonly cursor: string | null;
}

export interface AuditAbout {
  /** Whose share the entry takes; null: that of the installation. */
  readonly platform: PlatformName | null;
  /** The client whose erasure forgets the entry; null when it is about none. */
  readonly clientHash: string | null;
}

/** How many entries stay: of the installation some years of people's changes, about 50 MiB when every entry is long. */
export function auditShareMax(platform: PlatformName | null): number {
  return platform === null ? 100_000 : 10_000;
}
