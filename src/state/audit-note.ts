import type { AuditNote } from './audit-log.ts';

type Details = Record<'platform' | 'subject' | 'reason', string | null> & Record<'before' | 'after', unknown>;

/** The values of the members that an entry leaves out. */
export const NO_AUDIT_DETAILS = {
  platform: null,
  subject: null,
  before: null,
  after: null,
  reason: null,
} as const;

/**
 * Creates the note for the audit about what somebody did at a moment, epoch ms. If a client is affected, the parts
 * that may identify the client are kept apart, so that an erasure can forget them.
 */
export function createAuditNote(
  at: number,
  deed: Readonly<Partial<Details>> & { readonly who: string; readonly action: string },
  client: { readonly hash: string } | null = null,
): AuditNote {
  const { who, action, platform, subject, before, after, reason } = { ...NO_AUDIT_DETAILS, ...deed };
  const doing = { who, action, platform };
  const detail = { subject, before, after, reason };
  if (client === null) return { at, entry: { ...doing, ...detail }, payer: null };
  return { at, entry: doing, payer: { clientHash: client.hash, detail } };
}
