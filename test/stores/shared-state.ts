import { hasServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import type { HeaderList } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { SIGNAL_SECRET } from '../service/running-service.ts';
import { emptyRedisUrl } from './empty-redis.ts';

/** State that several processes share: what each is started with, and a key that all of them know. */
export interface SharedState {
  readonly dataDir: string;
  readonly env: HeaderList;
  readonly key: string;
}

/** Every kind of state that processes may share; suites about processes walk this list. */
export const sharedStates: readonly { readonly name: string; make(): Promise<SharedState> }[] = [
  {
    name: 'one DATA_DIR',
    make: async () => {
      const dataDir = temporaryDirectory();
      return { dataDir, env: {}, key: await issueKey({ dataDir }) };
    },
  },
  ...(hasServer('redis-server') ? [{ name: 'one Redis', make: sharedRedis }] : []),
];

async function sharedRedis(): Promise<SharedState> {
  const redisUrl = await emptyRedisUrl();
  const dataDir = temporaryDirectory();
  const key = await issueKey({ dataDir, redisUrl });
  return { dataDir, env: { REDIS_URL: redisUrl, SIGNAL_SECRET }, key };
}
