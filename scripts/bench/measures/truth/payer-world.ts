import type { RuleSource } from '#checkout/rollout/loaded-rules.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import { isAttempt } from '#decision/conclude-verdict.ts';
import { type DrawHoldouts, HOLDOUT_PERIOD_MS } from '#decision/holdout.ts';
import { type ClientKey, toClientNumberText, toPlatformName } from '#decision/payer/client-key.ts';
import type { Store } from '#state/store.ts';
import { scoringService } from '../../../../test/service/scoring-service.ts';
import { seeded } from '../../../../test/simulation/seeded-random.ts';
import { T0 } from '../../../../test/state/clients.ts';
import { drawNormal } from './drawn-experiments.ts';

const SHOP = toPlatformName('shop');
const SECOND_MS = 1000;
const DAY_MS = 86_400_000;
const ARRIVAL_DAYS = 20;
const RING_SIZE = 8;
const UNREPORTED = 0.06;
const BLOCKS_MAX = 3;
const REVERSAL_MS = 10 * DAY_MS;

/** The time at which payers have done everything, and all of it is reported. */
const END_MS = T0 + (ARRIVAL_DAYS + 60) * DAY_MS;

/** What became of an order, as far as it was reported. */
export interface SimulatedOrder {
  readonly at: number;
  readonly amount: number;
  shown: number;
  paid: boolean;
  unpaid: boolean;
  reversed: boolean;
}

export interface SimulatedPayer {
  readonly client: ClientKey;
  /** The fingerprint. All payers of a ring have the same one. */
  readonly fingerprint: string;
  readonly orders: readonly SimulatedOrder[];
  /**
   * The entries into the holdout: each is the moment at which the payer first met the rule in a period with one draw.
   * All orders from that moment to the end of the period count.
   */
  readonly entries: readonly Entry[];
}

interface Entry {
  readonly at: number;
  readonly endsAt: number;
  readonly isHeldOut: boolean;
}

export interface WorldPlan {
  readonly seed: number;
  readonly payers: number;
  /** The share of payers in rings of eight, from 0 to 1. */
  readonly inRings: number;
}

interface Payer extends SimulatedPayer {
  readonly orders: SimulatedOrder[];
  readonly entries: Entry[];
  readonly arrivesMs: number;
  readonly payChance: number;
  /** After a wait of this length, in ms, two of three such payers have left. */
  readonly patienceMs: number;
  readonly ordersMax: number;
  readonly reverses: number;
  readonly draw: () => number;
  blocks: number;
}

/**
 * Payers who react to the answers of the whole service. They wait or leave, come back after a block or not, share
 * devices in rings, and take payments back days later. Some outcomes are never reported. The seed decides what a
 * payer is like, so the same payers live under any rules.
 */
export class PayerWorld {
  now = T0;
  readonly #service: ScoringService;
  readonly #payers: readonly Payer[];
  readonly #agenda: Agenda = [];

  constructor(
    store: Store,
    ruleSource: RuleSource,
    { payers, ...plan }: WorldPlan,
    holdoutDraw: DrawHoldouts,
  ) {
    this.#payers = Array.from({ length: payers }, (_, place) =>
      payerOf(store.clientKeys.of(SHOP, `payer-${place}`), place, plan),
    );
    const byHash = new Map(this.#payers.map((payer) => [payer.client.hash, payer]));
    this.#service = scoringService(store, () => this.now, {
      ruleSource,
      holdoutDraw: (client, at) => (rule, share) => {
        const isHeldOut = holdoutDraw(client, at)(rule, share);
        enter(byHash.get(client.hash), at, isHeldOut);
        return isHeldOut;
      },
    });
  }

  /**
   * Lets all payers act until they are done. At last one more payer asks, so that all earlier events are known to be
   * over.
   */
  async live(): Promise<readonly SimulatedPayer[]> {
    for (const payer of this.#payers) this.#plan(this.#life(payer), T0 + payer.arrivesMs);
    for (let next = this.#agenda.shift(); next !== undefined; next = this.#agenda.shift()) {
      this.now = Math.max(this.now, Math.ceil(next.at));
      const { value, done } = await next.life.next();
      if (done !== true) this.#plan(next.life, value);
    }
    this.now = END_MS;
    await this.#service.verdict(SHOP, orderOf('last', 'last', 1), NO_KEY);
    return this.#payers;
  }

  #plan(life: Life, at: number): void {
    const place = this.#agenda.findLastIndex((other) => other.at <= at) + 1;
    this.#agenda.splice(place, 0, { at, life });
  }

  /** Lets a payer act. Yields the times, in epoch ms, at which the payer acts next. */
  async *#life(payer: Payer): Life {
    const { draw, client, fingerprint, ordersMax } = payer;
    const { clientIdKey } = client;
    await this.#service.score(SHOP, { ...SCORE, clientIdKey, fingerprint });
    for (let order = 0; order < ordersMax && payer.blocks < BLOCKS_MAX; order++) {
      yield* this.#order(payer, `${clientIdKey}-${order}`);
      yield this.now - 1.2 * DAY_MS * Math.log(1 - draw()) + SECOND_MS;
    }
  }

  async *#order(payer: Payer, orderRef: string): Life {
    const { draw, client, payChance, reverses } = payer;
    const { clientIdKey } = client;
    // All chances are drawn whatever happens, so that a payer is the same under other rules.
    const chances = { leaves: draw(), pays: draw(), reverses: draw(), reported: draw() };
    const amount = Math.round(100 * Math.exp(3 + 0.6 * drawNormal(draw))) / 100;
    const simulated = { at: this.now, amount, shown: 0, paid: false, unpaid: false, reversed: false };
    payer.orders.push(simulated);
    if (!(yield* this.#granted(payer, orderOf(clientIdKey, orderRef, amount), chances.leaves))) return;
    simulated.shown = 1;
    const isPaid = chances.pays < payChance;
    yield this.now + (isPaid ? 60 : 900) * SECOND_MS;
    if (chances.reported < UNREPORTED) return;
    await this.#report(clientIdKey, orderRef, isPaid ? 'PAID' : 'UNPAID');
    Object.assign(simulated, { paid: isPaid, unpaid: !isPaid });
    if (!isPaid || chances.reverses > reverses) return;
    this.#plan(this.#reversal(clientIdKey, orderRef, simulated), this.now);
  }

  /**
   * Asks for a requisite, and asks again after each wait that the payer accepts. Returns whether a requisite was
   * shown.
   */
  async *#granted(
    payer: Payer,
    order: ReturnType<typeof orderOf>,
    leaves: number,
  ): AsyncGenerator<number, boolean> {
    let waitedMs = 0;
    for (let time = 0; time < 4; time++) {
      const { answer } = await this.#service.verdict(SHOP, order, NO_KEY);
      if (isAttempt(answer.verdict)) return true;
      if (answer.verdict === 'BLOCK') payer.blocks += 1;
      waitedMs += (answer.waitSeconds ?? 0) * SECOND_MS;
      if (answer.verdict === 'BLOCK' || leaves > Math.exp(-waitedMs / payer.patienceMs)) return false;
      yield this.now + (answer.waitSeconds ?? 0) * SECOND_MS + 1;
    }
    return false;
  }

  /** Reports a reversal up to ten days later. */
  async *#reversal(clientIdKey: string, orderRef: string, simulated: SimulatedOrder): Life {
    yield this.now + DAY_MS + (simulated.amount % 1) * (REVERSAL_MS - DAY_MS);
    await this.#report(clientIdKey, orderRef, 'UNPAID', 'REVERSED');
    Object.assign(simulated, { paid: false, reversed: true });
  }

  #report(
    clientIdKey: string,
    orderRef: string,
    outcome: 'PAID' | 'UNPAID',
    cause: 'REVERSED' | null = null,
  ) {
    return this.#service.outcome(SHOP, { clientIdKey, orderRef, outcome, cause, occurredAt: this.now });
  }
}

type Life = AsyncGenerator<number, void>;

/** The payers' lives, each with the time at which the payer acts next, sorted by this time. */
type Agenda = { readonly at: number; readonly life: Life }[];

const NO_KEY = { requestId: 'r', idempotencyKey: null };
const SCORE = { sellPointKey: 'shop-1', selectedMethodKey: 'card', amountRequested: '10.00' };

function orderOf(clientIdKey: string, orderRef: string, amount: number) {
  return {
    sellPointKey: 'shop-1',
    method: 'card',
    toPayCurrency: 'EUR',
    amountRequested: amount.toFixed(2),
    clientIdKey,
    orderRef,
  };
}

/**
 * Draws a payer. Half of the payers are honest. Most of the others hardly ever pay. Rings of eight share a device and
 * take payments back.
 */
function payerOf(client: ClientKey, place: number, { seed, inRings }: Omit<WorldPlan, 'payers'>): Payer {
  const draw = seeded(seed * 1_000_003 + place);
  const ring = Math.floor(place / RING_SIZE);
  const rings = seeded(seed * 7919 + ring);
  const [isRing, ringAt, kind, orders, at] = [rings() < inRings, rings(), draw(), draw(), draw()];
  const some = (mean: number) => 1 + Math.floor(-mean * Math.log(1 - orders));
  const arrivesMs = ARRIVAL_DAYS * DAY_MS * at;
  const fingerprint = `device-${place}`;
  const self = { client, draw, orders: [], entries: [], fingerprint, arrivesMs, blocks: 0 };
  if (isRing)
    return {
      ...self,
      fingerprint: `ring-${ring}`,
      arrivesMs: ARRIVAL_DAYS * DAY_MS * ringAt + (DAY_MS / 4) * at,
      payChance: 0.5,
      patienceMs: 3_600_000,
      ordersMax: some(4),
      reverses: 0.4,
    };
  return kind < 0.35
    ? { ...self, payChance: 0.1, patienceMs: 7_200_000, ordersMax: some(12), reverses: 0 }
    : {
        ...self,
        payChance: 0.6 + 0.35 * draw(),
        patienceMs: 60_000 + 1_200_000 * draw(),
        ordersMax: some(3),
        reverses: 0.01,
      };
}

/** Notes that a payer met the rule with the holdout, once in each period with one draw. */
function enter(payer: Payer | undefined, at: number, isHeldOut: boolean): void {
  if (payer === undefined || at < (payer.entries.at(-1)?.endsAt ?? 0)) return;
  const offsetMs = Number(BigInt(toClientNumberText(payer.client.hash)) % BigInt(HOLDOUT_PERIOD_MS));
  const period = Math.floor((at + offsetMs) / HOLDOUT_PERIOD_MS);
  payer.entries.push({ at, endsAt: (period + 1) * HOLDOUT_PERIOD_MS - offsetMs, isHeldOut });
}
