import { join } from 'node:path';
import { end } from '../../../test/processes/own-process.ts';
import { freePort } from '../../../test/servers/free-port.ts';
import { startStandalone } from '../../../test/servers/redis.ts';
import { until } from '../../../test/servers/until.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { getUrlPort, startHaproxy } from '../../chaos/processes/haproxy.ts';
import { computeMedian, computeMedianRatio, createFigureMaker, type Figure } from '../figure.ts';
import { type LoadResult, runLoad } from '../load.ts';
import { type MeasuredProcess, startMeasuredProcess } from '../measured-process.ts';
import type { BenchPlan } from '../plan.ts';

const figure = createFigureMaker('processes');

const COUNTS = [1, 2, 4] as const;

const CONNECTIONS = 64;

/**
 * Measures the verdicts a second of 1, 2 and 4 processes on one Redis, in turn. Each of these groups of processes is
 * behind a HAProxy of its own, as it is packaged.
 */
export async function measureProcesses(plan: BenchPlan): Promise<readonly Figure[]> {
  const { rounds, seconds, dataDir, onProgress } = plan;
  const redis = await startStandalone();
  const nodes: { readonly process: MeasuredProcess; readonly ports: readonly [number, number] }[] = [];
  const proxies: Awaited<ReturnType<typeof startHaproxy>>[] = [];
  try {
    const accessKey = await issueKey({ dataDir, redisUrl: redis.url });
    while (nodes.length < Math.max(...COUNTS)) {
      const platformPort = await freePort();
      const process = await startMeasuredProcess('src/main.ts', {
        DATA_DIR: join(dataDir, `process-${nodes.length}`),
        PLATFORM_PORT: String(platformPort),
        REDIS_URL: redis.url,
        ARCHIVE_DIR: 'off',
        TRUSTED_PROXIES: '1',
      });
      nodes.push({ process, ports: [getUrlPort(process.url), platformPort] });
    }
    const ports = nodes.map((node) => node.ports);
    for (const count of COUNTS) proxies.push(await startHaproxy(ports.slice(0, count)));
    for (const { url } of proxies)
      await until('the proxy has found its nodes', () =>
        fetch(`${url}/openapi.json`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
    const results = proxies.map((): LoadResult[] => []);
    // Round 0 warms everything up and is not counted.
    for (let round = 0; round <= rounds; round++)
      for (const [index, { url }] of proxies.entries()) {
        onProgress(`processes: round ${round} of ${rounds}, ${COUNTS[index]}`);
        const result = await runLoad({ url, accessKey, connections: CONNECTIONS, seconds, rate: null });
        if (round > 0) results[index]?.push(result);
      }
    return processesFigures(results);
  } finally {
    await Promise.all(proxies.map(({ child }) => end(child)));
    for (const { process } of nodes) await process.stop();
    await redis.stop();
  }
}

/** `results` holds, for each number of processes, the results of its rounds. */
function processesFigures(results: readonly (readonly LoadResult[])[]): readonly Figure[] {
  const perSecond = results.map((rounds) => rounds.map((result) => result.perSecond));
  const failures = results.flat().reduce((sum, result) => sum + result.failures, 0);
  return [
    ...COUNTS.slice(1).map((count, index) =>
      figure(
        `${count} processes / 1`,
        computeMedianRatio(perSecond[index + 1] ?? [], perSecond[0] ?? []),
        'x',
      ),
    ),
    ...COUNTS.map((count, index) =>
      figure(`verdicts a second, processes: ${count}`, computeMedian(perSecond[index] ?? []), '/s'),
    ),
    figure('requests that failed', failures, '', { atMost: 0 }),
  ];
}
