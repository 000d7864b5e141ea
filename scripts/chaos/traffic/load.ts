import { setTimeout as delay } from 'node:timers/promises';
import { stoodStillMs } from '../../../test/servers/standstill.ts';
import { KeepAliveConnection, type RawAnswerOrFailure } from './keep-alive.ts';
import { formatVerdictRequest, type LoadRequest, type ServiceAccess } from './requests.ts';

/** The result of one request. Times are in ms of `performance.now()`. */
export interface Sample extends LoadRequest {
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  /** The status. Null means unknown, because the connection broke or the generator gave up. */
  readonly status: number | null;
  readonly decisionId: string | null;
  /** The detail of an answer other than 200. */
  readonly refusal: string | null;
}

interface LoadSettings {
  readonly target: ServiceAccess;
  readonly connections: number;
  /**
   * The rate at which requests are due, however fast they are answered. Null means that a connection sends its next
   * request when the last one is answered.
   */
  readonly ratePerSecond: number | null;
  /** Whether each verdict has its orderRef as Idempotency-Key. Absent means no. */
  readonly idempotent?: boolean;
  /** The longest wait for an answer, in ms. 10 s by default. */
  readonly timeoutMs?: number;
  /** Returns the n-th request, counted from 0. */
  readonly ask: (n: number) => LoadRequest;
  /** The largest number of samples, which bounds the memory. The load sends no more requests after that. */
  readonly samplesMax?: number;
}

const TICK_MS = 2;
const RECONNECT_MS = 20;
const TIMEOUT_MS = 10_000;
const SAMPLES_MAX = 500_000;

/** Asks for verdicts over keep-alive connections until it is stopped, and keeps the result of each. */
export class LoadGenerator {
  readonly samples: Sample[] = [];
  /** The number of requests that were due while every connection was still waiting for an answer. */
  skipped = 0;
  readonly #settings: LoadSettings;
  readonly #idle: KeepAliveConnection[];
  readonly #all: readonly KeepAliveConnection[];
  readonly #startedMs = performance.now();
  readonly #ticker: NodeJS.Timeout;
  readonly #underWay = new Set<Promise<void>>();
  #issued = 0;
  #stopped = false;

  constructor(settings: LoadSettings) {
    this.#settings = settings;
    this.#all = Array.from(
      { length: settings.connections },
      () => new KeepAliveConnection(settings.target.callerUrl),
    );
    this.#idle = [...this.#all];
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
  }

  /** Starts no more requests and waits for those under way. */
  async stop(): Promise<readonly Sample[]> {
    this.#stopped = true;
    clearInterval(this.#ticker);
    await Promise.all(this.#underWay);
    for (const connection of this.#all) connection.close();
    return this.samples;
  }

  #tick(): void {
    this.#pump();
    const late = this.#due();
    if (!Number.isFinite(late)) return;
    this.skipped += late;
    this.#issued += late;
  }

  #due(): number {
    const { ratePerSecond } = this.#settings;
    if (ratePerSecond === null) return Number.POSITIVE_INFINITY;
    const elapsedSeconds = (performance.now() - this.#startedMs) / 1000;
    return Math.max(0, Math.floor(elapsedSeconds * ratePerSecond) - this.#issued);
  }

  #pump(): void {
    const { samplesMax = SAMPLES_MAX } = this.#settings;
    while (!this.#stopped && this.samples.length < samplesMax && this.#due() > 0) {
      const connection = this.#idle.pop();
      if (connection === undefined) return;
      const sent = this.#send(connection, this.#settings.ask(this.#issued++));
      this.#underWay.add(sent);
      sent.finally(() => this.#underWay.delete(sent));
    }
  }

  async #send(connection: KeepAliveConnection, ask: LoadRequest): Promise<void> {
    const { target, idempotent = false, timeoutMs = TIMEOUT_MS } = this.#settings;
    const sentAtMs = performance.now();
    const exchange = await connection.ask(formatVerdictRequest(target, ask, idempotent), timeoutMs);
    if (exchange === 'not sent') await delay(RECONNECT_MS);
    else this.samples.push(createSample(ask, sentAtMs, exchange));
    this.#idle.push(connection);
    this.#pump();
  }
}

/** Asks for one verdict on a given connection. */
export async function askForVerdict(
  connection: KeepAliveConnection,
  target: ServiceAccess,
  ask: LoadRequest,
  idempotent: boolean,
  timeoutMs: number,
): Promise<Sample> {
  const sentAtMs = performance.now();
  const exchange = await connection.ask(formatVerdictRequest(target, ask, idempotent), timeoutMs);
  return createSample(ask, sentAtMs, exchange);
}

function createSample(ask: LoadRequest, sentAtMs: number, exchange: RawAnswerOrFailure): Sample {
  const answered = typeof exchange === 'string' ? null : exchange;
  return {
    ...ask,
    sentAtMs,
    answeredAtMs: performance.now(),
    status: answered?.status ?? null,
    decisionId: answered?.headers.get('x-decision-id') ?? null,
    refusal: answered === null || answered.status === 200 ? null : readDetail(answered.body),
  };
}

/** Returns the detail of a refusal, and null for an answer of a proxy. */
function readDetail(body: string): string | null {
  if (!body.startsWith('{')) return null;
  const { detail }: { detail?: unknown } = JSON.parse(body);
  return String(detail);
}

const ADDRESSES = 500;

/**
 * Returns a function that creates the n-th request. The payers ask in turn, each time for a new order, from 500
 * addresses of a network.
 */
export function createLoadRequestFactory(
  payers: number,
  prefix = '',
  network = 0,
): (n: number) => LoadRequest {
  return (n) => ({
    clientIdKey: `${prefix}payer-${n % payers}`,
    orderRef: `${prefix}order-${n}`,
    address: `10.${network}.${(n % ADDRESSES) >> 8}.${(n % ADDRESSES) & 255}`,
  });
}

/** Returns the requests without an answer of 200. */
export function selectFailed(samples: readonly Sample[]): readonly Sample[] {
  return samples.filter(({ status }) => status !== 200);
}

/** Returns the value below which `percent` of the values are. NaN without values. */
export function computePercentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

/** Returns a percentile of the durations of requests, in ms. NaN without requests. */
export function computeLatencyPercentile(samples: readonly Sample[], percent: number): number {
  return computePercentile(
    samples.map(({ sentAtMs, answeredAtMs }) => answeredAtMs - sentAtMs),
    percent,
  );
}

const LIGHT_LOAD = { ratePerSecond: 100, connections: 16, ask: createLoadRequestFactory(500) };

/** The verdicts during some work, and the result of the work. */
interface During<T> {
  readonly samples: readonly Sample[];
  readonly result: T;
}

/** Keeps a light load on a node, 100 verdicts a second, until the work is done. */
export async function runUnderLoad<T>(target: ServiceAccess, work: () => Promise<T>): Promise<During<T>> {
  const load = new LoadGenerator({ target, ...LIGHT_LOAD });
  const result = await work();
  return { samples: await load.stop(), result };
}

const FILLING_LOAD = { ratePerSecond: null, connections: 32, ask: createLoadRequestFactory(50) };
const LOOK_MS = 50;

/** Asks for `count` verdicts as fast as the service answers. */
export async function askManyVerdicts(target: ServiceAccess, count: number): Promise<readonly Sample[]> {
  const load = new LoadGenerator({ target, ...FILLING_LOAD, samplesMax: count });
  while (load.samples.length < count) await delay(LOOK_MS);
  return load.stop();
}

/**
 * Returns the duration of the slowest answer in ms. From an answer that took longer than the limit, the time in which
 * this machine stalled is subtracted. `watchStandstills` must have been called before.
 */
export function computeSlowestWithoutStallsMs(
  samples: readonly Pick<Sample, 'sentAtMs' | 'answeredAtMs'>[],
  limitMs: number,
): number {
  return Math.max(0, ...samples.map((sample) => measureUsableMs(sample, limitMs)));
}

function measureUsableMs(
  { sentAtMs, answeredAtMs }: Pick<Sample, 'sentAtMs' | 'answeredAtMs'>,
  limitMs: number,
): number {
  const tookMs = answeredAtMs - sentAtMs;
  return tookMs <= limitMs ? tookMs : tookMs - stoodStillMs(sentAtMs, answeredAtMs);
}
