import { expect } from 'chai';
import { CLIENTS_ON_DEVICE_MAX, NO_SHARING_QUESTION } from '#decision/facts/fact.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import type { Store } from '#state/store.ts';
import { askFor, MINUTE_MS, newClient, newPlatform, T0, verdictOn } from './clients.ts';

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const CARD = { name: 'card', value: 'hmac:4242' };

/** What every adapter does with values of attributes that clients share. */
export function describeAttributeSightings(store: () => Store): void {
  const note = (client: ClientKey, value = CARD, at = T0) =>
    store().sightings(askFor(client, { at, attributes: [{ ...value, windowsMs: [] }], record: true }));

  const count = async (client: ClientKey, at = T0, windowMs = HOUR_MS, value = CARD) => {
    const attributes = [{ ...value, windowsMs: [windowMs] }];
    const seen = await store().sightings(askFor(client, { at, attributes }));
    return seen.attributes?.get(value.name)?.get(windowMs);
  };

  it('count the asking client, whether noted or not', async () => {
    const client = newClient();
    expect(await count(client)).to.equal(1);
    await note(client);
    await note(client, CARD, T0 + 1);
    expect(await count(client)).to.equal(1);
  });

  it('count the clients within each window, and none on its edge', async () => {
    const platform = newPlatform();
    await note(newClient(platform), CARD, T0);
    await note(newClient(platform), CARD, T0 + HOUR_MS);
    const asking = newClient(platform);
    expect(await count(asking, T0 + HOUR_MS)).to.equal(2);
    expect(await count(asking, T0 + HOUR_MS - 1)).to.equal(3);
    expect(await count(asking, T0 + 2 * HOUR_MS, 7 * DAY_MS)).to.equal(3);
  });

  it('tell platforms, attributes and values apart', async () => {
    const platform = newPlatform();
    await note(newClient(platform));
    await note(newClient());
    expect(await count(newClient(platform))).to.equal(2);
    expect(await count(newClient(platform), T0, HOUR_MS, { ...CARD, name: 'iban' })).to.equal(1);
    expect(await count(newClient(platform), T0, HOUR_MS, { ...CARD, value: 'hmac:4243' })).to.equal(1);
  });

  it('are counted in the same call as devices, each by itself', async () => {
    const platform = newPlatform();
    const question = { ...NO_SHARING_QUESTION, windowsMs: [HOUR_MS] };
    const sharing = { fingerprint: question, ip: question };
    const ask = (client: ClientKey, fingerprint: string) => ({
      ...askFor(client, { fingerprint, ip: 'i', sharing, record: true }),
      attributes: [
        { ...CARD, windowsMs: [HOUR_MS, DAY_MS] },
        { name: 'mail', value: `hmac:${fingerprint}`, windowsMs: [DAY_MS] },
      ],
    });
    await store().sightings(ask(newClient(platform), 'one'));
    await store().sightings(ask(newClient(platform), 'two'));
    const seen = await store().sightings(ask(newClient(platform), 'two'));
    const clients = [seen.fingerprint, seen.ip].map((windows) => windows.get(HOUR_MS)?.clients);
    expect(clients).to.deep.equal([2, 3]);
    expect([...(seen.attributes?.get('card') ?? [])]).to.deep.equal([
      [HOUR_MS, 3],
      [DAY_MS, 3],
    ]);
    expect([...(seen.attributes?.get('mail') ?? [])]).to.deep.equal([[DAY_MS, 2]]);
  });

  it(`remember the newest ${CLIENTS_ON_DEVICE_MAX} clients of a value`, async () => {
    const platform = newPlatform();
    const clients = Array.from({ length: CLIENTS_ON_DEVICE_MAX + 5 }, () => newClient(platform));
    for (const [index, client] of clients.entries()) await note(client, CARD, T0 + index);
    const at = T0 + clients.length;
    expect(await count(newClient(platform), at)).to.equal(CLIENTS_ON_DEVICE_MAX);
    expect(await count(newClient(platform), at, clients.length)).to.equal(CLIENTS_ON_DEVICE_MAX);
  }).timeout(60_000);

  it('are counted by the one that more clients have, where an attribute is asked for under two secrets', async () => {
    const platform = newPlatform();
    const values = ['former', 'new'].map((value) => ({ name: 'card', value: `hmac:${value}` }));
    const ask = async (order: typeof values) => {
      const attributes = order.map((value) => ({ ...value, windowsMs: [HOUR_MS, DAY_MS] }));
      const seen = await store().sightings(askFor(newClient(platform), { attributes }));
      return [...(seen.attributes ?? [])].map(([name, counts]) => [name, ...counts.values()]);
    };
    for (const value of values.slice(0, 1))
      for (const client of [newClient(platform), newClient(platform)]) await note(client, value);
    for (const value of values) await note(newClient(platform), value);
    expect(await ask(values)).to.deep.equal([['card', 4, 4]]);
    expect(await ask(values.toReversed())).to.deep.equal([['card', 4, 4]]);
  });

  it('are forgotten with a client whose score holds them under two secrets, though no verdict was recorded', async () => {
    const platform = newPlatform();
    const client = newClient(platform);
    const attribute = { name: 'card', value: 'hmac:held', formerValue: 'hmac:former' };
    const values = [attribute.value, attribute.formerValue].map((value) => ({ name: 'card', value }));
    const { state, ...change } = verdictOn(client, await store().load(client), 'order-1');
    const shown = [{ hint: { kind: 'attribute', id: '', attribute }, lastAt: T0 }] as const;
    await store().commit({ ...change, state: { ...state, hints: { scoredAt: T0, shown, asked: [] } } });
    for (const value of values) await note(client, value);
    await store().erase(client);
    for (const value of values)
      expect(await count(newClient(platform), T0, HOUR_MS, value), value.value).to.equal(1);
  });

  it('are forgotten with their client, by each verdict that noted one', async () => {
    const platform = newPlatform();
    const client = newClient(platform);
    const values = ['old', 'new'].map((value) => ({ name: 'card', value: `hmac:${value}` }));
    for (const value of values) {
      await note(client, value);
      const change = verdictOn(client, await store().load(client), value.value);
      await store().commit({ ...change, notedAttributes: [value] });
      await note(newClient(platform), value);
      expect(await count(newClient(platform), T0, HOUR_MS, value)).to.equal(3);
    }
    await store().erase(client);
    for (const value of values)
      expect(await count(newClient(platform), T0, HOUR_MS, value), value.value).to.equal(2);
  });
}
