import type { OutcomeEffect } from '../../src/client/changes.ts';

/** The results of an order, weakest first (Outcomes). */
export const RESULTS = [
  'UNPAID',
  'EXPIRED',
  'CANCELLED',
  'DECLINED',
  'TECHNICAL',
  'PAID',
  'REVERSED',
] as const;

export type ResultName = (typeof RESULTS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Report {
  readonly result: ResultName;
  readonly at: number;
}

interface Request {
  readonly at: number;
  readonly order: string;
  readonly amount: number;
  readonly granted: boolean;
  reportedSince: boolean;
}

/** The answer to each method, and the waits of the ladder that its rule names. */
export const METHODS = {
  grant: { verdict: 'GET_NEW', levelsMs: [30_000, 300_000, 1_800_000] },
  refuse: { verdict: 'BLOCK', levelsMs: [30_000, 300_000, 1_800_000] },
  usual: { verdict: 'WAIT', levelsMs: [30_000, 300_000, 1_800_000] },
  brief: { verdict: 'WAIT', levelsMs: [45_000] },
  long: { verdict: 'WAIT', levelsMs: [20_000, 1_200_000, 7_200_000, 18_000_000] },
} as const;

export interface Asked {
  readonly order: string;
  readonly amount: number;
  readonly method: keyof typeof METHODS;
}

export interface Reported {
  readonly order: string;
  readonly result: ResultName;
  /** Epoch ms. */
  readonly moment: number | null;
}

export interface Scored {
  readonly amount: number;
  readonly fingerprint: string | null;
  readonly sign: 'noScript' | 'trap' | 'userAgent' | 'automated' | null;
}

/** The state of a payer after an event. */
export interface PayerStanding {
  readonly level: number;
  readonly attemptOpen: boolean;
  readonly waitUntil: number | null;
  readonly paid: number;
  readonly unpaid: number;
  readonly paidAmount: number;
}

/** The events of a payer, each at a time in epoch ms. */
export interface Payer {
  /** Gives `waitFloorMs`. */
  ask(asked: Asked, clockMs: number): number | null;
  report(reported: Reported, clockMs: number): OutcomeEffect;
  /** Gives the hints that the score is answered from, sorted. */
  score(scored: Scored, clockMs: number): readonly string[];
  standing(): PayerStanding;
}

export const RESET_AFTER_MS = DAY_MS;

const OFF_THE_LADDER = { level: 0, attemptOpen: false, waitUntil: null, lastWaitMs: 0 };

/** A payer as src/client/README.md describes it, written from that page and not from the code. */
export class SecondPayer implements Payer {
  #ladder: { level: number; attemptOpen: boolean; waitUntil: number | null; lastWaitMs: number } =
    OFF_THE_LADDER;
  #lastAt = 0;
  #lastVerdictAt: number | null = null;
  #requests: readonly Request[] = [];
  readonly #lines = new Map<string, readonly Report[]>();
  readonly #amounts = new Map<string, number>();
  /** Whether an order that was asked for was granted. */
  readonly #granted = new Map<string, boolean>();
  readonly #turnedAway = new Set<string>();
  readonly #scores: { readonly at: number; readonly shows: readonly string[] }[] = [];
  readonly #firstScores = new Map<string, { readonly at: number; readonly known: readonly string[] }>();

  report({ order, result, moment }: Reported, clockMs: number): OutcomeEffect {
    const now = this.#moment(clockMs);
    const line = this.#exposed(order);
    const held = holding(line);
    const says = held?.result === result;
    const report = datedReport(line, result, moment, now);
    // Outcomes 2, 4.
    if (report === null || line.some((other) => position(other) === position(report)))
      return says ? 'unchanged' : 'stale';
    const longer = [...line, report].sort((a, b) => position(a) - position(b));
    // Outcomes 3.
    const kept = longer.length > 16 ? [...longer.slice(0, 1), ...longer.slice(-15)] : longer;
    this.#lines.set(order, kept);
    this.#lastAt = Math.max(now, report.at);
    const effect = effectOf(held, holding(kept), says);
    this.#requests = this.#remembered(now);
    if (effect === 'recorded' || effect === 'superseded') this.#takeAmount(order);
    for (const request of this.#requests) if (request.order === order) request.reportedSince = true;
    // Outcomes 7, Ladder 1.
    if (isNewPayment(longer, report)) this.#ladder = OFF_THE_LADDER;
    return effect;
  }

  ask({ order, amount, method }: Asked, clockMs: number): number | null {
    const now = this.#moment(clockMs);
    const { verdict, levelsMs } = METHODS[method];
    const request = { at: now, order, amount, granted: verdict === 'GET_NEW', reportedSince: false };
    this.#requests = [...this.#remembered(now), request].slice(-64);
    this.#granted.set(order, request.granted || this.#granted.get(order) === true);
    // Ladder 1.
    if (now - (this.#lastVerdictAt ?? now) >= RESET_AFTER_MS) this.#ladder = OFF_THE_LADDER;
    this.#lastVerdictAt = now;
    // Ladder 2.
    if (verdict === 'GET_NEW') this.#ladder = { ...this.#ladder, attemptOpen: true, waitUntil: null };
    if (verdict !== 'WAIT') return null;
    // Ladder 3 to 5.
    const before = this.#ladder;
    const level = Math.min(before.level + 1, levelsMs.length);
    const floorMs = before.level > 0 ? before.lastWaitMs : 0;
    const unhindered = Math.max(now + (levelsMs[level - 1] ?? 0), before.waitUntil ?? 0);
    const waitUntil = Math.max(unhindered, now + floorMs);
    this.#ladder = { level, attemptOpen: false, waitUntil, lastWaitMs: waitUntil - now };
    return waitUntil > unhindered ? floorMs : null;
  }

  score(scored: Scored, clockMs: number): readonly string[] {
    const now = this.#moment(clockMs);
    const { fingerprint, sign } = scored;
    const device = fingerprint === null ? [] : [`fingerprint ${fingerprint}`];
    this.#scores.push({ at: now, shows: [...device, ...(sign === null ? [] : [sign])] });
    // Hints 2.
    const request = JSON.stringify(scored);
    const first = this.#firstScores.get(request);
    if (first !== undefined && now - first.at < DAY_MS) return first.known;
    const known = this.#known(now);
    this.#firstScores.set(request, { at: now, known });
    return known;
  }

  /** Outcomes 6, Amounts 4. */
  standing(): PayerStanding {
    const { level, attemptOpen, waitUntil } = this.#ladder;
    const held = [...this.#lines].map(([order, line]) => ({ order, result: holding(line)?.result }));
    const paid = held.filter(({ result }) => result === 'PAID');
    const technical = held.filter(({ result }) => result === 'TECHNICAL');
    const paidAmount = paid.reduce((sum, { order }) => sum + (this.#amounts.get(order) ?? 0), 0);
    const neither = held.filter(
      ({ order, result }) => result !== 'PAID' && result !== 'TECHNICAL' && this.#turnedAway.has(order),
    );
    const unpaid = held.length - paid.length - technical.length - neither.length;
    return { level, attemptOpen, waitUntil, paid: paid.length, unpaid, paidAmount };
  }

  /** Outcomes 8: the earlier reports of an order that still count. */
  #exposed(order: string): readonly Report[] {
    const line = this.#lines.get(order) ?? [];
    const granted = this.#granted.get(order);
    if (line.length === 0 && granted === false) this.#turnedAway.add(order);
    if (granted !== true || !this.#turnedAway.delete(order)) return line;
    return holding(line)?.result === 'PAID' ? line : [];
  }

  #moment(clockMs: number): number {
    this.#lastAt = Math.max(clockMs, this.#lastAt);
    return this.#lastAt;
  }

  /** Amounts 1. */
  #remembered(now: number): readonly Request[] {
    const ageMs = ({ at }: Request) => now - at;
    const recent = this.#requests.filter((request) => ageMs(request) < DAY_MS);
    const awaited = this.#requests.filter(
      (request) =>
        ageMs(request) >= DAY_MS && ageMs(request) < 30 * DAY_MS && request.granted && !request.reportedSince,
    );
    return [...awaited.slice(-8), ...recent];
  }

  /** Amounts 2. */
  #takeAmount(order: string): void {
    const asked = this.#requests.filter((request) => request.order === order);
    const amount = (asked.findLast(({ granted }) => granted) ?? asked.at(-1))?.amount;
    if (amount !== undefined) this.#amounts.set(order, amount);
  }

  /** Hints 1. */
  #known(now: number): readonly string[] {
    const shown = this.#scores.flatMap(({ at, shows }, score) =>
      at > now - DAY_MS
        ? shows.filter((hint) => hint !== 'noScript' || score === this.#scores.length - 1)
        : [],
    );
    const newestFirst = [...new Set(shown.toReversed())];
    const devices = (kind: string) => newestFirst.filter((hint) => hint.startsWith(kind)).slice(0, 4);
    const signs = newestFirst.filter((hint) => !hint.includes(' '));
    return [...devices('fingerprint '), ...devices('ip '), ...signs].sort();
  }
}

/** Outcomes 1, 2: null for a repeat without a time. */
function datedReport(
  line: readonly Report[],
  result: ResultName,
  moment: number | null,
  now: number,
): Report | null {
  if (moment !== null && moment <= now) return { result, at: moment };
  if (holding(line)?.result === result) return null;
  const newest = line.at(-1)?.at ?? 0;
  return { result, at: newest < now ? now : newest + 1 };
}

/** Outcomes 7. */
function isNewPayment(line: readonly Report[], report: Report): boolean {
  const place = line.indexOf(report);
  const beside = [line[place - 1], line[place + 1]];
  return report.result === 'PAID' && beside.every((other) => other?.result !== 'PAID');
}

function position({ result, at }: Report): number {
  return at * 10 + RESULTS.indexOf(result);
}

/** Outcomes 3: the last result, since the first report of it that no other result comes after. */
function holding(line: readonly Report[]): Report | undefined {
  const last = line.at(-1);
  const sameAtTheEnd = line.slice(line.findLastIndex(({ result }) => result !== last?.result) + 1);
  return sameAtTheEnd[0];
}

/** Outcomes 5. */
function effectOf(before: Report | undefined, after: Report | undefined, says: boolean): OutcomeEffect {
  if (before === undefined) return 'recorded';
  if (before.result !== after?.result || before.at !== after.at) return 'superseded';
  return says ? 'unchanged' : 'stale';
}
