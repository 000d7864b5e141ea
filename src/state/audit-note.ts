import type { AuditNote } from './audit-log.ts';

type Details = Record<'platform' | 'subject' | 'reason', string | null> & Record<'before' | 'after', unknown>;

/** What an entry that leaves it out says. */
export const LEFT_OUT = { platform: null, subject: null, before: null, after: null, reason: null } as const;

/**
 * The entry about a deed at a moment, epoch ms. Of a deed about a client, the parts that may identify it are kept apart, so
 * that they are forgotten when it is erased.
 */
export function createAuditNote(
  at: number,
  deed: Readonly<Partial<Details>> & { readonly who: string; readonly action: string },
  client: { readonly hash: string } | null = null,
): AuditNote {
  const { who, action, platform, subject, before, after, reason } = { ...LEFT_OUT, ...deed };
  const doing = { who, action, platform };
  const detail = { subject, before, after, reason };
  if (client === null) return { at, entry: { ...doing, ...detail }, payer: null };
  return { at, entry: doing, payer: { clientHash: client.hash, detail } };
}
