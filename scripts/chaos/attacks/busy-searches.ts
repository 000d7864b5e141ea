import { setTimeout as delay } from 'node:timers/promises';
import { startNode } from '../../../test/processes/node-process.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { Tenant } from '../../../test/service/tenant.ts';
import { atLeast, type Figure } from '../figure.ts';
import { sameOnEachStore } from '../processes/each-store.ts';
import { type NodeSettings, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { fill } from '../traffic/fill.ts';
import { takeTurns, turnFigures } from '../traffic/taking-turns.ts';

const SEARCHER = 'scripts/chaos/processes/searcher.ts';
/** How many of each kind of search run side by side. */
const SIDE_BY_SIDE = 4;
/** What the searching tenant has decided: as much as one look back goes through. */
const DECISIONS = { full: 10_000, quick: 5_000 } as const;
/** Searches whose caller hung up end at their next step; what one step may read of the archive takes longest. */
const SETTLE_MS = 1_000;

/** One tenant looks through all of its decisions, over and over, beside another's callers. */
export const busySearches: Scenario = {
  name: 'busy-searches',
  does: "one tenant looks for decisions, histories and explanations without a pause: another's verdicts take at most twice their p99",
  limitSeconds: 600,
  run: (run) => sameOnEachStore(run, (store, place) => searchesBeside(store, place, run)),
};

async function searchesBeside(
  store: string,
  place: Pick<NodeSettings, 'redisUrl'>,
  run: ScenarioRun,
): Promise<readonly Figure[]> {
  const dataDir = temporaryDirectory();
  const key = await issueKey({ dataDir, ...place }, 'searching');
  const service = await startServiceNode({ dataDir, ...place });
  const searching = new Tenant(service, key);
  const filled = await fill({ ...service, key }, DECISIONS[run.quick ? 'quick' : 'full']);
  run.report(`${store}: ${filled.length} decisions of the tenant that searches`);
  const paths = await searchPaths(searching);
  const work = (forMs: number) => searchFor(forMs, searching, paths);
  const turns = await takeTurns(store, service, { what: 'searches', work, settleMs: SETTLE_MS }, run);
  await service.kill();
  const answered = turns.results.reduce((sum, round) => sum + round, 0);
  return [atLeast(`${store}: searches answered`, answered, 1), ...turnFigures(store, 'searches', turns, 2)];
}

/** Every kind of search, several times: by a rule that decided nothing, so that all is looked through, and what is long. */
async function searchPaths(searching: Tenant): Promise<readonly string[]> {
  const [newest] = await searching.decisions({ limit: '1' });
  if (newest === undefined) throw new Error('there is no decision to search for');
  const client = `clientIdKey=${newest.clientIdKey}`;
  const kinds = [
    'decisions?rule=decided-nothing&limit=500',
    'decisions?limit=500',
    `decisions?${client}&rule=decided-nothing`,
    `decisions?orderRef=${newest.orderRef}`,
    `client/history?${client}&limit=500`,
    `decisions/${newest.decisionId}/explanation`,
  ];
  return Array.from({ length: SIDE_BY_SIDE }, () => kinds).flat();
}

/** Searches for so long; gives how many were answered. */
async function searchFor(
  forMs: number,
  { platformUrl, key }: Tenant,
  paths: readonly string[],
): Promise<number> {
  const searcher = startNode([SEARCHER, platformUrl, ...paths], {
    env: { ...process.env, SEARCH_KEY: key },
    cwd: process.cwd(),
  });
  await delay(forMs);
  searcher.child.kill('SIGKILL');
  await searcher.exited;
  return searcher
    .stdout()
    .split('\n')
    .filter((status) => status === '200').length;
}
