import type { Figure } from '../figure.ts';
import type { ScenarioRun } from '../scenario.ts';
import { missingPrograms } from './missing-programs.ts';

type Part = () => Promise<readonly Figure[]>;

/** A scenario on SQLite, then on Redis; without a redis-server a figure says that the second part was not run. */
export async function onEachStore(run: ScenarioRun, sqlite: Part, redis: Part): Promise<readonly Figure[]> {
  const missing = missingPrograms(['redis-server'], run);
  return [...(await sqlite()), ...(missing === null ? await redis() : [missing])];
}
