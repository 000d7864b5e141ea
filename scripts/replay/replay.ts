import { isAttempt } from '#decision/conclude-verdict.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { Outcome } from '#decision/payer/order.ts';
import type { CsvMapping } from './csv-payments.ts';
import { Driver, type OperationCounts, UnexpectedAnswer } from './driver.ts';
import type { Observation } from './observation.ts';
import {
  type BadLine,
  type RecordedEvent,
  type RecordedHistory,
  type RecordedPayment,
  readRecordedHistory,
} from './recorded-payments.ts';
import {
  type MovableClock,
  type ReplayedService,
  type ReplayedTimeSpan,
  withReplayedService,
} from './replayed-service.ts';

/** The result of a replay. */
export interface ReplayResult {
  readonly time: ReplayedTimeSpan;
  readonly observations: readonly Observation[];
  /** The lines that were left out because they are bad or the service refused them. */
  readonly badLines: readonly BadLine[];
  readonly operationCounts: OperationCounts;
  readonly ruleVersion: string;
  readonly digest: string;
  readonly storeName: string;
  /** The time from the first request to the last answer, in ms. */
  readonly elapsedMs: number;
}

export interface ReplayOptions {
  /** The settings of the service, of which REDIS_URL, RULES_DIR and RULE_VERSION are used. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder in which the store is kept afterwards. Null means a temporary folder that is removed. */
  readonly dataDir: string | null;
  /** How a CSV file names its members. Absent when it uses the names of the record. */
  readonly mapping?: CsvMapping;
  /** The platform on which the payments are replayed. Absent means one of its own. */
  readonly platform?: PlatformName;
  /** Ends the replay after the current request. */
  readonly signal: AbortSignal;
  /** Called with the number of events that were replayed, and the number of all events. */
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Replays a file of recorded payments. Payments, outcomes and bindings are sent in the order of time, and a payment is
 * sent as a score and then a verdict. Before an event is sent, the service's clock is set to the event's time. An
 * order that was refused is reported as abandoned. Requests are sent one at a time, so the clock never moves during a
 * request, and equal files give equal results.
 *
 * Throws InputError, UnexpectedAnswer, the reason of `signal`, and what the start of the service throws.
 */
export async function replay(
  path: string,
  { env, dataDir, mapping, platform, signal, onProgress }: ReplayOptions,
): Promise<ReplayResult> {
  const history = await readRecordedHistory(path, mapping);
  const { events } = history;
  const time = { firstAt: events[0]?.at ?? 0, lastAt: events.at(-1)?.at ?? 0 };
  const clock: MovableClock = { now: time.firstAt };
  return withReplayedService({ env, dataDir, platform }, clock, time, async (service) => {
    const driver = new Driver(service);
    const replayer = new Replayer(path, driver, history);
    const startedMs = performance.now();
    for (const [done, event] of events.entries()) {
      signal.throwIfAborted();
      clock.now = event.at;
      await replayer.replay(event);
      onProgress(done + 1, events.length);
    }
    const elapsedMs = performance.now() - startedMs;
    return {
      time,
      ...replayer.seen,
      operationCounts: driver.operationCounts,
      elapsedMs,
      ...namesOf(service),
    };
  });
}

function namesOf({ rules, storeName }: ReplayedService) {
  return { ruleVersion: rules.version, digest: rules.digest, storeName };
}

/** The status with which the service refuses a bad line, which is then left out. */
const MALFORMED = 400;

/** The platform's report about an order that got no requisite. */
const ABANDONED = { outcome: 'UNPAID', cause: 'EXPIRED' } as const;

/** Sends the events to the service, and keeps its answers. */
class Replayer {
  readonly #path: string;
  readonly #driver: Driver;
  readonly #ends: ReadonlyMap<string, Outcome | null>;
  readonly #observations: Observation[] = [];
  readonly #badLines: BadLine[];
  readonly #badPayments = new Set<number>();
  /** What became of each requested order so far. */
  readonly #orders = new Map<string, 'refused' | 'abandoned' | 'granted'>();

  constructor(path: string, driver: Driver, { events, badLines }: RecordedHistory) {
    this.#path = path;
    this.#driver = driver;
    this.#badLines = [...badLines];
    this.#ends = findOutcomes(events);
  }

  get seen(): Pick<ReplayResult, 'observations' | 'badLines'> {
    return { observations: this.#observations, badLines: this.#badLines };
  }

  async replay(event: RecordedEvent): Promise<void> {
    // When a payment was left out, the outcome in its line is left out, too.
    if (this.#badPayments.has(event.line)) return;
    try {
      await this.#send(event);
    } catch (error) {
      if (!(error instanceof UnexpectedAnswer) || error.status !== MALFORMED) throw error;
      this.#badLines.push(`${this.#path}:${event.line}: ${error.message}`);
      if (event.kind === 'payment') this.#badPayments.add(event.line);
    }
  }

  async #send(event: RecordedEvent): Promise<void> {
    switch (event.kind) {
      case 'payment':
        return this.#pay(event);
      case 'outcome': {
        const order = getOrderKey(event);
        const came = this.#orders.get(order);
        // An order without a requisite cannot have been paid or reversed, whatever is recorded.
        if (came === 'abandoned') return;
        if (came !== 'refused') return this.#driver.reportOutcome(event);
        this.#orders.set(order, 'abandoned');
        return this.#driver.reportOutcome({ ...event, ...ABANDONED });
      }
      case 'binding':
      case 'unbinding':
        return this.#driver.bind(event);
      default:
        return event satisfies never;
    }
  }

  async #pay(payment: RecordedPayment): Promise<void> {
    const { clientGroup, paymentScore, isBot } = await this.#driver.score(payment);
    const { answer, decisionId } = await this.#driver.verdict(payment);
    const waited = answer.verdict === 'WAIT' ? await this.#driver.decision(decisionId) : null;
    const order = getOrderKey(payment);
    const before = this.#orders.get(order);
    this.#observations.push({
      clientIdKey: payment.clientIdKey,
      clientGroup,
      paymentScore: Number(paymentScore),
      hasUserAgent: payment.userAgent !== null,
      isBotAtScore: isBot,
      verdict: answer.verdict,
      isBotAtVerdict: answer.isBot,
      waitLevel: waited?.ladderAfter.level ?? null,
      outcome: this.#ends.get(order) ?? null,
      isFirst: before === undefined,
      abuse: payment.abuse,
    });
    this.#orders.set(order, isAttempt(answer.verdict) ? 'granted' : (before ?? 'refused'));
  }
}

/** Returns the outcome of each order by its last report. The outcome is unknown after a technical failure. */
function findOutcomes(events: readonly RecordedEvent[]): ReadonlyMap<string, Outcome | null> {
  const ends = new Map<string, Outcome | null>();
  for (const event of events)
    if (event.kind === 'outcome')
      ends.set(getOrderKey(event), event.cause === 'TECHNICAL' ? null : event.outcome);
  return ends;
}

function getOrderKey({ clientIdKey, orderRef }: { readonly clientIdKey: string; readonly orderRef: string }) {
  return JSON.stringify([clientIdKey, orderRef]);
}
