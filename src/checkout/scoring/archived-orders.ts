import { setTimeout as delay } from 'node:timers/promises';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ArchivedOrder, AskedOrder } from '#decision/payer/order.ts';
import { StoreUnavailable } from '#state/store-errors.ts';

type FindOrders = (platform: PlatformName, asked: readonly AskedOrder[]) => Promise<readonly ArchivedOrder[]>;

/** How long a reading waits after its first question: reports mostly come many at once, and no payer waits for them. */
const GATHERING_MS = 20;

const NOTHING_ARCHIVED: ArchivedOrder = { known: null, exposure: 'notAsked' };

/** Questions that wait for their turn, by platform. */
interface Waiting {
  readonly asked: AskedOrder[];
  readonly answer: Promise<readonly ArchivedOrder[]>;
}

/**
 * Orders that the store does not know any more. Questions that come while the archive is being read share the next
 * reading: many orders cost little more than one.
 */
export class ArchivedOrders {
  readonly #find: FindOrders;
  readonly #waiting = new Map<PlatformName, Waiting>();
  #free: Promise<unknown> = Promise.resolve();

  constructor(find: FindOrders) {
    this.#find = find;
  }

  static of(archive: { readonly orders: FindOrders }): ArchivedOrders {
    return new ArchivedOrders((platform, asked) => archive.orders(platform, asked));
  }

  /** Throws StoreUnavailable when that is not known. */
  async find(asked: AskedOrder): Promise<ArchivedOrder> {
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
    const asked: AskedOrder[] = [];
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
 * The orders of a request that tells of many: when the archive is asked for one of them, it is asked for all that are
 * expected, too, because reading months for one order costs nearly as much as for a thousand. Its answer stays right
 * until the report is recorded: the store remembers for days whatever changes an order meanwhile.
 */
export class ExpectedOrders {
  readonly #orders: Pick<ArchivedOrders, 'find'>;
  readonly #expected = new Map<string, AskedOrder>();
  readonly #found = new Map<string, Promise<ArchivedOrder>>();

  constructor(orders: Pick<ArchivedOrders, 'find'>) {
    this.#orders = orders;
  }

  expect(asked: AskedOrder): void {
    this.#expected.set(nameOf(asked), asked);
  }

  /** Throws StoreUnavailable when that is not known. */
  find(asked: AskedOrder): Promise<ArchivedOrder> {
    const known = this.#found.get(nameOf(asked));
    if (known !== undefined) return known;
    this.#expected.set(nameOf(asked), asked);
    for (const [name, order] of this.#expected) {
      const found = this.#orders.find(order);
      // Its report may never ask.
      found.catch(() => {});
      this.#found.set(name, found);
    }
    this.#expected.clear();
    return this.find(asked);
  }

  /** Its report is through. */
  forget(asked: AskedOrder): void {
    this.#expected.delete(nameOf(asked));
    this.#found.delete(nameOf(asked));
  }
}

function nameOf({ client, orderRef }: AskedOrder): string {
  return `${client.hash}/${orderRef}`;
}
