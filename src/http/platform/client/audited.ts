import type { AccessKey } from '../../../access/access-keys.ts';
import { actorOfKey } from '../../../access/actor.ts';
import type { Audit } from '../../../access/audit.ts';
import { clientKey } from '../../../client/client-key.ts';
import type { BeforeAndAfter } from '../../../service.ts';

export interface AuditParts {
  readonly audit: Audit;
}

/** Notes what a key changed about a client, and gives what is there now. */
export async function audited<T>(
  { audit }: AuditParts,
  key: AccessKey,
  action: 'binding' | 'override',
  clientIdKey: string,
  { before, after }: BeforeAndAfter<T>,
  reason: string | null = null,
): Promise<T | null> {
  const { platform } = key;
  const entry = { who: actorOfKey(key), action, platform, subject: clientIdKey, before, after, reason };
  await audit.note(entry, clientKey(platform, clientIdKey));
  return after;
}
