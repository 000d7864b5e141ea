import { expect } from 'chai';
import fc from 'fast-check';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import {
  type FoundNames,
  findNames,
  NAME_SEARCH_LIMITS,
  type NameSearch,
  PAYER_TABLES,
} from '#history/archive/read/name-search.ts';
import { commitEachKind, newClient, newPlatform, paymentOf, T0, verdict } from '../../../state/clients.ts';
import type { ArchivedStore } from '../archived-store.ts';
import { describeOnArchives } from '../describe-on-archives.ts';

const HOUR_MS = 3_600_000;

describeOnArchives('a search for a part of a name', (store, open) => {
  const platform = newPlatform();
  const client = (clientIdKey: string) => newClient(platform, clientIdKey);
  let place: ArchivedStore;
  let reader: ArchiveReader;

  before(async () => {
    place = await open();
    await verdict(store(), client('shop-Ann-1'), 'order-1', T0);
    await verdict(store(), client('annika'), 'order-2', T0 + HOUR_MS);
    await verdict(store(), newClient(newPlatform(), 'ann of another platform'), 'ANN-7', T0);
    await verdict(store(), client('erased-ann-shipped'), 'erased-1', T0);
    await verdict(store(), client('ANN'), 'order-3', T0 - HOUR_MS);
    await place.shipAll();
    await verdict(store(), client('erased-ann'), 'erased-2', T0);
    await verdict(store(), client('annika'), 'ann-of-the-journal', T0 + 2 * HOUR_MS);
    const imported = client('of another system');
    await store().commit(paymentOf(imported, await store().load(imported), 'imported-Ann-9', T0));
    await commitEachKind(store(), client('seen once'));
    for (const name of ['erased-ann-shipped', 'erased-ann']) await store().erase(client(name));
    reader = place.reader(place.node());
  });
  after(() => place?.release());

  function search(part: string, more: Partial<NameSearch> = {}, limits = {}): Promise<FoundNames> {
    const ask: NameSearch = {
      platform,
      keys: store().clientKeys,
      part,
      payersIn: PAYER_TABLES,
      hasOrders: true,
      hasRequests: true,
      devices: [],
      limit: 10,
      ...more,
    };
    return findNames(reader, ask, { ...NAME_SEARCH_LIMITS, ...limits });
  }

  const payersOf = ({ payers }: FoundNames) => payers.map(({ clientIdKey }) => clientIdKey);
  const ordersOf = ({ orders }: FoundNames) => orders.map(({ orderRef }) => orderRef);

  it('finds payers in archive and journal without case: the same name first, then those that begin with it', async () => {
    expect(payersOf(await search('ann'))).to.deep.equal(['ANN', 'annika', 'shop-Ann-1']);
    expect(payersOf(await search('NNI'))).to.deep.equal(['annika']);
  });

  it('finds orders with their payer, their newest verdict and their last time', async () => {
    expect(await search('ann').then(({ orders }) => orders)).to.deep.equal([
      {
        orderRef: 'ann-of-the-journal',
        clientIdKey: 'annika',
        lastAt: T0 + 2 * HOUR_MS,
        verdict: 'GET_NEW',
      },
      { orderRef: 'imported-Ann-9', clientIdKey: 'of another system', lastAt: T0, verdict: null },
    ]);
  });

  it('finds no payer who was erased, whether or not the archive was rewritten', async () => {
    const found = await search('erased');
    expect([payersOf(found), ordersOf(found)]).to.deep.equal([[], []]);
  });

  it('takes what was typed as letters, and as no pattern', async () => {
    for (const part of ['%', 'ann%', '_nn', "o'", 'a.n'])
      expect(payersOf(await search(part)), part).to.deep.equal([]);
  });

  it('finds decisions by the beginning of their request id', async () => {
    const { requests } = await search('REQUEST-2');
    expect(requests).to.have.length(1);
    const [found] = requests;
    expect(found).to.include({ requestId: 'request-2', clientIdKey: 'annika', verdict: 'GET_NEW' });
    const kept = await store().decision(found?.decisionId ?? '');
    expect(kept?.orderRef).to.equal('ann-of-the-journal');
    expect(await search('quest-2').then((other) => other.requests)).to.deep.equal([]);
  });

  it('finds the payers who were seen on a device', async () => {
    const device = { kind: 'fingerprint', hmac: 'f' } as const;
    const { devices } = await search('nothing of this name', {
      devices: [device, { kind: 'ip', hmac: 'f' }],
    });
    const seen = { ...device, clientIdKey: 'seen once', firstAt: T0, lastAt: T0 };
    expect(devices).to.deep.equal([{ device, clients: 1, seen: [seen] }]);
  });

  it('looks only where it is told to', async () => {
    const found = await search('ann', { payersIn: ['outcomes'], hasOrders: false, hasRequests: false });
    expect([payersOf(found), ordersOf(found)]).to.deep.equal([[], []]);
  });

  it('returns one item more than the limit where there are more', async () => {
    expect(payersOf(await search('ann', { limit: 1 }))).to.deep.equal(['ANN', 'annika']);
  });

  it('says back to when it looked, and that this is all', async () => {
    const { backTo, isToTheEnd, upTo, gaps, unreadable } = await search('nobody has this');
    expect({ backTo, isToTheEnd, upTo, gaps, unreadable }).to.deep.equal({
      backTo: T0 - HOUR_MS,
      isToTheEnd: true,
      upTo: null,
      gaps: [],
      unreadable: [],
    });
  });

  it('ends at its limit of rows, and says after which time nothing was left out', async () => {
    await verdict(store(), client('ann of the next day'), 'later-1', T0 + 30 * HOUR_MS);
    await place.shipAll();
    const found = await search('ann', {}, { rowsMax: 1, stepRows: 1 });
    expect(found.isToTheEnd).to.equal(false);
    expect(payersOf(found)).to.deep.equal(['ann of the next day']);
    expect(found.backTo).to.equal(T0 + 2 * HOUR_MS + 1);
  });

  it('finds exactly the names that contain the part', async () => {
    const own = newPlatform();
    const letters = fc.string({
      unit: fc.constantFrom('a', 'A', 'é', 'É', '%', '_', '\\', ' '),
      maxLength: 4,
    });
    const names = fc.sample(
      letters.filter((name) => name !== ''),
      30,
    );
    for (const name of new Set(names)) await verdict(store(), newClient(own, name), 'order', T0);
    const search = (part: string) =>
      findNames(reader, {
        ...{ platform: own, keys: store().clientKeys, part, payersIn: PAYER_TABLES },
        ...{ hasOrders: false, hasRequests: false, devices: [], limit: 100 },
      });
    await fc.assert(
      fc.asyncProperty(
        letters.filter((part) => part !== ''),
        async (part) => {
          const wanted = [...new Set(names)].filter((name) =>
            name.toLowerCase().includes(part.toLowerCase()),
          );
          expect(payersOf(await search(part)).toSorted()).to.deep.equal(wanted.toSorted());
        },
      ),
      { numRuns: 20 },
    );
  });
});
