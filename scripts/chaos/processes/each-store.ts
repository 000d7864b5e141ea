import { isInstalled } from '../../../test/servers/needed-programs.ts';
import { startStandalone } from '../../../test/servers/redis.ts';
import { type Figure, prefixFigures, reported } from '../figure.ts';
import type { ScenarioRun } from '../scenario.ts';
import type { ServiceNodeSettings } from './service-node.ts';

type Part = () => Promise<readonly Figure[]>;

/** Runs a scenario on SQLite, then on Redis. Without a redis-server a figure says that the second part was not run. */
export async function runOnEachStore(
  run: ScenarioRun,
  sqlite: Part,
  redis: Part,
): Promise<readonly Figure[]> {
  const missing = findMissingProgramsFigure(['redis-server'], run);
  return [
    ...prefixFigures('SQLite', await sqlite()),
    ...(missing === null ? prefixFigures('Redis', await redis()) : [missing]),
  ];
}

/** Runs one function on each store, with the store's name and settings. */
export function runSameOnEachStore(
  run: ScenarioRun,
  part: (store: string, place: Pick<ServiceNodeSettings, 'redisUrl'>) => Promise<readonly Figure[]>,
): Promise<readonly Figure[]> {
  return runOnEachStore(
    run,
    () => part('SQLite', {}),
    async () => part('Redis', { redisUrl: (await startStandalone()).url }),
  );
}

/**
 * Reports missing programs, and returns the figure of a scenario that cannot run without them. Returns null when all
 * are installed.
 */
export function findMissingProgramsFigure(
  programs: readonly string[],
  { report }: ScenarioRun,
): Figure | null {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length === 0) return null;
  return createSkippedFigure(`install ${missing.join(' and ')}`, report);
}

/** Reports that this machine cannot run a scenario, or a part of one. Returns a figure that says so. */
export function createSkippedFigure(what: string, report: ScenarioRun['report']): Figure {
  report(`SKIPPED: ${what}`);
  return reported('SKIPPED', what);
}
