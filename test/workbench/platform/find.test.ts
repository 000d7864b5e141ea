import { expect } from 'chai';
import type { FoundRecords } from '#workbench/payers/find-records.ts';
import { serviceOfSuite } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const NOTHING = { payers: [], orders: [], decisions: [], devices: [], listEntries: [], cut: [] };

describeOnStores('finding by a part of a name', (store) => {
  const { service } = serviceOfSuite(() => ({ store: store() }));
  let shop: Tenant;
  let other: Tenant;

  before(async () => {
    shop = await service.tenant('finding-shop');
    other = await service.tenant('other-shop');
    for (const clientIdKey of ['Maria-77', 'shop-maria']) {
      await shop.score({ clientIdKey, fingerprint: 'phone of maria', ip: '198.51.100.7' });
      await shop.verdict({ clientIdKey, orderRef: `Order-${clientIdKey}` });
    }
    await shop.score({ clientIdKey: 'lurking-maria', fingerprint: 'another phone' });
    await other.score({ clientIdKey: 'maria-elsewhere', fingerprint: 'phone of maria' });
    await other.verdict({ clientIdKey: 'maria-elsewhere', orderRef: 'order-elsewhere' });
  });

  async function find(text: string, of = shop, query = ''): Promise<FoundRecords> {
    const path = `find?text=${encodeURIComponent(text)}${query}`;
    const { status, body } = await of.ask<FoundRecords>('GET', path);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  }

  const payersOf = ({ payers }: FoundRecords) => payers.map(({ clientIdKey }) => clientIdKey);

  it('finds payers of the platform alone, those whose name begins with the part first', async () => {
    const found = await find('MARIA');
    expect(payersOf(found)).to.have.ordered.members(['Maria-77', 'lurking-maria', 'shop-maria']);
    expect(found.orders.map(({ orderRef, verdict }) => `${orderRef} ${verdict}`).toSorted()).to.deep.equal([
      'Order-Maria-77 GET_NEW',
      'Order-shop-maria BLOCK',
    ]);
    expect(found.leftOut).to.deep.equal([]);
    expect(found.lookedAt.complete).to.equal(true);
    expect(found.lookedAt.backTo).to.equal(service.clock.now());
  });

  it('finds nothing of a name that nobody has, and says that all was looked at', async () => {
    const { lookedAt, leftOut, ...found } = await find('nobody');
    expect({ ...found, leftOut }).to.deep.equal({ ...NOTHING, leftOut: [] });
    expect(lookedAt.complete).to.equal(true);
  });

  it('finds a decision by its id, and by the beginning of its request id', async () => {
    const [decision] = await shop.decisions({ clientIdKey: 'Maria-77' });
    const { decisionId = '', requestId = '' } = decision ?? {};
    for (const text of [decisionId, requestId.slice(0, 8), requestId.toUpperCase()])
      expect((await find(text)).decisions.map((one) => one.decisionId)).to.deep.equal([decisionId]);
    expect((await find(requestId.slice(0, 7))).decisions).to.deep.equal([]);
    expect((await find(decisionId, other)).decisions).to.deep.equal([]);
  });

  it("finds the payers on a device and an address, and no other tenant's", async () => {
    for (const [text, kind] of [
      ['phone of maria', 'fingerprint'],
      [' 198.51.100.7:443', 'ip'],
    ]) {
      const { devices } = await find(text ?? '');
      expect(devices.map((one) => [one.kind, one.clients])).to.deep.equal([[kind, 2]]);
      const [device] = devices;
      expect(device?.payers.map(({ clientIdKey }) => clientIdKey)).to.have.members([
        'Maria-77',
        'shop-maria',
      ]);
      expect((await find(device?.value ?? '')).devices).to.deep.equal(devices);
      expect((await find(device?.value ?? '', other)).devices).to.deep.equal([]);
    }
    expect((await find('phone of')).devices).to.deep.equal([]);
  });

  it('finds list entries by a part, by a hidden value, and by an address within a range', async () => {
    const reason = 'shared by a ring';
    for (const [list, kind, value] of [
      ['finding-payers', 'client', 'Maria-77'],
      ['finding-phones', 'fingerprint', 'phone of maria'],
      ['finding-nets', 'ip', '203.0.113.0/24'],
    ]) {
      await shop.ask('PUT', `lists/${list}`, { kind });
      await shop.ask('PUT', `lists/${list}/entries?value=${encodeURIComponent(value ?? '')}`, { reason });
    }
    const listsWith = async (text: string) => (await find(text)).listEntries.map(({ list }) => list);
    expect(await listsWith('maria')).to.deep.equal(['finding-payers']);
    expect(await listsWith('phone of maria')).to.deep.equal(['finding-phones']);
    expect(await listsWith('203.0.113')).to.deep.equal(['finding-nets']);
    expect(await listsWith('203.0.113.55')).to.deep.equal(['finding-nets']);
    expect(await listsWith('shared by')).to.deep.equal([]);
    expect((await find('maria', other)).listEntries).to.deep.equal([]);
  });

  it('puts list entries whose value begins with the text first, then the newest', async () => {
    await shop.ask('PUT', 'lists/finding-methods', { kind: 'method' });
    for (const value of ['a-wire', 'wire-a', 'WIRE-b', 'old-wire'])
      await shop.ask('PUT', `lists/finding-methods/entries?value=${value}`, { reason: 'a test' });
    const ended = { reason: 'a test', expiresAt: new Date(service.clock.now() + 1000).toISOString() };
    await shop.ask('PUT', 'lists/finding-methods/entries?value=ended-wire', ended);
    service.clock.moveSeconds(2);
    const { listEntries } = await find('wire');
    expect(listEntries.map(({ value, hasEnded }) => (hasEnded ? `${value}, ended` : value))).to.deep.equal([
      'WIRE-b',
      'wire-a',
      'ended-wire, ended',
      'old-wire',
      'a-wire',
    ]);
    const cut = await find('wire', shop, '&limit=3');
    expect([cut.listEntries.length, cut.cut]).to.deep.equal([3, ['listEntries']]);
  });

  it('leaves out what the key may not read, and names it', async () => {
    await shop.ask('PUT', 'lists/finding-payers', { kind: 'client' });
    await shop.ask('PUT', 'lists/finding-payers/entries?value=maria-x', { reason: 'a test' });
    const reads = async (grant: 'clients:read' | 'decisions' | 'lists:read') => {
      const { payers, orders, listEntries, leftOut } = await find(
        'maria',
        await service.tenant('finding-shop', [grant]),
      );
      return { found: [payers.length, orders.length, listEntries.length > 0], leftOut };
    };
    expect(await reads('clients:read')).to.deep.equal({
      found: [3, 0, false],
      leftOut: ['orders', 'decisions', 'listEntries'],
    });
    // Who may read decisions alone finds the payers whom decisions name.
    expect(await reads('decisions')).to.deep.equal({
      found: [2, 2, false],
      leftOut: ['devices', 'listEntries'],
    });
    expect(await reads('lists:read')).to.deep.equal({
      found: [0, 0, true],
      leftOut: ['payers', 'orders', 'decisions', 'devices'],
    });
  });

  it('is refused to a key that may read none of it', async () => {
    const figures = await service.tenant('finding-shop', ['figures']);
    const { status, body } = await figures.ask<{ code: string }>('GET', 'find?text=maria');
    expect([status, body.code]).to.deep.equal([403, 'not-provisioned-for-find']);
  });

  it('refuses a text of one character', async () => {
    const { status, body } = await shop.ask('GET', 'find?text=%F0%9F%90%8D');
    expect([status, body.detail]).to.deep.equal([400, 'The parameter text must have at least 2 characters.']);
    expect((await find('🐍🐍')).payers).to.deep.equal([]);
  });

  it('cuts each kind at the limit, and says so', async () => {
    const { payers, orders, cut } = await find('maria', shop, '&limit=2');
    expect([payers.length, orders.length]).to.deep.equal([2, 2]);
    expect(cut).to.deep.equal(['payers']);
  });

  it('finds nothing of a payer who was erased', async () => {
    const payer = { clientIdKey: 'gone-ida', fingerprint: 'phone of ida' };
    await shop.score(payer);
    await shop.verdict({ clientIdKey: payer.clientIdKey, orderRef: 'gone-order' });
    const [decision] = await shop.decisions({ clientIdKey: payer.clientIdKey });
    await shop.ask('PUT', 'lists/gone', { kind: 'client' });
    await shop.ask('PUT', 'lists/gone/entries?value=gone-ida', { reason: 'a test' });
    expect(payersOf(await find('gone-'))).to.deep.equal(['gone-ida']);
    await shop.ask('DELETE', 'client?clientIdKey=gone-ida');
    for (const text of [
      'gone-',
      'gone-ida',
      'phone of ida',
      decision?.decisionId ?? '',
      decision?.requestId ?? '',
    ]) {
      const { lookedAt: _, leftOut: __, ...found } = await find(text);
      expect(found, text).to.deep.equal(NOTHING);
    }
  });
});
