import { setTimeout as delay } from 'node:timers/promises';
import { startNode } from '../../../test/processes/node-process.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { until } from '../../../test/servers/until.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { Tenant } from '../../../test/service/tenant.ts';
import { startMeasuredProcess } from '../../bench/measured-process.ts';
import { atLeast, type Figure, formatCounts, never, prefixFigures, reported } from '../figure.ts';
import { runSameOnEachStore } from '../processes/each-store.ts';
import { type ServiceNode, type ServiceNodeSettings, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { askManyVerdicts } from '../traffic/load.ts';
import type { ServiceAccess } from '../traffic/requests.ts';
import { createP99Figures, createTurnFigures, runWindowsInTurn } from '../traffic/taking-turns.ts';

const STORMER = 'scripts/chaos/processes/stormer.ts';
/**
 * A server that takes the storm of verdicts instead of the service and decides nothing. It shows the cost of sharing
 * the cores.
 */
const CONTROL = 'scripts/bench/servers/floor.ts';
const STORMS = ['verdicts', 'lists', 'drafts', 'evidence', 'searches', 'audits', 'bodies'] as const;
/** The number of the hostile tenant's decisions, which is as many as one search reads. */
const DECISIONS = { full: 10_000, quick: 5_000 } as const;
/** Entries are shipped to the archive at least every ten seconds, and evidence is computed from the archive. */
const SHIPPED_MS = 12_000;
/**
 * The statuses of requests that were answered, or refused as too many. A storm in which all requests are refused for
 * other reasons would show nothing.
 */
const WORKED: ReadonlySet<string> = new Set(['200', '429', '503']);
/** The number of requests of the storm's kind that the neighbour makes at once in each window. */
const ASKED_BESIDE = 2;
/** The time, in ms, within which cancelled evidence jobs end, and searches whose caller has hung up. */
const SETTLE_MS = 1_500;
/**
 * The checks of drafts whose caller hung up still go on to their end. The service is looked at up to this often until
 * it is calm, which means that it used less CPU between two looks than `CALM_CPU_SECONDS`.
 */
const CALM_LOOKS_MAX = 40;
const CALM_LOOK_MS = 500;
const CALM_CPU_SECONDS = 0.1;

/** Lets one tenant ask for as much of one thing as it can, beside a neighbour's callers. */
export const hostileTenant: Scenario = {
  name: 'hostile-tenant',
  does: 'Lets one tenant flood the service with verdicts, lists, drafts, evidence, searches, reads of the audit, and bodies that never end, each in turn. No request of its neighbour may be refused, and the p99 of the neighbour may be at most 1.5 times that without the flood (medians of alternating windows).',
  limitSeconds: 2_400,
  run: async (run) => [
    ...(await runStormOnControl(run)),
    ...(await runSameOnEachStore(run, (store, place) => runStormsBeside(store, place, run))),
  ],
};

async function runStormOnControl(run: ScenarioRun): Promise<readonly Figure[]> {
  const bare = await startMeasuredProcess(CONTROL);
  const target = { callerUrl: bare.url, platformUrl: bare.url, key: 'none' };
  try {
    const what = 'a storm of verdicts';
    const begin = () => beginStorm('verdicts', target, target.key);
    const rounds = await runWindowsInTurn('bare server', target, { what, begin, settleMs: SETTLE_MS }, run);
    return prefixFigures('bare server', createP99Figures(what, rounds));
  } finally {
    await bare.stop();
  }
}

async function runStormsBeside(
  store: string,
  place: Pick<ServiceNodeSettings, 'redisUrl'>,
  run: ScenarioRun,
): Promise<readonly Figure[]> {
  const dataDir = temporaryDirectory();
  const key = await issueKey({ dataDir, ...place }, 'hostile');
  // The log says why a verdict was refused.
  const env = { RATE_LIMIT_PER_SECOND: '20', TRUSTED_PROXIES: '1', LOG_LEVEL: 'warn' };
  const service = await startServiceNode({ dataDir, ...place, env });
  await askManyVerdicts({ ...service, key }, DECISIONS[run.quick ? 'quick' : 'full']);
  await delay(SHIPPED_MS);
  const figures: Figure[] = [];
  for (const storm of STORMS) {
    const what = `a storm of ${storm}`;
    const neighbours: Promise<number>[] = [];
    const begin = async () => {
      const end = await beginStorm(storm, service, key);
      const asked = Array.from({ length: ASKED_BESIDE }, (_, n) => askSame(storm, service.shop, n));
      asked.push(fetch(`${service.platformUrl}/readyz`).then(({ status }) => status));
      neighbours.push(...asked);
      return async () => {
        await Promise.all(asked);
        await cancelEvidence(service.shop);
        const met = await end();
        await cancelEvidence(new Tenant(service, key));
        await waitUntilCalm(service);
        return met;
      };
    };
    const rounds = await runWindowsInTurn(store, service, { what, begin, settleMs: SETTLE_MS }, run);
    const statuses = rounds.flatMap(({ result }) => result);
    const worked = statuses.filter((status) => WORKED.has(status)).length;
    const refused = (await Promise.all(neighbours)).filter((status) => status !== 200);
    figures.push(
      never(
        `requests of the neighbour and of readyz refused beside ${what}, of ${neighbours.length}`,
        refused.length,
      ),
      atLeast(`requests of ${what} that were answered or refused as too many`, worked, 1),
      reported(`statuses of ${what}`, formatCounts(statuses)),
      ...createTurnFigures(what, rounds, 1.5, service.log()),
    );
  }
  await service.kill();
  return figures;
}

/** Makes one request of the storm's kind for the neighbour, while the storm goes on. Returns the status. */
async function askSame(storm: (typeof STORMS)[number], shop: Tenant, n: number): Promise<number> {
  const asks = {
    verdicts: () => shop.verdict({ clientIdKey: 'beside', orderRef: `beside-${n}` }),
    lists: () => shop.ask('PUT', 'lists/own', { kind: 'client' }),
    drafts: () =>
      shop.ask('POST', 'rules/drafts/check', {
        version: 'p2.v900',
        files: { 'ruleset.yaml': 'version: p2.v900\n' },
      }),
    evidence: () =>
      shop.ask('POST', 'evidence', { kind: 'report', version: 'p2.v10', from: new Date(n).toISOString() }),
    searches: () => shop.ask('GET', 'decisions?limit=50'),
    audits: () => shop.ask('GET', 'audit?limit=50'),
    bodies: () => shop.outcome('beside', `beside-${n}`, 'PAID'),
  } as const;
  return (await asks[storm]()).status;
}

/** Begins a storm. Returns a function that ends it and returns the statuses of all answers. */
async function beginStorm(
  storm: (typeof STORMS)[number],
  { callerUrl, platformUrl }: ServiceAccess,
  key: string,
): Promise<() => Promise<readonly string[]>> {
  const stormer = startNode([STORMER, storm, callerUrl, platformUrl], {
    env: { ...process.env, STORM_KEY: key },
    cwd: process.cwd(),
  });
  await until(`the storm of ${storm} was answered`, async () => {
    if (stormer.stderr() !== '')
      throw new Error(`the storm of ${storm} ended too early: ${stormer.stderr()}`);
    return stormer.stdout() !== '';
  });
  return async () => {
    stormer.child.kill('SIGKILL');
    await stormer.exited;
    return stormer.stdout().trim().split('\n');
  };
}

async function waitUntilCalm(service: ServiceNode): Promise<void> {
  for (let look = 0; look < CALM_LOOKS_MAX; look++) {
    const beforeSeconds = service.cpuSeconds();
    await delay(CALM_LOOK_MS);
    if (!(service.cpuSeconds() - beforeSeconds > CALM_CPU_SECONDS)) return;
  }
}

async function cancelEvidence(tenant: Tenant): Promise<void> {
  const { body } = await tenant.ask<{
    readonly jobs?: readonly { readonly jobId: string; readonly state: string }[];
  }>('GET', 'evidence');
  const open = (body.jobs ?? []).filter(({ state }) => state === 'waiting' || state === 'running');
  for (const { jobId } of open) await tenant.ask('DELETE', `evidence/${jobId}`);
}
