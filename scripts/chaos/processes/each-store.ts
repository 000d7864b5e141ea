import { startStandalone } from '../../../test/servers/redis.ts';
import type { Figure } from '../figure.ts';
import type { ScenarioRun } from '../scenario.ts';
import { missingPrograms } from './missing-programs.ts';
import type { NodeSettings } from './service-node.ts';

type Part = () => Promise<readonly Figure[]>;

/** A scenario on SQLite, then on Redis; without a redis-server a figure says that the second part was not run. */
export async function onEachStore(run: ScenarioRun, sqlite: Part, redis: Part): Promise<readonly Figure[]> {
  const missing = missingPrograms(['redis-server'], run);
  return [...(await sqlite()), ...(missing === null ? await redis() : [missing])];
}

/** The same on SQLite and on a Redis of its own; `part` is given the name of the store and where a service finds it. */
export function sameOnEachStore(
  run: ScenarioRun,
  part: (store: string, place: Pick<NodeSettings, 'redisUrl'>) => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  return onEachStore(
    run,
    () => part('SQLite', {}),
    async () => part('Redis', { redisUrl: (await startStandalone()).url }),
  );
}
