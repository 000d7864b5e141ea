import type { ArmTotals, Metric } from '../../src/evidence/experiment/recommendation.ts';
import type { Moments } from '../../src/statistics/confidence-sequence.ts';

/**
 * A world of payers that react to the length of waits, simulated without the service, so that the effect of ladders
 * is known.
 */

/** Waits by level, in seconds. */
export type Waits = readonly [number, number, number];

export interface WorldArm {
  readonly version: string;
  /** 0 to 1; they add up to 1. */
  readonly share: number;
  readonly waits: Waits;
}

export type Draw = () => number;

const METRICS = [
  'paid',
  'unpaid',
  'turnedAway',
  'requisites',
  'waits',
  'lostAfterWait',
  'money.EUR.paid',
] as const satisfies readonly Metric[];

type Totals = Record<(typeof METRICS)[number], number>;

/** Something that a client did, at a time from 0 to 1. */
interface Happening {
  readonly at: number;
  readonly client: number;
  readonly arm: number;
  readonly adds: Partial<Totals>;
}

const ABUSERS = 0.15;
const AMOUNT_LOG_MEAN = 3.2;
const AMOUNT_LOG_SPREAD = 1;

/** All that one client does under the waits of its arm. */
function lifeOf(client: number, arm: number, waits: Waits, draw: Draw): readonly Happening[] {
  const isAbuser = draw() < ABUSERS;
  const payChance = isAbuser ? 0.05 : 0.6 + 0.35 * draw();
  const patienceSeconds = isAbuser ? 7200 : 60 + 1200 * draw() ** 2;
  const orders = 1 + Math.floor(-Math.log(1 - draw()) * (isAbuser ? 4 : 2));
  let at = draw();
  let level = 0;
  const life: Happening[] = [{ at, client, arm, adds: {} }];
  for (let order = 0; order < orders; order++) {
    const [stays, pays, gap] = [draw(), draw(), draw()];
    const amount = Math.exp(AMOUNT_LOG_MEAN + AMOUNT_LOG_SPREAD * normal(draw));
    const waitSeconds = level === 0 ? 0 : (waits[Math.min(level, waits.length) - 1] ?? 0);
    const told = level === 0 ? {} : { waits: 1 };
    if (level > 0 && stays > Math.exp(-waitSeconds / patienceSeconds))
      life.push({ at, client, arm, adds: { ...told, turnedAway: 1, lostAfterWait: 1 } });
    else if (pays < payChance) {
      level = 0;
      life.push({ at, client, arm, adds: { ...told, requisites: 1, paid: 1, 'money.EUR.paid': amount } });
    } else {
      level += 1;
      life.push({ at, client, arm, adds: { ...told, requisites: 1, unpaid: 1 } });
    }
    at += 0.3 * gap;
  }
  return life.filter((one) => one.at < 1);
}

function normal(draw: Draw): number {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

/** The totals that somebody sees at each of several looks. */
export function* looksAt(
  arms: readonly WorldArm[],
  { clients, looks, draw }: { readonly clients: number; readonly looks: number; readonly draw: Draw },
): Generator<readonly ArmTotals[]> {
  const lives = Array.from({ length: clients }, (_, client) => {
    const place = armOf(arms, draw());
    return lifeOf(client, place, arms[place]?.waits ?? [0, 0, 0], draw);
  });
  const happenings = lives.flat().toSorted((a, b) => a.at - b.at);
  const sums = arms.map(() => new RunningTotals(clients));
  let next = 0;
  for (let look = 1; look <= looks; look++) {
    for (; (happenings[next]?.at ?? 1) < look / looks; next++) {
      const happening = happenings[next];
      if (happening !== undefined) sums[happening.arm]?.add(happening);
    }
    yield arms.map(({ version, share }, place) => ({
      version,
      share,
      unknown: 0,
      ...(sums[place] ?? NOBODY).seen,
    }));
  }
}

function armOf(arms: readonly WorldArm[], place: number): number {
  let end = 0;
  const found = arms.findIndex(({ share }) => {
    end += share;
    return place < end;
  });
  return found === -1 ? arms.length - 1 : found;
}

/** Running sums over the clients of an arm, whose totals grow. */
class RunningTotals {
  #clients = 0;
  readonly #isKnown: Uint8Array;
  readonly #sums = METRICS.map(() => ({ sum: 0, squares: 0 }));
  readonly #totals: readonly Float64Array[];

  constructor(clients: number) {
    this.#isKnown = new Uint8Array(clients);
    this.#totals = METRICS.map(() => new Float64Array(clients));
  }

  add({ client, adds }: Happening): void {
    this.#clients += this.#isKnown[client] === 1 ? 0 : 1;
    this.#isKnown[client] = 1;
    for (const [place, metric] of METRICS.entries()) {
      const [more, sums, totals] = [adds[metric] ?? 0, this.#sums[place], this.#totals[place]];
      if (more === 0 || sums === undefined || totals === undefined) continue;
      const before = totals[client] ?? 0;
      totals[client] = before + more;
      sums.sum += more;
      sums.squares += (before + more) ** 2 - before ** 2;
    }
  }

  get seen(): Pick<ArmTotals, 'clients' | 'totals'> {
    const clients = this.#clients;
    const totals = METRICS.map((metric, place): [Metric, Moments] => [
      metric,
      { clients, sum: 0, squares: 0, ...this.#sums[place] },
    ]);
    return { clients, totals: new Map(totals) };
  }
}

const NOBODY = new RunningTotals(0);
