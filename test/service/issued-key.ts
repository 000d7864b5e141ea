import {
  AccessKeys,
  GRANTABLE_OPERATIONS,
  type GrantableOperation,
  isInstallation,
} from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../decision/payer/client-keys.ts';
import { openPatiently } from '../stores/temporary-store.ts';
import { KEY_LIFETIME_MS } from './key-lifetime.ts';

/** Where the key is stored: in Redis when it is named, else in the SQLite file under `dataDir`. */
export interface KeptAt {
  readonly dataDir: string;
  readonly redisUrl?: string | undefined;
}

/**
 * A key for a service that keeps its state there, issued as the command line would, with every operation that
 * such a key may have. The platform `*` is the whole installation.
 */
export async function issueKey(
  { dataDir, redisUrl }: KeptAt,
  platform = 'shop',
  operations: readonly GrantableOperation[] = GRANTABLE_OPERATIONS,
): Promise<string> {
  const store =
    redisUrl === undefined ? openSqliteStore(dataDir, { salt: TEST_SALT }) : await openPatiently(redisUrl);
  try {
    const keys = new AccessKeys(store.documents, Date.now);
    const whose = isInstallation(platform) ? platform : toPlatformName(platform);
    return (await keys.issue(whose, operations, KEY_LIFETIME_MS)).key;
  } finally {
    await store.close();
  }
}
