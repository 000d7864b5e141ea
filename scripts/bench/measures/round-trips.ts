import { once } from 'node:events';
import { connect } from 'node:net';
import { verdictBody } from '../../../test/service/request-bodies.ts';
import { createFigureMaker, type Figure } from '../figure.ts';
import { readRedisInfo } from '../filled-redis.ts';
import { startMeasuredProcess } from '../measured-process.ts';
import type { MeasuredServerSettings } from './cost.ts';

const figure = createFigureMaker('cost');

const VERDICTS = 500;

/** Commands that a connection sends even without verdicts. */
const UPKEEP = /^\+\S+ \[\d+ [^\]]+\] "(?:PING|HELLO|CLIENT|INFO|SELECT|MONITOR)"/i;

/**
 * Measures the Redis commands and round trips per verdict. The Redis server counts them while one verdict at a time
 * is asked for.
 */
export async function measureRoundTrips(place: MeasuredServerSettings): Promise<readonly Figure[]> {
  const { redisUrl, redisPort, dataDir, accessKey } = place;
  const service = await startMeasuredProcess('src/main.ts', { DATA_DIR: dataDir, REDIS_URL: redisUrl });
  try {
    await askVerdicts(service.url, accessKey, 'warm', 20);
    const monitor = await startMonitor(redisPort);
    const readsBefore = await readsProcessed(redisPort);
    await askVerdicts(service.url, accessKey, 'counted', VERDICTS);
    const reads = (await readsProcessed(redisPort)) - readsBefore;
    const lines = await monitor.stop();
    return [
      figure('Redis commands a verdict', toTenths(countMonitoredCommands(lines) / VERDICTS), '', {
        atMost: 5,
      }),
      figure('Redis round trips a verdict', toTenths(reads / VERDICTS), '', { atMost: 3 }),
    ];
  } finally {
    await service.stop();
  }
}

/** Counts the MONITOR lines that a client sent for verdicts, without calls inside scripts. */
export function countMonitoredCommands(lines: readonly string[]): number {
  return lines.filter(
    (line) => line.startsWith('+') && line !== '+OK' && !line.includes(' lua] ') && !UPKEEP.test(line),
  ).length;
}

/** Rounds away the hundredths that come from the upkeep of connections and from reading keys again. */
function toTenths(value: number): number {
  return Math.round(value * 10) / 10;
}

async function askVerdicts(url: string, accessKey: string, prefix: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const name = `${prefix}-${index}`;
    const answer = await fetch(`${url}/v1/client/verdict`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-KA-Access-Key': accessKey },
      body: JSON.stringify(verdictBody({ clientIdKey: name, orderRef: name })),
    });
    if (!answer.ok) throw new Error(`a verdict was answered with ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}

/** Returns how often the server read from any client. With one verdict at a time, it reads once per round trip. */
async function readsProcessed(port: number): Promise<number> {
  return (await readRedisInfo(port, 'stats')).figure('total_reads_processed');
}

async function startMonitor(port: number): Promise<{ stop(): Promise<readonly string[]> }> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  return {
    stop: async () => {
      socket.end();
      await once(socket, 'close');
      return text.split('\r\n');
    },
  };
}
