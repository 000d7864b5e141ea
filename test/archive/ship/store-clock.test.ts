import { expect } from 'chai';
import { exactSystemClock } from '../../../src/clock.ts';
import { storeClock } from '../../../src/state/clock-offset.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { newClient, verdict } from '../../state/clients.ts';
import { emptyRedisUrl } from '../../stores/empty-redis.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { ArchivedStore } from '../archived-store.ts';

const DAY_MS = 86_400_000;

describeWithServer('redis-server', 'a node whose clock jumps two years ahead', () => {
  it('keeps rows for ARCHIVE_KEEP by the clock of the store', async () => {
    const url = await emptyRedisUrl();
    let aheadMs = 0;
    const clock = () => exactSystemClock() + aheadMs;
    const right = await openPatiently(url);
    await verdict(right, newClient(), 'order-1', Date.now());
    await right.close();
    const place = await ArchivedStore.open(await openPatiently(url, { clock }));
    const shipping = { clock: storeClock(clock, place.store), keepMs: 400 * DAY_MS };
    try {
      await place.shipAll(place.shipper(shipping));
      aheadMs = 730 * DAY_MS;
      await place.shipAll(place.shipper(shipping));
      expect(place.archive.contents().segments).to.equal(1);
    } finally {
      await place.close();
    }
  });
});
