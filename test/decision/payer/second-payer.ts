import type { OutcomeEffect } from '#decision/payer/changes.ts';

/** Failures, weakest first, and what a payment and its reversal are called (Outcomes). */
const FAILURES = ['UNPAID', 'EXPIRED', 'CANCELLED', 'DECLINED', 'TECHNICAL'] as const;
export const RESULTS = [...FAILURES, 'PAID', 'REVERSED'] as const;

export type ResultName = (typeof RESULTS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const dayOf = (at: number) => Math.floor(at / DAY_MS);

interface Report {
  readonly result: ResultName;
  readonly at: number;
  readonly amount: number | null;
  readonly hasMoment: boolean;
}

/** What holds of an order, and the money that it is about. */
interface Held {
  readonly result: ResultName;
  readonly since: number;
  readonly waits: boolean;
  readonly money: number | null;
  /** How much of the payment was taken back. */
  readonly taken?: number;
}

interface Device {
  readonly fingerprint: string;
  readonly firstAt: number;
  readonly lastAt: number;
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

/** The absence that the ladder of the method "long" has of its own. */
export const LONG_RESET_AFTER_MS = 40 * HOUR_MS;

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
  /** Of PAID and REVERSED alone. */
  readonly amount: number | null;
}

export interface Scored {
  readonly amount: number;
  readonly fingerprint: string | null;
  readonly sign: 'noScript' | 'script' | 'trap' | 'userAgent' | 'automated' | 'app' | null;
}

export interface AskedAnswer {
  readonly waitFloorMs: number | null;
  /** What was asked, this request included, and how many of the requests before were granted, over 2 and 30 days. */
  readonly askedOnDays: readonly number[];
  readonly grantedOnDays: readonly number[];
  /** The money asked for in 7 days. */
  readonly attempted: number;
}

/** The state of a payer after an event. */
export interface PayerStanding {
  readonly level: number;
  readonly attemptOpen: boolean;
  readonly waitUntil: number | null;
  readonly paid: number;
  readonly unpaid: number;
  readonly paidAmount: number;
  /** The fingerprints that are remembered, each with the minute in which it was first shown, epoch ms. */
  readonly devices: readonly (readonly [fingerprint: string, firstMinute: number])[];
}

/** The events of a payer, each at a time in epoch ms. */
export interface Payer {
  ask(asked: Asked, clockMs: number): AskedAnswer;
  report(reported: Reported, clockMs: number): OutcomeEffect;
  /** Gives the hints that the score is answered from, sorted, and how many fingerprints it takes as known. */
  score(scored: Scored, clockMs: number): readonly string[];
  standing(): PayerStanding;
}

export const RESET_AFTER_MS = DAY_MS;

interface Standing {
  readonly level: number;
  readonly attemptOpen: boolean;
  readonly waitUntil: number | null;
  readonly lastWaitMs: number;
  readonly resetAfterMs: number;
}

const OFF_THE_LADDER: Standing = {
  level: 0,
  attemptOpen: false,
  waitUntil: null,
  lastWaitMs: 0,
  resetAfterMs: RESET_AFTER_MS,
};

/** A payer as src/decision/payer/README.md describes it, written from that page and not from the code. */
export class SecondPayer implements Payer {
  #ladder = OFF_THE_LADDER;
  #lastAt = 0;
  #lastVerdictAt: number | null = null;
  #requests: readonly Request[] = [];
  readonly #reports = new Map<string, readonly Report[]>();
  readonly #amounts = new Map<string, number>();
  /** Whether an order that was asked for was granted. */
  readonly #granted = new Map<string, boolean>();
  readonly #turnedAway = new Set<string>();
  readonly #scores: { readonly at: number; readonly shows: readonly string[] }[] = [];
  readonly #firstScores = new Map<string, { readonly at: number; readonly known: readonly string[] }>();
  #devices: readonly Device[] = [];
  /** All requests that ever were. */
  readonly #all: Request[] = [];

  report({ order, result, moment, amount }: Reported, clockMs: number): OutcomeEffect {
    const now = this.#moment(clockMs);
    const reports = this.#exposed(order);
    const asked = this.#amounts.get(order) ?? null;
    const held = reports.length === 0 ? null : heldBy(reports, asked);
    const hasMoment = moment !== null && moment <= now;
    const report = { result, amount, at: hasMoment ? moment : now, hasMoment };
    if (held !== null && isKnown(reports, report)) return effectOf(held, held, report);
    // Outcomes 9.
    if (this.#granted.get(order) === true) this.#turnedAway.delete(order);
    // Outcomes 10.
    const kept = remembered([...reports, report], asked);
    this.#lastAt = Math.max(now, report.at);
    this.#requests = this.#remembered(now);
    const effect = effectOf(held, heldBy(kept, held === null ? this.#asked(order) : asked), report);
    this.#reports.set(order, kept);
    if (effect === 'recorded' || effect === 'superseded') this.#takeAmount(order);
    for (const request of this.#requests) if (request.order === order) request.reportedSince = true;
    this.#excuse(order, now);
    // Outcomes 8, Ladder 1.
    if (result === 'PAID' && held?.result !== 'PAID') this.#ladder = OFF_THE_LADDER;
    return effect;
  }

  /** Ladder 5. */
  #excuse(order: string, now: number): void {
    const granted = this.#requests.filter((request) => request.granted).map((request) => request.order);
    const lastGranted = [...new Set(granted.toReversed())].slice(0, 4);
    const isTechnical = (name: string) => {
      const reports = this.#reports.get(name) ?? [];
      return reports.length > 0 && heldBy(reports, this.#amounts.get(name) ?? null).result === 'TECHNICAL';
    };
    if (lastGranted[0] !== order || !isTechnical(order)) return;
    if (lastGranted.length === 4 && lastGranted.every(isTechnical)) return;
    const { level, attemptOpen, waitUntil } = this.#ladder;
    if (!attemptOpen && (waitUntil ?? 0) <= now) return;
    this.#ladder = { ...this.#ladder, attemptOpen: false, waitUntil: level === 0 ? null : now };
  }

  ask(asked: Asked, clockMs: number): AskedAnswer {
    const now = this.#moment(clockMs);
    const waitFloorMs = this.#answer(asked, now);
    // Days 1, 2, 4.
    const { order, amount, method } = asked;
    const onDays = (days: number) => this.#all.filter(({ at }) => dayOf(at) > dayOf(now) - days);
    const granted = (days: number) => onDays(days).filter((request) => request.granted).length;
    const [askedOnDays, grantedOnDays] = [
      [onDays(2).length + 1, onDays(30).length + 1],
      [granted(2), granted(30)],
    ];
    const money = new Map<string, number>();
    for (const request of onDays(7))
      if (request.granted) money.set(`${request.order} ${dayOf(request.at)}`, request.amount);
    money.set(`${order} ${dayOf(now)}`, amount);
    const attempted = [...money.values()].reduce((sum, one) => sum + one, 0);
    this.#all.push({
      at: now,
      order,
      amount,
      granted: METHODS[method].verdict === 'GET_NEW',
      reportedSince: false,
    });
    return { waitFloorMs, askedOnDays, grantedOnDays, attempted };
  }

  #answer({ order, amount, method }: Asked, now: number): number | null {
    const { verdict, levelsMs } = METHODS[method];
    const request = { at: now, order, amount, granted: verdict === 'GET_NEW', reportedSince: false };
    this.#requests = [...this.#remembered(now), request].slice(-64);
    this.#granted.set(order, request.granted || this.#granted.get(order) === true);
    // Ladder 1.
    if (now - (this.#lastVerdictAt ?? now) >= this.#ladder.resetAfterMs) this.#ladder = OFF_THE_LADDER;
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
    const isLonger = waitUntil > unhindered;
    const ownResetMs = method === 'long' ? LONG_RESET_AFTER_MS : RESET_AFTER_MS;
    const resetAfterMs = isLonger ? before.resetAfterMs : ownResetMs;
    this.#ladder = { level, attemptOpen: false, waitUntil, lastWaitMs: waitUntil - now, resetAfterMs };
    return isLonger ? floorMs : null;
  }

  score(scored: Scored, clockMs: number): readonly string[] {
    const now = this.#moment(clockMs);
    const { fingerprint, sign } = scored;
    const device = fingerprint === null ? [] : [`fingerprint ${fingerprint}`];
    this.#scores.push({ at: now, shows: [...device, ...(sign === null ? [] : [sign])] });
    // Known devices 1, 2, 4.
    this.#devices = this.#shown(fingerprint, now);
    // Hints 2.
    const request = JSON.stringify(scored);
    const first = this.#firstScores.get(request);
    if (first !== undefined && now - first.at < DAY_MS) return first.known;
    const known = [...this.#known(now), `${this.#devices.length} known`];
    this.#firstScores.set(request, { at: now, known });
    return known;
  }

  #shown(fingerprint: string | null, now: number): readonly Device[] {
    const kept = this.#devices.filter(({ lastAt }) => dayOf(now) - dayOf(lastAt) < 90);
    if (fingerprint === null) return kept;
    const firstAt = kept.find((device) => device.fingerprint === fingerprint)?.firstAt ?? now;
    const others = kept.filter((device) => device.fingerprint !== fingerprint);
    return [...others, { fingerprint, firstAt, lastAt: now }].slice(-8);
  }

  /** Outcomes 7, Amounts 7. */
  standing(): PayerStanding {
    const { level, attemptOpen, waitUntil } = this.#ladder;
    const held = [...this.#reports].map(([order, reports]) => ({
      ...heldBy(reports, this.#amounts.get(order) ?? null),
      order,
    }));
    const paid = held.filter(({ result }) => result === 'PAID');
    const unpaid = held.filter(
      ({ order, result, waits }) =>
        result !== 'PAID' && result !== 'TECHNICAL' && !waits && !this.#turnedAway.has(order),
    );
    const paidAmount = paid.reduce((sum, { money }) => sum + (money ?? 0), 0);
    const devices = this.#shown(null, this.#lastAt).map(({ fingerprint, firstAt }) => {
      return [fingerprint, firstAt - (firstAt % 60_000)] as const;
    });
    return { level, attemptOpen, waitUntil, paid: paid.length, unpaid: unpaid.length, paidAmount, devices };
  }

  /** Outcomes 9: the earlier reports of an order that still count. */
  #exposed(order: string): readonly Report[] {
    const reports = this.#reports.get(order) ?? [];
    const granted = this.#granted.get(order);
    if (reports.length === 0 && granted === false) this.#turnedAway.add(order);
    if (granted !== true || !this.#turnedAway.has(order)) return reports;
    return reports.filter(({ result }) => result === 'PAID' || result === 'REVERSED');
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
    const amount = this.#asked(order);
    if (amount !== null) this.#amounts.set(order, amount);
  }

  #asked(order: string): number | null {
    const asked = this.#requests.filter((request) => request.order === order);
    const newest = asked.findLast(({ granted }) => granted) ?? asked.at(-1);
    return newest?.amount ?? this.#amounts.get(order) ?? null;
  }

  /** Hints 1. */
  #known(now: number): readonly string[] {
    const shown = this.#scores.flatMap(({ at, shows }, score) =>
      at > now - DAY_MS
        ? shows.filter((hint) => !['noScript', 'script'].includes(hint) || score === this.#scores.length - 1)
        : [],
    );
    const newestFirst = [...new Set(shown.toReversed())];
    const devices = (kind: string) => newestFirst.filter((hint) => hint.startsWith(kind)).slice(0, 4);
    const signs = newestFirst.filter((hint) => !hint.includes(' '));
    return [...devices('fingerprint '), ...devices('ip '), ...signs].sort();
  }
}

/** Outcomes 2. */
function isKnown(reports: readonly Report[], report: Report): boolean {
  return reports.some(
    (other) =>
      other.result === report.result &&
      other.amount === report.amount &&
      (!report.hasMoment || isOfMoment(other, report)),
  );
}

function isOfMoment(other: Report, report: Report): boolean {
  return other.at === report.at && (other.result !== 'PAID' || other.hasMoment === report.hasMoment);
}

/** By moment; of one moment as the page ranks them. */
function inLine(reports: readonly Report[]): readonly Report[] {
  const position = ({ result, hasMoment }: Report) => RESULTS.indexOf(result) * 2 + Number(hasMoment);
  const amount = ({ amount: money }: Report) => (money === null ? '' : String(money));
  return reports.toSorted(
    (a, b) => a.at - b.at || position(a) - position(b) || (amount(a) < amount(b) ? -1 : 1),
  );
}

const ofResult = (reports: readonly Report[], result: ResultName) =>
  inLine(reports).filter((report) => report.result === result);

const isFailure = ({ result }: Report) => result !== 'PAID' && result !== 'REVERSED';

/** Amounts 3, 4. */
function moneyOf(reports: readonly Report[], asked: number | null) {
  const payments = ofResult(reports, 'PAID');
  const amounts = payments.map(({ amount }) => amount ?? asked).filter((amount) => amount !== null);
  const captured = payments.length === 0 ? asked : amounts.length === 0 ? null : Math.max(...amounts);
  const takesAll = ({ amount }: Report) =>
    amount === null || (captured === null ? payments.length > 0 : amount >= captured);
  const reversals = ofResult(reports, 'REVERSED');
  const ofAll = reversals.filter(takesAll);
  const reversedAt = ofAll.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  const parts = reversals.filter(({ at }) => at > reversedAt);
  const taken = Math.max(0, ...parts.map(({ amount }) => amount ?? 0));
  return { captured, ofAll, taken, rest: captured === null ? null : captured - taken };
}

/** Outcomes 3 to 5. */
function heldBy(reports: readonly Report[], asked: number | null): Held {
  const { captured, ofAll, rest, taken } = moneyOf(reports, asked);
  const payments = ofResult(reports, 'PAID');
  const reversedAt = ofAll.at(-1)?.at;
  const standing = payments.find(
    ({ at, hasMoment }) => reversedAt === undefined || (hasMoment && at > reversedAt),
  );
  if (standing !== undefined) return { result: 'PAID', since: standing.at, waits: false, money: rest, taken };
  if (ofAll.length > 0) {
    const paidAt = payments.findLast(({ hasMoment }) => hasMoment)?.at ?? 0;
    const since = ofAll.find(({ at }) => at >= paidAt)?.at ?? 0;
    return { result: 'REVERSED', since, waits: false, money: captured };
  }
  const failures = inLine(reports.filter(isFailure));
  const last = failures.at(-1);
  if (last === undefined)
    return { result: 'REVERSED', since: inLine(reports)[0]?.at ?? 0, waits: true, money: asked };
  const run = failures.slice(failures.findLastIndex(({ result }) => result !== last.result) + 1);
  return { result: last.result, since: run[0]?.at ?? 0, waits: false, money: asked };
}

/** Outcomes 10. */
function remembered(reports: readonly Report[], asked: number | null): readonly Report[] {
  const line = inLine(reports);
  if (line.length <= 16) return line;
  const [payments, reversals] = [ofResult(line, 'PAID'), ofResult(line, 'REVERSED')];
  const largest = (some: readonly Report[], without: number | null) =>
    some.toSorted((a, b) => (b.amount ?? without ?? 0) - (a.amount ?? without ?? 0))[0];
  const kept = [
    line[0],
    ...[payments, reversals].flatMap((some) => [some[0], some.at(-1)]),
    payments.findLast(({ hasMoment }) => hasMoment),
    largest(payments, asked),
    reversals.findLast(({ amount }) => amount === null),
    largest(reversals, null),
    line.findLast(isFailure),
  ];
  const oldest = line.find((report) => !kept.includes(report));
  return line.filter((report) => report !== oldest);
}

/** Outcomes 6. */
function effectOf(before: Held | null, after: Held, report: Report): OutcomeEffect {
  const { result: says, amount } = report;
  if (before === null) return 'recorded';
  const isSame =
    before.result === after.result &&
    before.since === after.since &&
    before.waits === after.waits &&
    before.money === after.money;
  if (!isSame) return 'superseded';
  const isPart = says === 'REVERSED' && after.result === 'PAID' && amount !== null && amount === after.taken;
  if (after.result === says || isPart) return 'unchanged';
  return after.result === 'PAID' && says !== 'REVERSED' ? 'outweighed' : 'stale';
}
