import { expect } from 'chai';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type ClientState, toShortHash, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import type { Store } from '#state/store.ts';
import { ReportingWatch } from '#workbench/monitoring/reporting.ts';
import { eventAt } from '../../decision/payer/event-at.ts';
import { newPlatform } from '../../state/clients.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const SHOP = toPlatformName('shop');
const MINUTE_MS = 60_000;
const START_MS = 1_800_000_000_000;

/** A payer who was granted a requisite for an order. */
function grantedAt(at: number, order: string): ClientState {
  return { ...UNKNOWN_CLIENT_STATE, events: [eventAt(at, { order: toShortHash(order), granted: true })] };
}

describeOnStores('whether a platform still reports', (store) => {
  let nowMs = START_MS;
  const watches: ReportingWatch[] = [];
  const watch = (registers: Store['registers'] = store().registers) => {
    const made = new ReportingWatch({ registers, clock: () => nowMs, onTrouble: () => {} });
    watches.push(made);
    return made;
  };
  after(() => Promise.all(watches.map((one) => one.stop())));

  /** Orders a minute apart, of which some are reported four minutes later, by another node. */
  function lives(nodes: readonly [ReportingWatch, ReportingWatch], platform = SHOP) {
    let number = 0;
    return async (orders: number, isReported: (order: number) => boolean) => {
      for (const last = number + orders; number < last; number++) {
        nowMs += MINUTE_MS;
        nodes[0].granted(platform, grantedAt(nowMs, `order-${number}`));
        await nodes[0].share();
        const late = number - 4;
        if (late < 0 || !isReported(late)) continue;
        const state = grantedAt(nowMs - 4 * MINUTE_MS, `order-${late}`);
        nodes[1].reported(platform, state, `order-${late}`, nowMs);
        await nodes[1].share();
      }
    };
  }

  it('is known to all nodes: how long reports take, which orders wait for one, and that they stopped', async () => {
    const platform = newPlatform();
    const nodes = [watch(), watch()] as const;
    const live = lives(nodes, platform);
    await live(100, () => true);
    const usual = await nodes[0].of(platform);
    expect(usual).to.deep.include({ newestAt: nowMs, awaited: 0, awaitedSince: null, stopped: false });
    expect(usual.usualMs).to.be.within(4 * MINUTE_MS, 5 * MINUTE_MS);
    expect(usual.unreportedShare).to.be.within(0, 0.05);
    const silentSince = nowMs + MINUTE_MS;
    await live(49, () => false);
    expect((await nodes[1].of(platform)).stopped, '49 orders').to.equal(false);
    await live(200, () => false);
    await nodes[1].share();
    const silent = nodes[1].known().get(platform);
    expect(silent).to.deep.include({ awaited: 249, awaitedSince: silentSince, stopped: true });
    expect(silent?.unreportedShare).to.be.above(0.5);
    await live(1, () => true);
    expect(await nodes[0].of(platform)).to.deep.include({ newestAt: nowMs, awaited: 0, stopped: false });
  });

  it('is no news where a platform never reported, or of few orders only', async () => {
    for (const every of [Number.POSITIVE_INFINITY, 10]) {
      const platform = newPlatform();
      const live = lives([watch(), watch()], platform);
      await live(700, (order) => order % every === 9);
      await live(300, () => false);
      expect((await watches.at(-1)?.of(platform))?.stopped, String(every)).to.equal(false);
    }
  });

  it('is not asked of a night without orders: silence begins with the first order', async () => {
    const platform = newPlatform();
    const nodes = [watch(), watch()] as const;
    await lives(nodes, platform)(100, () => true);
    nowMs += 8 * 60 * MINUTE_MS;
    for (let order = 0; order < 60; order++) nodes[0].granted(platform, grantedAt(nowMs, `morning-${order}`));
    nowMs += 10 * MINUTE_MS;
    expect((await nodes[1].of(platform)).awaited).to.equal(0);
    expect(await nodes[0].of(platform)).to.deep.include({ awaited: 60, stopped: false });
    nowMs += 6 * MINUTE_MS;
    expect((await nodes[1].of(platform)).stopped).to.equal(true);
  });

  it('loses nothing that a node saw while the store was away', async () => {
    const platform = newPlatform();
    let isAway = true;
    const { registers } = store();
    const away = watch({
      ...registers,
      compareAndSet: (...asked) =>
        isAway ? Promise.reject(new Error('away')) : registers.compareAndSet(...asked),
    });
    away.granted(platform, grantedAt(nowMs, 'a'));
    expect(await away.share().catch(({ message }) => message)).to.equal('away');
    away.granted(platform, grantedAt(nowMs, 'b'));
    isAway = false;
    expect((await away.of(platform)).awaited).to.equal(2);
  });

  it('counts an order once, however often it is granted and reported', async () => {
    const platform = newPlatform();
    const node = watch();
    const first = grantedAt(nowMs, 'a');
    const again = {
      ...first,
      events: [...first.events, eventAt(nowMs, { order: toShortHash('a'), granted: true })],
    };
    node.granted(platform, first);
    node.granted(platform, again);
    expect((await node.of(platform)).awaited).to.equal(1);
  });
});
