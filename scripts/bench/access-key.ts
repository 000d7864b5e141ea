import { AccessKeys } from '../../src/access/access-keys.ts';
import { openStore } from '../../src/state/open-store.ts';
import { PLATFORM } from './sample.ts';

/** A key for the service that keeps its state there. */
export async function issueBenchKey(redisUrl: string | null, dataDir: string): Promise<string> {
  const store = await openStore({ redisUrl, dataDir }, () => {});
  try {
    return (await new AccessKeys(store.documents, Date.now).issue(PLATFORM, ['score', 'verdict'], null)).key;
  } finally {
    await store.close();
  }
}
