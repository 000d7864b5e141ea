import { expect } from 'chai';
import type { Exploration } from '../../../src/archive/read/exploration.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

describeOnStores('the exploration of the last hour, on a node without an archive', (store) => {
  const { service, shop } = serviceOfSuite(() => ({ store: store() }));

  async function lastHour(by: string) {
    const path = `explore?span=hour&by=${by}`;
    const { exploration } = (await shop.ask<{ exploration: Exploration }>('GET', path)).body;
    const sums = exploration.values.map(({ value, decisions }) => [value, sum(decisions)]);
    return { slots: exploration.slots.length, all: sum(exploration.all), values: Object.fromEntries(sums) };
  }

  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

  it('has sixty whole minutes, and no older decision', async () => {
    await shop.verdict({ clientIdKey: 'ann', orderRef: 'too old' });
    service.clock.moveSeconds(25 * 3600);
    for (const orderRef of ['first', 'second', 'third']) await shop.verdict({ clientIdKey: 'ann', orderRef });
    expect(await lastHour('verdict')).to.deep.equal({ slots: 60, all: 3, values: { GET_NEW: 1, WAIT: 2 } });
    expect((await lastHour('waitLevel')).values).to.deep.equal({ 1: 1, 2: 1 });
    expect((await lastHour('bot')).values).to.deep.equal({ 'no bot': 3 });
  });

  it('is worked out once for all who ask within ten seconds', async () => {
    service.clock.moveSeconds(10);
    const before = await lastHour('group');
    await shop.verdict({ clientIdKey: 'bob', orderRef: 'newest' });
    expect(await lastHour('group')).to.deep.equal(before);
    service.clock.moveSeconds(10);
    expect((await lastHour('group')).all).to.equal(before.all + 1);
  });
});
