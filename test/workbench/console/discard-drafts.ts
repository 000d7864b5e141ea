import type { Tenant } from '../../service/tenant.ts';

interface DraftList {
  readonly drafts: readonly { readonly version: string; readonly revision: number }[];
}

/** Discards the drafts of a platform, of which it may have so many only. */
export async function discardDrafts(tenant: Tenant): Promise<void> {
  const { body } = await tenant.ask<DraftList>('GET', 'rules/drafts?limit=500');
  for (const { version, revision } of body.drafts)
    await tenant.ask('DELETE', `rules/drafts/${version}`, undefined, { 'If-Match': `"${revision}"` });
}
