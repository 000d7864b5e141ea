import { expect } from 'chai';
import type { ShippingTurn } from '../../../src/archive/ship/shipper.ts';
import { keepShipping } from '../../../src/archive/ship/shipping.ts';
import { platformName } from '../../../src/client/client-key.ts';
import { newClient, T0, verdict } from '../../state/clients.ts';
import { ArchivedStore } from '../archived-store.ts';

describe('shipping with new entries at every step', () => {
  const platform = platformName('shop');
  let place: ArchivedStore;
  let orders = 0;
  beforeEach(async () => {
    place = await ArchivedStore.open();
    orders = 0;
  });
  afterEach(() => place.close());

  const newOrder = () => verdict(place.store, newClient(platform), `order-${++orders}`, T0 + orders);
  const segments = () => place.archive.segments(place.archive.read(), { table: 'decisions', platform });
  const oldest = () => Math.min(...segments().map(({ from }) => from));

  /** Ships with a new order before every step, up to a number of orders or until the condition is true. */
  async function keepBusy(ordersMax: number, holds: () => boolean, keepMs = 400 * 24 * 3_600_000) {
    const ending = new AbortController();
    const shipper = place.shipper({ keepMs });
    const turns: ShippingTurn[] = [];
    await keepShipping({
      step: async (turn) => {
        turns.push(turn);
        await newOrder();
        const done = await shipper.step(turn);
        if (orders >= ordersMax || holds()) ending.abort();
        return done;
      },
      contents: () => place.archive.contents(),
      clock: Date.now,
      signal: ending.signal,
      onReport: ({ trouble }) => expect(trouble).to.equal(null),
      everyMs: 1,
    });
    return turns;
  }

  it('merges small segments', async () => {
    const merged = () => segments().some(({ rows }) => rows >= 10);
    await keepBusy(100, merged);
    expect(merged()).to.equal(true);
  });

  it('removes what is past its retention', async () => {
    // The shipper's clock is an hour after T0.
    await keepBusy(20, () => segments().length === 0, 3_600_000 - 5);
    await place.shipper().step();
    expect(oldest()).to.be.above(T0 + 1);
  });

  it('ships new entries at least at every other step', async () => {
    const turns = await keepBusy(12, () => false);
    expect(turns.filter((turn) => turn === 'ship').length).to.be.at.least(6);
  });
});
