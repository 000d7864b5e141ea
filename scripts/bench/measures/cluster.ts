import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from '../../../test/servers/redis.ts';
import { issueKey } from '../../../test/service/issued-key.ts';
import { type Figure, figuresOf } from '../figure.ts';
import { redisInfo } from '../filled-redis.ts';
import { type LoadTool, runLoad } from '../load.ts';
import { startMeasured } from '../measured-process.ts';
import { OPEN_SERVICE } from './cost.ts';

const figure = figuresOf('cluster');

export interface ClusterPlan {
  readonly tool: LoadTool;
  readonly seconds: number;
  readonly dataDir: string;
  readonly onProgress: (text: string) => void;
}

const MASTERS = 3;

/** Few, because six servers, the service and the load share the machine, and the service would refuse more. */
const CONNECTIONS = 8;

/** Longer than elsewhere by this factor: with few verdicts the masters would differ by chance alone. */
const LOADS = 5;

/** Each address has its own bucket, on one of the masters. */
const CALLER_ADDRESSES = 3000;

/** What one master has done since its start. */
interface Work {
  readonly commands: number;
  readonly bytes: number;
}

/** How evenly the verdicts of new clients are spread over the masters of a cluster. */
export async function measureCluster(plan: ClusterPlan): Promise<readonly Figure[]> {
  const dataDir = join(plan.dataDir, 'cluster');
  mkdirSync(dataDir);
  const redis = await startCluster();
  const ports = redis.nodes.slice(0, MASTERS).map(({ port }) => port);
  try {
    const accessKey = await issueKey({ redisUrl: redis.url, dataDir });
    const service = await startMeasured('src/main.ts', {
      ...OPEN_SERVICE,
      DATA_DIR: dataDir,
      REDIS_URL: redis.url,
      SIGNAL_SECRET: 'a secret of the bench, long enough',
      TRUSTED_PROXIES: '1',
    });
    const ask = (callerAddresses: number, seconds: number) => {
      const load = { url: service.url, accessKey, connections: CONNECTIONS, seconds, rate: null };
      return runLoad(plan.tool, { ...load, callerAddresses });
    };
    try {
      plan.onProgress('cluster: warming up');
      await ask(CALLER_ADDRESSES, plan.seconds);
      const figures: Figure[] = [];
      for (const [callers, count] of [
        ['many caller addresses', CALLER_ADDRESSES],
        ['one caller address', 1],
      ] as const) {
        plan.onProgress(`cluster: ${callers}`);
        const before = await Promise.all(ports.map(workOf));
        const { requests, failures } = await ask(count, plan.seconds * LOADS);
        const after = await Promise.all(ports.map(workOf));
        figures.push(
          ...shareFigures(callers, before, after, count > 1),
          figure(`${callers}: verdicts`, requests, ''),
          figure(`${callers}: requests that failed`, failures, '', { atMost: 0 }),
        );
      }
      return figures;
    } finally {
      await service.stop();
    }
  } finally {
    await redis.stop();
  }
}

/** The largest distance of a master from an even share. */
function shareFigures(
  callers: string,
  before: readonly Work[],
  after: readonly Work[],
  hasTarget: boolean,
): readonly Figure[] {
  return (['commands', 'bytes'] as const).map((kind) => {
    const done = after.map((work, index) => work[kind] - (before[index]?.[kind] ?? 0));
    const total = done.reduce((sum, value) => sum + value, 0);
    const shares = done.map((value) => (100 * value) / total);
    const offEven = Math.max(...shares.map((share) => Math.abs((share * done.length) / 100 - 1)));
    const name = `${callers}: farthest master from an even share of ${kind}`;
    return figure(name, 100 * offEven, '%', hasTarget ? { atMost: 5 } : null);
  });
}

/** Without the traffic to replicas. */
async function workOf(port: number): Promise<Work> {
  const { figure: info } = await redisInfo(port);
  const received = info('total_net_input_bytes') - info('total_net_repl_input_bytes');
  const sent = info('total_net_output_bytes') - info('total_net_repl_output_bytes');
  return {
    commands: info('total_commands_processed'),
    bytes: received + sent,
  };
}
