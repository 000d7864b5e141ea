import type { ScoringService } from '#checkout/scoring/scoring.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { Chance } from '../example-data/chance.ts';
import type { Payer } from './payers.ts';
import type { Schedule } from './schedule.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** The conditions under which payers pay and the shop reports. */
export interface ShopDisturbances {
  /** Returns the share of willing payers who can pay. It is lower on a day on which a bank is down. */
  readonly bankShare: (at: number) => number;
  /** Returns when the report of an outcome at this moment reaches the service, in epoch ms. Null means never. */
  readonly reportedAt: (at: number) => number | null;
}

/** An order that its payer still pursues. */
interface Order {
  readonly payer: Payer;
  readonly orderRef: string;
  readonly amount: string;
  readonly triesLeft: number;
}

interface ShopParts {
  readonly service: Pick<ScoringService, 'score' | 'verdict' | 'outcome' | 'setBinding'>;
  readonly platform: PlatformName;
  readonly schedule: Schedule;
  readonly chance: Chance;
  readonly state: ShopDisturbances;
  readonly clock: { readonly now: number };
  /** Returns the name of a new order. */
  readonly nameOrder: () => string;
}

/** The checkouts of a shop, and what their payers do with the service's answers. */
export class Shop {
  readonly #parts: ShopParts;

  constructor(parts: ShopParts) {
    this.#parts = parts;
  }

  /** Plans the visit of a payer at a moment, in epoch ms. */
  planVisit(at: number, payer: Payer, triesMax = 4): void {
    this.#parts.schedule.add(at, () => this.#visit(payer, triesMax));
  }

  /** Plans that from a moment on, in epoch ms, a payer is shown the same requisite again and again. */
  planBinding(at: number, { clientIdKey }: Payer): void {
    const { service, platform, schedule } = this.#parts;
    const binding = { requisiteRef: `requisite-${clientIdKey}`, acceptorKeys: ['acceptor-1'] };
    schedule.add(at, async () => {
      await service.setBinding(platform, clientIdKey, { ...binding, method: null, expiresAt: null });
    });
  }

  /** Begins a new order, which the payer pursues until it is paid or given up. */
  async #visit(payer: Payer, triesMax: number): Promise<void> {
    const { service, platform, chance, nameOrder } = this.#parts;
    const amount = chance.around(payer.usualAmount, 0.4).toFixed(2);
    const { sellPointKey, clientIdKey, method, fingerprint, ip, userAgent } = payer;
    await service.score(platform, {
      sellPointKey,
      clientIdKey,
      amountRequested: amount,
      selectedMethodKey: method,
      toPayCurrency: 'EUR',
      fingerprint,
      ip,
      ...(userAgent === '' ? {} : { userAgent }),
      clientHints: { jsOk: true },
    });
    const order = { payer, orderRef: nameOrder(), amount, triesLeft: triesMax };
    this.#in(chance.between(4, 40) * SECOND_MS, () => this.#ask(order));
  }

  /** Asks for a requisite, and reacts to the answer as this payer does. */
  async #ask(order: Order): Promise<void> {
    const { payer, orderRef, amount } = order;
    const { sellPointKey, clientIdKey, method } = payer;
    const { service, platform, clock } = this.#parts;
    const requestId = `shop-${orderRef}-${clock.now}`;
    const { answer } = await service.verdict(
      platform,
      { sellPointKey, clientIdKey, method, amountRequested: amount, orderRef, toPayCurrency: 'EUR' },
      { requestId, idempotencyKey: null },
    );
    switch (answer.verdict) {
      case 'GET_NEW':
      case 'GET_SAME_STICKY':
        return this.#pay(order);
      case 'WAIT':
        return this.#wait(order, Number(answer.waitSeconds));
      case 'BLOCK':
        return;
      default:
        return answer.verdict satisfies never;
    }
  }

  #pay(order: Order): void {
    const { payer, triesLeft } = order;
    const { chance, state, clock } = this.#parts;
    const isPaid = chance.happens(payer.paidShare * state.bankShare(clock.now));
    const cause = chance.oneOf('DECLINED', 'DECLINED', 'DECLINED', 'EXPIRED', 'CANCELLED');
    const inMs = chance.between(15, isPaid ? 150 : 60) * SECOND_MS;
    this.#in(inMs, () => this.#report(order, isPaid ? null : cause));
    if (isPaid || triesLeft <= 1 || !chance.happens(0.72)) return;
    // A payer who fails tries again within minutes, mostly before the wait is known.
    this.#in(inMs + chance.between(0.2, 4) * MINUTE_MS, () =>
      this.#ask({ ...order, triesLeft: triesLeft - 1 }),
    );
  }

  #wait(order: Order, waitSeconds: number): void {
    const { chance } = this.#parts;
    if (order.triesLeft <= 0) return;
    const next = { ...order, triesLeft: order.triesLeft - 0.5 };
    const isEarly = chance.happens(0.14);
    // The longer the wait, the fewer payers come back.
    if (!isEarly && !chance.happens(Math.exp(-waitSeconds / 260))) return;
    const afterSeconds = isEarly
      ? chance.between(0.1, 0.8) * waitSeconds
      : waitSeconds + chance.between(1, 90);
    this.#in(afterSeconds * SECOND_MS, () => this.#ask(next));
  }

  /** Reports the result of an order. A cause of null means that it was paid. */
  #report(
    { payer: { clientIdKey }, orderRef }: Order,
    cause: 'DECLINED' | 'EXPIRED' | 'CANCELLED' | null,
  ): void {
    const { service, platform, schedule, chance, state, clock } = this.#parts;
    const occurredAt = clock.now;
    const reportedAt = chance.happens(0.03) ? null : state.reportedAt(occurredAt);
    if (reportedAt === null) return;
    const outcome = cause === null ? 'PAID' : 'UNPAID';
    schedule.add(reportedAt, async () => {
      await service.outcome(platform, { clientIdKey, orderRef, outcome, cause, occurredAt });
    });
  }

  #in(ms: number, act: () => Promise<void> | void): void {
    const { schedule, clock } = this.#parts;
    schedule.add(clock.now + Math.round(ms), act);
  }
}
