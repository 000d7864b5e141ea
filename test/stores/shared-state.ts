import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import type { HeaderList } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { SIGNAL_SECRET } from '../service/running-service.ts';
import { isOnSqliteAlone } from './describe-on-stores.ts';
import { emptyRedisUrl } from './empty-redis.ts';

/** State that several processes share: what each is started with, and a key that all of them know. */
export interface SharedState {
  readonly dataDir: string;
  readonly env: HeaderList;
  readonly key: string;
}

/** A suite about processes, run on every kind of state that they may share (`npm test`: a DATA_DIR); `share` makes a new one. */
export function describeOnSharedStates(
  title: string,
  suite: (share: () => Promise<SharedState>) => void,
): void {
  describe(`${title} on one DATA_DIR`, () => suite(shareDataDir));
  if (isOnSqliteAlone()) return;
  describeWithServer('redis-server', `${title} on one Redis`, () => suite(shareRedis));
}

/** Without the shipping process, which is a quarter of the time of a start; test/history/archive tests it. */
const NOT_SHIPPING: HeaderList = { ARCHIVE_DIR: 'off' };

async function shareDataDir(): Promise<SharedState> {
  const dataDir = temporaryDirectory();
  return { dataDir, env: NOT_SHIPPING, key: await issueKey({ dataDir }) };
}

async function shareRedis(): Promise<SharedState> {
  const redisUrl = await emptyRedisUrl();
  const dataDir = temporaryDirectory();
  const key = await issueKey({ dataDir, redisUrl });
  return { dataDir, env: { ...NOT_SHIPPING, REDIS_URL: redisUrl, SIGNAL_SECRET }, key };
}
