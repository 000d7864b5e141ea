import { isGrant } from '#decision/conclude-verdict.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { Outcome } from '#decision/payer/order.ts';
import type { CsvMapping } from './csv-payments.ts';
import { Driver, UnexpectedAnswer, type Use } from './driver.ts';
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
  type ReplayedTime,
  withReplayedService,
} from './replayed-service.ts';

/** The result of a replay. */
export interface Replay {
  readonly time: ReplayedTime;
  readonly observations: readonly Observation[];
  /** Lines that were left out because they are bad or the service refused them. */
  readonly badLines: readonly BadLine[];
  readonly use: Use;
  readonly ruleVersion: string;
  readonly digest: string;
  readonly storeName: string;
  /** From the first request to the last answer. */
  readonly elapsedMs: number;
}

export interface ReplayOptions {
  /** The settings of the service; REDIS_URL, RULES_DIR and RULE_VERSION matter here. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the store is kept afterwards; null means in a temporary folder that is removed. */
  readonly dataDir: string | null;
  /** How a CSV file names what it holds; absent: as the record does. */
  readonly mapping?: CsvMapping;
  /** Where it happens; absent: on one of its own. */
  readonly platform?: PlatformName;
  /** Ends the replay after the request that is under way. */
  readonly signal: AbortSignal;
  /** Called with the number of events that were replayed, and of all. */
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Replays a file of recorded payments: each attempt as score and then verdict, each outcome and binding when it became
 * known, with the service's clock at that moment. An order that was refused is reported as abandoned. One request at a
 * time, so the clock never moves under a request and equal files give equal results.
 *
 * Throws InputError, UnexpectedAnswer, the reason of `signal`, and what the start of the service throws.
 */
export async function replay(
  path: string,
  { env, dataDir, mapping, platform, signal, onProgress }: ReplayOptions,
): Promise<Replay> {
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
    return { time, ...replayer.seen, use: driver.use, elapsedMs, ...namesOf(service) };
  });
}

function namesOf({ rules, storeName }: ReplayedService) {
  return { ruleVersion: rules.version, digest: rules.digest, storeName };
}

/** The service refused this line, which is left out. */
const MALFORMED = 400;

/** A platform's report for an order without a requisite. */
const ABANDONED = { outcome: 'UNPAID', cause: 'EXPIRED' } as const;

/** Sends the events to the service, and keeps its answers. */
class Replayer {
  readonly #path: string;
  readonly #driver: Driver;
  readonly #ends: ReadonlyMap<string, Outcome | null>;
  readonly #observations: Observation[] = [];
  readonly #badLines: BadLine[];
  readonly #badPayments = new Set<number>();
  /** How far each requested order came. */
  readonly #orders = new Map<string, 'refused' | 'abandoned' | 'granted'>();

  constructor(path: string, driver: Driver, { events, badLines }: RecordedHistory) {
    this.#path = path;
    this.#driver = driver;
    this.#badLines = [...badLines];
    this.#ends = endsOf(events);
  }

  get seen(): Pick<Replay, 'observations' | 'badLines'> {
    return { observations: this.#observations, badLines: this.#badLines };
  }

  async replay(event: RecordedEvent): Promise<void> {
    // The outcome in a payment's line is left out with the payment.
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
        const order = orderKey(event);
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
    const order = orderKey(payment);
    const before = this.#orders.get(order);
    this.#observations.push({
      clientIdKey: payment.clientIdKey,
      clientGroup,
      paymentScore: Number(paymentScore),
      isBotAtScore: isBot,
      verdict: answer.verdict,
      isBotAtVerdict: answer.isBot,
      waitLevel: waited?.ladderAfter.level ?? null,
      outcome: this.#ends.get(order) ?? null,
      isFirst: before === undefined,
      abuse: payment.abuse,
    });
    this.#orders.set(order, isGrant(answer.verdict) ? 'granted' : (before ?? 'refused'));
  }
}

/** The outcome by the last report of each order; unknown after a technical failure. */
function endsOf(events: readonly RecordedEvent[]): ReadonlyMap<string, Outcome | null> {
  const ends = new Map<string, Outcome | null>();
  for (const event of events)
    if (event.kind === 'outcome')
      ends.set(orderKey(event), event.cause === 'TECHNICAL' ? null : event.outcome);
  return ends;
}

function orderKey({ clientIdKey, orderRef }: { readonly clientIdKey: string; readonly orderRef: string }) {
  return JSON.stringify([clientIdKey, orderRef]);
}
