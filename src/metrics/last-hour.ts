import type { PlatformName } from '../client/client-key.ts';
import type { ClientGroup } from '../client/client-state.ts';
import type { Decision } from '../decision/decision.ts';
import { Type } from '../json-schema.ts';
import type { Verdict } from '../rules/rule-set.ts';
import { count, epochMs, list, nullable, type Shape, shape } from '../shapes.ts';
import type { Watcher } from './metrics.ts';

export const VerdictMinuteSchema = shape('What the platform was answered within a minute', {
  at: epochMs('Its beginning'),
  verdicts: shape('By verdict', {
    GET_NEW: count('New requisites'),
    GET_SAME_STICKY: count('Bound requisites'),
    WAIT: count('Waits'),
    BLOCK: count('Refusals'),
  }),
  groups: shape('By client group', {
    NEW: count('NEW'),
    STICKY: count('STICKY'),
    PAYING: count('PAYING'),
    TRUSTED: count('TRUSTED'),
    BLOCKED: count('BLOCKED'),
  }),
  bots: count('isBot true'),
  waits: Type.Record(Type.Integer({ minimum: 0 }), {
    description: 'Waits imposed, by level of the ladder; levels without one are left out',
  }),
});

type VerdictMinute = Shape<typeof VerdictMinuteSchema>;

const milliseconds = (description: string) => Type.Number({ minimum: 0, description });

const RequestMinuteSchema = shape('How this node answered all callers within a minute', {
  at: epochMs('Its beginning'),
  requests: count('score and verdict'),
  refused: count('Of these with 4xx'),
  failed: count('Of these with 5xx'),
  latencyMs: nullable(
    shape('Milliseconds, to within a quarter; null in a minute without any', {
      p50: milliseconds('Half were at most this'),
      p95: milliseconds('95 % were at most this'),
      p99: milliseconds('99 % were at most this'),
    }),
  ),
});

type RequestMinute = Shape<typeof RequestMinuteSchema>;

export const LastHourSchema = shape('The last hour of this node; a restart empties it', {
  verdicts: list(VerdictMinuteSchema, 'Sixty minutes, oldest first, the running one last'),
  requests: list(RequestMinuteSchema, 'Sixty minutes, oldest first, the running one last'),
});

export type LastHourView = Shape<typeof LastHourSchema>;

/** The same before percentiles are taken, so that several processes can be combined. */
export interface LastHourMinutes {
  readonly verdicts: readonly VerdictMinute[];
  readonly requests: readonly (Omit<RequestMinute, 'latencyMs'> & { readonly buckets: readonly number[] })[];
}

const MINUTE_MS = 60_000;
const MINUTES = 60;

/** Further platforms are not counted, so that memory is bounded. */
const PLATFORMS_MAX = 200;

/** The upper ends of the latency buckets grow by a quarter each, from 0.1 ms to above 10 s. */
const FINEST_MS = 0.1;
const GROWTH = 1.25;
const BUCKETS = 53;

interface VerdictCounts {
  readonly verdicts: Record<Verdict, number>;
  readonly groups: Record<ClientGroup, number>;
  bots: number;
  readonly waits: Record<string, number>;
}

interface RequestCounts {
  requests: number;
  refused: number;
  failed: number;
  readonly buckets: Uint32Array;
}

/** The last hour of this node, minute by minute, in bounded memory; a restart empties it. */
export class LastHour implements Watcher {
  readonly #clock: () => number;
  readonly #platforms = new Map<string, Minutes<VerdictCounts>>();
  readonly #requests = new Minutes(noRequests);

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  request(operation: string, status: number, seconds: number): void {
    if (operation !== 'score' && operation !== 'verdict') return;
    const counts = this.#requests.at(this.#clock());
    counts.requests++;
    if (status >= 500) counts.failed++;
    else if (status >= 400) counts.refused++;
    const place = bucketOf(seconds * 1000);
    counts.buckets[place] = (counts.buckets[place] ?? 0) + 1;
  }

  verdict({ platform, verdict, clientGroup, isBot, ladderAfter }: Decision): void {
    const minutes = this.#platforms.get(platform) ?? this.#newPlatform(platform);
    if (minutes === null) return;
    const counts = minutes.at(this.#clock());
    counts.verdicts[verdict]++;
    counts.groups[clientGroup]++;
    if (isBot) counts.bots++;
    if (verdict === 'WAIT') counts.waits[ladderAfter.level] = (counts.waits[ladderAfter.level] ?? 0) + 1;
  }

  /** Sixty minutes, oldest first, the running one last; empty minutes are zeros. */
  minutes(platform: string): LastHourMinutes {
    const now = this.#clock();
    const verdicts = this.#platforms.get(platform) ?? new Minutes(noVerdicts);
    return {
      verdicts: verdicts.all(now),
      requests: this.#requests
        .all(now)
        .map(({ buckets, ...counts }) => ({ ...counts, buckets: [...buckets] })),
    };
  }

  view(platform: string): LastHourView {
    return lastHourOf([this.minutes(platform)]);
  }

  #newPlatform(platform: PlatformName): Minutes<VerdictCounts> | null {
    if (this.#platforms.size >= PLATFORMS_MAX) return null;
    const minutes = new Minutes(noVerdicts);
    this.#platforms.set(platform, minutes);
    return minutes;
  }
}

/** Combines the last hours of a node's processes. */
export function lastHourOf(parts: readonly LastHourMinutes[]): LastHourView {
  return {
    verdicts: sumByMinute(
      parts.map(({ verdicts }) => verdicts),
      (a, b) => ({
        at: a.at,
        verdicts: sumOf(a.verdicts, b.verdicts),
        groups: sumOf(a.groups, b.groups),
        bots: a.bots + b.bots,
        waits: sumOf(a.waits, b.waits),
      }),
    ),
    requests: sumByMinute(
      parts.map(({ requests }) => requests),
      (a, b) => ({
        at: a.at,
        requests: a.requests + b.requests,
        refused: a.refused + b.refused,
        failed: a.failed + b.failed,
        buckets: a.buckets.map((count, place) => count + (b.buckets[place] ?? 0)),
      }),
    ).map(({ buckets, ...counts }) => ({ ...counts, latencyMs: percentiles(buckets) })),
  };
}

/**
 * By the minutes of the first process: processes asked just before and after a full minute do not have the same ones.
 */
function sumByMinute<Minute extends { readonly at: number }>(
  [first = [], ...others]: readonly (readonly Minute[])[],
  add: (a: Minute, b: Minute) => Minute,
): readonly Minute[] {
  return first.map((minute) =>
    others.reduce((sum, other) => {
      const same = other.find(({ at }) => at === minute.at);
      return same === undefined ? sum : add(sum, same);
    }, minute),
  );
}

function sumOf<Counts extends Readonly<Record<string, number>>>(a: Counts, b: Counts): Counts {
  const sums = Object.entries(a).map(([name, count]) => [name, count + (b[name] ?? 0)] as const);
  return { ...b, ...Object.fromEntries(sums) };
}

/** A ring of minutes; a minute that is reused after an hour starts from zero. */
class Minutes<Counts extends object> {
  readonly #none: () => Counts;
  readonly #ring = new Map<number, { minute: number; counts: Counts }>();

  constructor(none: () => Counts) {
    this.#none = none;
  }

  at(now: number): Counts {
    const minute = Math.floor(now / MINUTE_MS);
    const slot = this.#ring.get(minute % MINUTES);
    if (slot?.minute === minute) return slot.counts;
    const counts = this.#none();
    this.#ring.set(minute % MINUTES, { minute, counts });
    return counts;
  }

  all(now: number): readonly (Counts & { readonly at: number })[] {
    const last = Math.floor(now / MINUTE_MS);
    return Array.from({ length: MINUTES }, (_, index) => {
      const minute = last - MINUTES + 1 + index;
      const slot = this.#ring.get(minute % MINUTES);
      const counts = slot?.minute === minute ? slot.counts : this.#none();
      return { at: minute * MINUTE_MS, ...counts };
    });
  }
}

function noVerdicts(): VerdictCounts {
  return {
    verdicts: { GET_NEW: 0, GET_SAME_STICKY: 0, WAIT: 0, BLOCK: 0 },
    groups: { NEW: 0, STICKY: 0, PAYING: 0, TRUSTED: 0, BLOCKED: 0 },
    bots: 0,
    waits: {},
  };
}

function noRequests(): RequestCounts {
  return { requests: 0, refused: 0, failed: 0, buckets: new Uint32Array(BUCKETS) };
}

function bucketOf(ms: number): number {
  const place = Math.ceil(Math.log(ms / FINEST_MS) / Math.log(GROWTH));
  return Math.min(BUCKETS - 1, Math.max(0, place));
}

function percentiles(buckets: readonly number[]): RequestMinute['latencyMs'] {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const at = (share: number) => {
    let seen = 0;
    const place = buckets.findIndex((count) => {
      seen += count;
      return seen >= share * total;
    });
    return Math.round(FINEST_MS * GROWTH ** place * 100) / 100;
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
