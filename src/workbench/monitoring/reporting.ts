import { Type } from '#base/json-schema.ts';
import { count, epochMs, named, nullable, shape, type ValueOf, yesNo } from '#base/shapes.ts';
import type { ReportingListener, RequestCountLabel } from '#checkout/metrics/reporting-listener.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, toShortHash, type VerdictEvent } from '#decision/payer/client-state.ts';
import { PLATFORM_SILENCE_LIMITS } from '#decision/payer/platform-silence.ts';
import { mapSums } from '#history/statistics/sums.ts';
import type { Registers } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import {
  addHintCounts,
  countHint,
  type HintCounts,
  SentHintsSchema,
  summarizeSentHints,
} from './sent-hints.ts';

export const ReportingSchema = named(
  'Reporting',
  shape(
    'What the platform sends, as all nodes see it: whether it still reports outcomes, and what it tells of payers',
    {
      hints: SentHintsSchema,
      newestAt: nullable(epochMs('The time of the newest report; null: there never was one')),
      usualMs: nullable(
        Type.Number({
          description:
            'Within so many milliseconds after the grant 95 % of the reports usually come, to within a quarter; null where hardly any came',
        }),
      ),
      awaited: count('Orders that were granted after the newest report'),
      awaitedSince: nullable(epochMs('The time when the first of them was granted; null without any')),
      unreportedShare: nullable(
        Type.Number({
          description:
            'The share of orders of which nothing was reported, from 0 to 1, among those granted within a week and longer ago than that time',
        }),
      ),
      stopped: yesNo(
        'The platform usually reports, and told nothing of 50 or more orders for three times as long as it usually takes',
      ),
    },
  ),
);

export type Reporting = ValueOf<typeof ReportingSchema>;

const HOUR_MS = 3_600_000;
/** The hours of a week. */
const HOURS_MAX = 168;
const GROWTH = 1.25;
/**
 * If there are more delays, the counts of the older ones are halved, so that the usual time is that of recent
 * reports.
 */
const DELAYS_MAX = 10_000;
/** The most platforms that are watched, so that memory is limited. */
const PLATFORMS_MAX = 200;
const SHARED_EVERY_MS = 60_000;
const TRIES_MAX = 5;

/** What was observed of the reports and requests of a platform. Times are in epoch ms. */
interface Seen {
  newestAt: number | null;
  /** How many orders were granted after the newest report, and when the first of them was granted. */
  awaited: number;
  awaitedSince: number | null;
  /** The number of first reports by their delay after the attempt, in steps that grow by the factor GROWTH. */
  readonly delays: Record<string, number>;
  /**
   * The number of orders by the hour in which they were first granted a requisite, and the number of first reports on
   * them.
   */
  readonly hours: Record<string, [granted: number, reported: number]>;
  hints: HintCounts;
}

interface ReportingParts {
  readonly registers: Pick<Registers, 'read' | 'compareAndSet'>;
  /** The time in epoch ms. */
  readonly clock: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** Watches, together with the other nodes, which outcomes platforms report and which fields about payers they send. */
export class ReportingWatch implements ReportingListener {
  readonly #parts: ReportingParts;
  /** The observations of this node that it has not shared yet. */
  readonly #own = new Map<PlatformName, Seen>();
  /** The observations of all nodes, as this node last read them. */
  readonly #shared = new Map<PlatformName, Seen>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ReportingParts) {
    this.#parts = parts;
  }

  /** Starts sharing this node's observations, once a minute. */
  start(): void {
    this.#timer ??= setInterval(() => this.share().catch(this.#parts.onTrouble), SHARED_EVERY_MS).unref();
  }

  /** Notes that a verdict granted a requisite. `state` is the client's state after the verdict. */
  granted(platform: PlatformName, { events }: ClientState): void {
    const asked = events.at(-1);
    const own = this.#seenOf(platform);
    if (asked === undefined || own === null || findFirstGrant(events, asked.order) !== asked) return;
    own.awaited++;
    own.awaitedSince ??= asked.at;
    getHour(own, asked.at)[0]++;
  }

  /** Notes that an outcome was reported. `state` is the client's state before the report. */
  reported(platform: PlatformName, { events }: ClientState, orderRef: string, now: number): void {
    const own = this.#seenOf(platform);
    if (own === null) return;
    Object.assign(own, { newestAt: now, awaited: 0, awaitedSince: null });
    const grant = findFirstGrant(events, toShortHash(orderRef));
    // Only the first report on an order is counted.
    if (grant === undefined || grant.settled) return;
    const step = Math.max(
      0,
      Math.ceil(Math.log((now - grant.at) / PLATFORM_SILENCE_LIMITS.finestMs) / Math.log(GROWTH)),
    );
    own.delays[step] = (own.delays[step] ?? 0) + 1;
    getHour(own, grant.at)[1]++;
  }

  /** Counts a field that a request sent about its payer. */
  sent(platform: PlatformName, label: RequestCountLabel, now: number): void {
    const own = this.#seenOf(platform);
    if (own !== null) countHint(own.hints, label, now);
  }

  /**
   * Returns, for each platform that this node has observed, how it reports. The figures are those of all nodes up to
   * a minute ago.
   */
  known(): ReadonlyMap<PlatformName, Reporting> {
    const now = this.#parts.clock();
    return new Map([...this.#shared].map(([platform, seen]) => [platform, toReporting(seen, now)]));
  }

  async of(platform: PlatformName): Promise<Reporting> {
    return toReporting(await this.#share(platform), this.#parts.clock());
  }

  /** Shares this node's observations, and reads those of other nodes. */
  async share(): Promise<void> {
    for (const platform of new Set([...this.#own.keys(), ...this.#shared.keys()]))
      await this.#share(platform);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.share().catch(this.#parts.onTrouble);
  }

  #seenOf(platform: PlatformName): Seen | null {
    const own = this.#own.get(platform);
    if (own !== undefined) return own;
    if (!this.#shared.has(platform) && this.#own.size + this.#shared.size >= PLATFORMS_MAX) return null;
    const nothing = createEmptySeen();
    this.#own.set(platform, nothing);
    return nothing;
  }

  async #share(platform: PlatformName): Promise<Seen> {
    const own = this.#own.get(platform);
    this.#own.delete(platform);
    try {
      const seen = await this.#keep(`reporting ${platform}`, own ?? null);
      this.#shared.set(platform, seen);
      return seen;
    } catch (error) {
      // The next try shares the observations. This node may have made more in the meantime.
      if (own !== undefined)
        this.#own.set(platform, mergeSeen(own, this.#own.get(platform) ?? createEmptySeen()));
      throw error;
    }
  }

  async #keep(register: string, own: Seen | null): Promise<Seen> {
    const { registers } = this.#parts;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const text = await registers.read(register);
      const before: Seen = text === null ? createEmptySeen() : JSON.parse(text);
      if (own === null) return before;
      const seen = mergeSeen(before, own);
      if (await registers.compareAndSet(register, text, JSON.stringify(seen))) return seen;
    }
    throw new StoreUnavailable(`other nodes wrote "${register}" each time before this one could`);
  }
}

function createEmptySeen(): Seen {
  return { newestAt: null, awaited: 0, awaitedSince: null, delays: {}, hours: {}, hints: {} };
}

function findFirstGrant(events: readonly VerdictEvent[], order: string): VerdictEvent | undefined {
  return events.find((event) => event.granted && event.order === order);
}

function getHour({ hours }: Seen, at: number): [granted: number, reported: number] {
  const hour = Math.floor(at / HOUR_MS);
  hours[hour] ??= [0, 0];
  return hours[hour];
}

/** Merges earlier observations with the later ones of a node. */
function mergeSeen(before: Seen, { newestAt, ...meanwhile }: Seen): Seen {
  const hasReport = newestAt !== null && newestAt > (before.newestAt ?? 0);
  const awaited = hasReport ? meanwhile.awaited : before.awaited + meanwhile.awaited;
  const since = hasReport ? meanwhile.awaitedSince : (before.awaitedSince ?? meanwhile.awaitedSince);
  const newest = hasReport ? newestAt : before.newestAt;
  const delays = addDelays(before.delays, meanwhile.delays);
  const hours = { ...before.hours };
  for (const [hour, [granted, reported]] of Object.entries(meanwhile.hours)) {
    const [grantedBefore, reportedBefore] = hours[hour] ?? [0, 0];
    hours[hour] = [grantedBefore + granted, reportedBefore + reported];
  }
  return {
    newestAt: newest,
    awaited,
    // A node may have granted a requisite before it could know of the report.
    awaitedSince: since === null ? null : Math.max(since, newest ?? 0),
    delays: sumDelays(delays) > DELAYS_MAX ? mapSums(delays, (count) => count / 2) : delays,
    hours: Object.fromEntries(Object.entries(hours).slice(-HOURS_MAX)),
    hints: addHintCounts(before.hints, meanwhile.hints),
  };
}

function addDelays(a: Seen['delays'], b: Seen['delays']): Seen['delays'] {
  const sums = { ...a };
  for (const [step, count] of Object.entries(b)) sums[step] = (sums[step] ?? 0) + count;
  return sums;
}

function sumDelays(delays: Seen['delays']): number {
  return Object.values(delays).reduce((sum, count) => sum + count, 0);
}

function toReporting(
  { newestAt, awaited, awaitedSince, delays, hours, hints }: Seen,
  now: number,
): Reporting {
  const usualMs = findUsualMs(delays);
  const ordersUntil = (endMs: number) => {
    const over = Object.entries(hours).filter(([hour]) => (Number(hour) + 1) * HOUR_MS <= endMs);
    const sum = (place: 0 | 1) => over.reduce((total, [, counts]) => total + counts[place], 0);
    return { granted: sum(0), reported: sum(1) };
  };
  const due = ordersUntil(now - (usualMs ?? 0));
  // Orders since the newest report are left out, so that an outage of the platform does not make its silence usual.
  const usual = ordersUntil(awaitedSince ?? now);
  const isUsual = usualMs !== null && usual.reported >= PLATFORM_SILENCE_LIMITS.usualShareMin * usual.granted;
  return {
    hints: summarizeSentHints(hints, now),
    newestAt,
    usualMs,
    awaited,
    awaitedSince,
    unreportedShare: due.granted === 0 ? null : Math.max(0, 1 - due.reported / due.granted),
    stopped:
      isUsual &&
      awaited >= PLATFORM_SILENCE_LIMITS.ordersMin &&
      awaitedSince !== null &&
      now - awaitedSince > PLATFORM_SILENCE_LIMITS.times * usualMs,
  };
}

/** Returns the time in ms within which 95 % of the delays are. Returns null if there are too few delays. */
function findUsualMs(delays: Seen['delays']): number | null {
  const total = sumDelays(delays);
  if (total < PLATFORM_SILENCE_LIMITS.ordersMin) return null;
  let within = 0;
  // Members whose names are whole numbers are listed in numeric order.
  const [step = 0] =
    Object.entries(delays).find(([, count]) => {
      within += count;
      return within >= 0.95 * total;
    }) ?? [];
  return Math.round(PLATFORM_SILENCE_LIMITS.finestMs * GROWTH ** Number(step));
}
