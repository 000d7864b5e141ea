import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { DEVICE_CLIENTS_MAX } from '#history/archive/read/linked-clients.ts';
import { Audit } from '#workbench/access/audit.ts';
import type { ClientLinks } from '#workbench/payers/client-links.ts';
import { ArchivedStore } from '../../../history/archive/archived-store.ts';
import { liveRings, pays, type RingWorld } from '../../../service/ring-world.ts';
import { type RunningService, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';

const WEEK_SECONDS = 7 * 24 * 3600;

describeOnStores('the links of a client', (store) => {
  let place: ArchivedStore;
  let reader: ArchiveReader;
  let service: RunningService;
  let shop: Tenant;
  let rival: Tenant;
  let world: RingWorld;
  const recorded: { readonly at: number; readonly links: readonly ClientLinks[] }[] = [];

  before(async () => {
    place = await ArchivedStore.open(store());
    reader = place.reader();
    service = await startService({ store: store(), archive: reader });
    shop = await service.tenant('shop');
    rival = await service.tenant('rival');
    await pays(rival, 'ring-0-0', 0, { fingerprint: 'ring-0-0', ip: '198.51.100.0' });
    await pays(rival, 'stranger', 0, { fingerprint: 'ring-0-0', ip: '198.51.100.0' });
    // The last two weeks are in the journal alone.
    world = await liveRings(shop, 8, async (week) => {
      if (week === 1) await shop.override('wife', 'TRUSTED');
      if (week === 3) await shop.ask('DELETE', 'client/override?clientIdKey=wife');
      recorded.push({ at: service.clock.now(), links: await linksThen() });
      service.clock.moveSeconds(WEEK_SECONDS);
      if (week === 2) await ship();
    });
  });
  after(async () => {
    await service?.stop();
    await place?.release();
  });

  const ship = () => place.shipAll(place.shipper({ clock: service.clock.now }));

  async function linksOf(clientIdKey: string, query = '', tenant = shop): Promise<ClientLinks> {
    const path = `client/links?clientIdKey=${encodeURIComponent(clientIdKey)}${query}`;
    const { status, body } = await tenant.ask<ClientLinks>('GET', path);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  }

  const linksThen = (query = '') =>
    Promise.all(['ring-0-0', 'wife'].map((clientIdKey) => linksOf(clientIdKey, query)));

  const keysOf = ({ clients }: ClientLinks) => clients.map(({ clientIdKey }) => clientIdKey);

  function figuresOf({ clients }: ClientLinks, clientIdKey: string) {
    return clients.find((one) => one.clientIdKey === clientIdKey) ?? expect.fail(`${clientIdKey} is linked`);
  }

  /** Of each ring the member with both devices, and two with one device each. */
  const asked = () =>
    world.rings.flatMap((ring) => ring.slice(0, 3).map((member) => [ring, member] as const));

  it('include every member of each planted ring, from any of its members', async () => {
    for (const ring of world.rings)
      for (const member of ring) expect(keysOf(await linksOf(member)), member).to.include.members([...ring]);
  });

  it('propose most members of a ring, and nobody else', async () => {
    for (const [ring, member] of asked()) {
      const { proposal } = await linksOf(member);
      expect(ring, member).to.include.members([...proposal.clients]);
      // Not those with a recent payment, whose reversal is not known yet.
      expect(proposal.clients.length, member).to.be.at.least(3);
    }
  });

  it('are with asOf as they were answered then, including trusted clients', async () => {
    expect(recorded.map(({ links }) => links[1]?.clients[0]?.override)).to.deep.equal([
      null,
      'TRUSTED',
      'TRUSTED',
      null,
      null,
    ]);
    expect(new Set(recorded.map(({ links }) => JSON.stringify(links[0]?.clients))).size).to.equal(5);
    for (const { at, links } of recorded) {
      const nobody = { at, erasedPayers: 0, erasedRows: 0 };
      expect(await linksThen(`&asOf=${at}`)).to.deep.equal(links.map((one) => ({ ...one, asOf: nobody })));
    }
  });

  it('leave out an innocent neighbour on a shared address', async () => {
    const [ring = []] = world.rings;
    const links = await linksOf(ring[0] ?? '');
    const { tie, proposed, orders, money } = figuresOf(links, world.neighbour);
    expect({ tie, proposed, orders, money }).to.deep.equal({
      tie: 'address',
      proposed: false,
      orders: { paid: 5, reversed: 0, unpaid: 0, turnedAway: 0, unknown: 0 },
      money: { EUR: { paid: 125, reversed: 0, unpaid: 0 } },
    });
  });

  it('say which paying clients a block of each device and address would refuse', async () => {
    const [ring = []] = world.rings;
    const { devices } = await linksOf(ring[0] ?? '');
    const refused = devices.find(
      ({ kind, clients }) => kind === 'ip' && clients === ring.length + 1,
    )?.refused;
    // The last payments of two members are not reversed yet; the neighbour paid five times.
    expect(refused).to.deep.equal({ clients: 6, payers: 3, orders: 7, money: { EUR: 175 } });
  });

  it('propose nobody among payers who share a device', async () => {
    const { proposal, clients } = await linksOf('wife');
    expect(clients.map(({ clientIdKey, tie }) => [clientIdKey, tie])).to.deep.equal([
      ['wife', 'self'],
      ['husband', 'device'],
    ]);
    expect(proposal).to.deep.equal({ clients: [], refused: { clients: 0, payers: 0, orders: 0, money: {} } });
  });

  it('never include clients of another platform', async () => {
    expect(keysOf(await linksOf('stranger', '', rival))).to.deep.equal(['stranger', 'ring-0-0']);
    for (const ring of world.rings) expect(keysOf(await linksOf(ring[0] ?? ''))).not.to.include('stranger');
  });

  it('reach a step further with depth 2, and back over the given number of days', async () => {
    for (const [clientIdKey, device] of [
      ['first', 'a'],
      ['middle', 'a'],
      ['middle', 'b'],
      ['last', 'b'],
    ])
      await shop.score({ clientIdKey, fingerprint: `chain-${device}` });
    expect(keysOf(await linksOf('first', '&depth=1'))).to.deep.equal(['first', 'middle']);
    expect(keysOf(await linksOf('first', '&depth=2'))).to.deep.equal(['first', 'middle', 'last']);
    service.clock.moveSeconds(2 * 24 * 3600);
    expect(keysOf(await linksOf('first', '&days=1'))).to.deep.equal(['first']);
  });

  it('are cut at the limit, the weakest links first', async () => {
    const links = await linksOf('ring-0-0', '&limit=5');
    expect(keysOf(links)).not.to.include(world.neighbour);
    expect(links.cut).to.deep.equal({ devices: 0, clients: 1 });
  });

  it('show overrides and lists', async () => {
    await shop.override('ring-1-1', 'TRUSTED');
    await shop.ask('PUT', 'lists/ring-list', { kind: 'client' });
    await shop.ask('PUT', 'lists/ring-list/entries?value=ring-1-2', { reason: 'a ring' });
    const links = await linksOf('ring-1-0');
    const told = ['ring-1-1', 'ring-1-2'].map((one) => {
      const { override, lists, proposed } = figuresOf(links, one);
      return { override, lists, proposed };
    });
    expect(told).to.deep.equal([
      { override: 'TRUSTED', lists: [], proposed: false },
      { override: null, lists: ['ring-list'], proposed: true },
    ]);
  });

  it('show a device with very many clients, without following it', async () => {
    const many = Array.from({ length: DEVICE_CLIENTS_MAX + 5 }, (_, index) => `guest-${index}`);
    const guests = (some: readonly string[]) =>
      Promise.all(some.map((clientIdKey) => shop.score({ clientIdKey, fingerprint: 'terminal' })));
    await guests(many.slice(0, 20));
    await ship();
    await guests(many.slice(10));
    const { clients, devices } = await linksOf('guest-0');
    expect(clients.map(({ clientIdKey }) => clientIdKey)).to.deep.equal(['guest-0']);
    const shown = devices.map((one) => [one.clients, one.followed, one.refused]);
    expect(shown).to.deep.equal([[many.length, false, null]]);
  });

  it('have no times of a payer who was seen on no device', async () => {
    await shop.verdict({ clientIdKey: 'no-device' });
    const { clients } = await linksOf('no-device');
    expect(clients.map(({ firstAt, lastAt }) => [firstAt, lastAt])).to.deep.equal([[null, null]]);
  });

  it('do not include an erased client, neither before nor after the archive removed it', async () => {
    const ring = world.rings[2] ?? [];
    await shop.ask('DELETE', 'client?clientIdKey=ring-2-4');
    expect(keysOf(await linksOf('ring-2-0'))).to.have.members(ring.slice(0, 4));
    await ship();
    expect(keysOf(await linksOf('ring-2-0'))).to.have.members(ring.slice(0, 4));
  });

  it('say how many payers were erased since a time in the past', async () => {
    const at = recorded[1]?.at ?? 0;
    const erasedSince = async () => (await linksOf('ring-1-0', `&asOf=${at}`)).asOf;
    expect(await erasedSince()).to.deep.include({ at, erasedPayers: 1 });
    // Of each week a score, a decision and its outcome.
    expect((await erasedSince())?.erasedRows).to.be.at.least(5 * 3);
    await shop.ask('DELETE', 'client?clientIdKey=ring-2-3');
    expect(await erasedSince()).to.deep.include({ at, erasedPayers: 2 });
    // Stores note an erasure by the machine's clock.
    const later = Math.max(service.clock.now(), Date.now());
    expect((await linksOf('ring-1-0', `&asOf=${later}`)).asOf?.erasedPayers).to.equal(0);
  });

  it('are empty for an unknown client, and noted in the audit', async () => {
    expect((await shop.ask('GET', 'client/links?clientIdKey=nobody')).status).to.equal(404);
    const { entries } = await new Audit(store().auditLog, service.clock.now).read(null, 500);
    const read = entries.filter(({ action }) => action === 'client read').map(({ subject }) => subject);
    expect(read).to.include('ring-1-0');
    expect(read).not.to.include('nobody');
  });

  it('are marked incomplete when a file of the archive cannot be read', async () => {
    expect((await linksOf('husband')).complete).to.equal(true);
    const segments = place.archive.listSegments(place.archive.read(), { table: 'scores' });
    for (const segment of segments) writeFileSync(place.archive.getSegmentPath(segment), 'torn');
    expect((await linksOf('husband')).complete).to.equal(false);
  });
});
