import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LocalRateBuckets } from '../../../src/state/rate-buckets.ts';
import { atMost, type Figure, never, of, reported } from '../figure.ts';
import { type ServiceNode, startServiceNode } from '../processes/service-node.ts';
import type { Scenario, ScenarioRun } from '../scenario.ts';
import { KeepAliveConnection } from '../traffic/keep-alive.ts';
import { scoreRequest } from '../traffic/requests.ts';

const VALUES = 10_000;
const RATE_PER_SECOND = 20;
const BURST = 20;
/** Sent at once on a socket; the service drops the socket when more than 40 wait. */
const AT_ONCE = 200;
const ONE_BY_ONE = 300;
const QUICK_ONE_BY_ONE = 100;
const TIMEOUT_MS = 10_000;
const BUCKETS = 1_000_000;
const MIB = 1024 * 1024;
/** What the proxy in front of the service saw. */
const REAL_ADDRESS = '203.0.113.9';

/** How many requests of a forger got through, and in what time. */
interface Forged {
  readonly sent: number;
  readonly answered: number;
  readonly tookMs: number;
}

type HeaderOf = (n: number) => string;

export const forgedAddresses: Scenario = {
  name: 'forged-addresses',
  does: '10,000 invented X-Forwarded-For values from one address: they share one bucket, and the table of buckets stays bounded',
  limitSeconds: 240,
  run: async (run) => [
    ...of('no proxy', await forge('0', forgedAddress, run)),
    ...of('behind a proxy', await forge('1', (n) => `${forgedAddress(n)}, ${REAL_ADDRESS}`, run)),
    ...(await aroundTheProxy(run)),
    ...(await tableOfBuckets()),
  ],
};

/** An attacker behind a correctly set proxy: all values are of one caller. */
async function forge(
  trustedProxies: string,
  header: HeaderOf,
  { quick, report }: ScenarioRun,
): Promise<readonly Figure[]> {
  const service = await startLimited(trustedProxies);
  const patient = await oneByOne(service, header, quick ? QUICK_ONE_BY_ONE : ONE_BY_ONE);
  const flood = await floodWith(service, header);
  report(`${flood.answered} of ${flood.sent} answered in ${Math.round(flood.tookMs)} ms`);
  return [
    atMost(
      `answers to ${patient.sent} values one by one on one socket`,
      patient.answered,
      mostAnswers(patient),
    ),
    atMost(`answers to ${flood.sent} values at once, reconnecting`, flood.answered, mostAnswers(flood)),
    never(`service crashed`, service.isRunning() ? 0 : 1),
  ];
}

/** Trusting a proxy that is not there lets every caller write its own address: a mistake nobody can see. */
async function aroundTheProxy({ quick }: ScenarioRun): Promise<readonly Figure[]> {
  const service = await startLimited('1');
  const { sent, answered } = await oneByOne(service, forgedAddress, quick ? QUICK_ONE_BY_ONE : ONE_BY_ONE);
  return [
    reported(
      'TRUSTED_PROXIES=1 without a proxy: answered',
      `${answered} of ${sent} (each value is its own bucket)`,
    ),
  ];
}

/** The same table as the service's, without the network between. */
async function tableOfBuckets(): Promise<readonly Figure[]> {
  const settings = { ratePerSecond: RATE_PER_SECOND, burst: BURST, delayMsMax: 2000 };
  const buckets = new LocalRateBuckets(() => performance.now());
  const beforeBytes = heapBytes();
  for (let n = 0; n < BUCKETS; n++) await buckets.take(`bucket-${n}`, settings);
  const grownMib = (heapBytes() - beforeBytes) / MIB;
  // Used once more, so that it is still alive when it is measured.
  await buckets.take('last', settings);
  return [atMost(`memory of the table after ${BUCKETS} forged buckets`, grownMib, 50, 'MiB')];
}

/** What is left after a collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}

/** What one bucket lets through meanwhile: its burst, then its rate; one more for the moment of starting. */
function mostAnswers({ tookMs }: Pick<Forged, 'tookMs'>): number {
  return BURST + Math.ceil((tookMs / 1000) * RATE_PER_SECOND) + 1;
}

/** Each value after the answer to the one before: never dropped, and never faster than the bucket. */
async function oneByOne(service: ServiceNode, header: HeaderOf, values: number): Promise<Forged> {
  const connection = new KeepAliveConnection(service.callerUrl);
  const startedMs = performance.now();
  let answered = 0;
  for (let n = 0; n < values; n++) {
    const exchange = await connection.ask(requestFrom(service, header(n)), TIMEOUT_MS);
    if (typeof exchange !== 'string') answered++;
  }
  connection.close();
  return { sent: values, answered, tookMs: performance.now() - startedMs };
}

/** All values as fast as possible, without waiting for answers; a dropped socket is opened again. */
async function floodWith(service: ServiceNode, header: HeaderOf): Promise<Forged> {
  const startedMs = performance.now();
  let answered = 0;
  for (let sent = 0; sent < VALUES; sent += AT_ONCE) {
    const requests = Array.from({ length: AT_ONCE }, (_, n) => requestFrom(service, header(sent + n)));
    answered += countAnswers(await sendAtOnce(service.callerUrl, requests.join('')));
  }
  return { sent: VALUES, answered, tookMs: performance.now() - startedMs };
}

/** Gives whatever comes back until the service drops the socket. */
function sendAtOnce(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
  socket.on('error', () => {
    // A reset is how a dropped connection looks from here.
  });
  socket.once('close', () => resolve(text));
  socket.write(bytes);
  return promise;
}

function countAnswers(text: string): number {
  return text.match(/^HTTP\/1\.1 \d{3} /gm)?.length ?? 0;
}

function requestFrom(service: ServiceNode, forwardedFor: string): string {
  return scoreRequest(service, 'payer-1', [`X-Forwarded-For: ${forwardedFor}`]);
}

/** A different public address for each number. */
function forgedAddress(n: number): string {
  return `11.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

function startLimited(trustedProxies: string): Promise<ServiceNode> {
  return startServiceNode({
    env: {
      RATE_LIMIT_PER_SECOND: String(RATE_PER_SECOND),
      RATE_LIMIT_BURST: String(BURST),
      TRUSTED_PROXIES: trustedProxies,
    },
  });
}
