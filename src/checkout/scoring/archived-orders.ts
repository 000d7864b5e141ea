import { setTimeout as delay } from 'node:timers/promises';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ArchivedOrder, ClientOrder } from '#decision/payer/order.ts';
import { StoreUnavailable } from '#state/store-errors.ts';

type FindOrders = (
  platform: PlatformName,
  asked: readonly ClientOrder[],
) => Promise<readonly ArchivedOrder[]>;

/**
 * How long a read of the archive waits for further questions after the first one. Most reports arrive in large
 * numbers, and no payer waits for them.
 */
const GATHERING_MS = 20;

const NOTHING_ARCHIVED: ArchivedOrder = { known: null, orderStage: 'notAsked' };

/** Questions of a platform that wait for the next read. */
interface Waiting {
  readonly asked: ClientOrder[];
  readonly answer: Promise<readonly ArchivedOrder[]>;
}

/**
 * Finds orders that the store has forgotten. Questions that come while the archive is being read share the next read,
 * because reading many orders takes little longer than reading one.
 */
export class ArchivedOrders {
  readonly #find: FindOrders;
  readonly #waiting = new Map<PlatformName, Waiting>();
  #free: Promise<unknown> = Promise.resolve();

  constructor(find: FindOrders) {
    this.#find = find;
  }

  static of(archive: { readonly readOrders: FindOrders }): ArchivedOrders {
    return new ArchivedOrders((platform, asked) => archive.readOrders(platform, asked));
  }

  /** Throws StoreUnavailable if the archive cannot be read. */
  async find(asked: ClientOrder): Promise<ArchivedOrder> {
    const { platform } = asked.client;
    const waiting = this.#waiting.get(platform) ?? this.#next(platform);
    const place = waiting.asked.push(asked) - 1;
    try {
      return (await waiting.answer)[place] ?? NOTHING_ARCHIVED;
    } catch (cause) {
      if (cause instanceof StoreUnavailable) throw cause;
      throw new StoreUnavailable('the archive cannot be read, and the order may be there', { cause });
    }
  }

  #next(platform: PlatformName): Waiting {
    const asked: ClientOrder[] = [];
    const answer = this.#free.then(async () => {
      await delay(GATHERING_MS);
      this.#waiting.delete(platform);
      return this.#find(platform, asked);
    });
    this.#free = answer.catch(() => {});
    const waiting = { asked, answer };
    this.#waiting.set(platform, waiting);
    return waiting;
  }
}

/**
 * Finds the orders of a request that reports many outcomes. The first question to the archive asks for all of these
 * orders in one read. Reading months of the archive for one order takes nearly as long as for a thousand. An answer
 * stays valid until its report is recorded: the store keeps every newer change of the order for days.
 */
export class PrefetchedOrders {
  readonly #orders: Pick<ArchivedOrders, 'find'>;
  readonly #expected = new Map<string, ClientOrder>();
  readonly #found = new Map<string, Promise<ArchivedOrder>>();

  constructor(orders: Pick<ArchivedOrders, 'find'>) {
    this.#orders = orders;
  }

  expect(asked: ClientOrder): void {
    this.#expected.set(formatOrderKey(asked), asked);
  }

  /** Throws StoreUnavailable if the archive cannot be read. */
  find(asked: ClientOrder): Promise<ArchivedOrder> {
    const known = this.#found.get(formatOrderKey(asked));
    if (known !== undefined) return known;
    this.#expected.set(formatOrderKey(asked), asked);
    for (const [name, order] of this.#expected) {
      const found = this.#orders.find(order);
      // The report of this order may never ask for the answer. Nobody would handle a rejection then.
      found.catch(() => {});
      this.#found.set(name, found);
    }
    this.#expected.clear();
    return this.find(asked);
  }

  /** Drops an order whose report is recorded. */
  forget(asked: ClientOrder): void {
    this.#expected.delete(formatOrderKey(asked));
    this.#found.delete(formatOrderKey(asked));
  }
}

function formatOrderKey({ client, orderRef }: ClientOrder): string {
  return `${client.hash}/${orderRef}`;
}
