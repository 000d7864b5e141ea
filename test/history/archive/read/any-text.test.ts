import { expect } from 'chai';
import { QueryEngine, quoteSql, toTextOrNull } from '#history/archive/query-engine.ts';
import { withLinkReader } from '#history/archive/read/linked-clients.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { newClient, newPlatform, T0, verdict } from '../../../state/clients.ts';
import { ArchivedStore } from '../archived-store.ts';

/** Ids that would break a statement in which they stood as text. */
const TEXTS = ['a\0b', '\0', "'", "''; SELECT 1 --", '$1', '\\', '"', 'é', '💳', '\u0001', 'a\nb'];

describe('the query engine', () => {
  let duck: QueryEngine;
  before('opens', async () => {
    duck = await QueryEngine.open({ threads: 1, memoryMiB: 64, temporaryFolder: temporaryDirectory() });
  });
  after('closes', () => duck?.close());

  it('keeps every text, as a value and within SQL', async () => {
    for (const text of TEXTS) {
      const [row = {}] = await duck.rows(
        (bind) => `SELECT ${bind(text)} AS value, ${quoteSql(text)} AS quoted`,
      );
      expect([toTextOrNull(row['value']), toTextOrNull(row['quoted'])]).to.deep.equal([text, text]);
    }
  });
});

describe('payers and orders that are called anything at all', () => {
  let place: ArchivedStore;
  const platform = newPlatform();
  const clients = TEXTS.map((text) => newClient(platform, text));
  before('ships a verdict of each and leaves another in the journal', async () => {
    place = await ArchivedStore.open();
    for (const client of clients) await verdict(place.store, client, client.clientIdKey, T0);
    await place.shipAll();
    for (const client of clients) await verdict(place.store, client, client.clientIdKey, T0 + 1);
  });
  after('closes', () => place?.close());

  it('have a history', async () => {
    for (const client of clients) {
      const { entries } = await place.reader().readHistory(client, null, 10);
      const whose = entries.map(({ clientIdKey }) => clientIdKey);
      expect(whose).to.deep.equal([client.clientIdKey, client.clientIdKey]);
    }
  });

  it('are found by their order', async () => {
    for (const { clientIdKey: orderRef } of clients) {
      const { decisions } = await place.reader().decisionsOfOrder(platform, orderRef, 10);
      expect(decisions.map((decision) => decision.orderRef)).to.deep.equal([orderRef]);
    }
  });

  it('are found by what was asked of them', async () => {
    for (const text of TEXTS) {
      const { decisions } = await place.reader().findDecisions(platform, { sellPointKey: text }, 10);
      expect(decisions).to.deep.equal([]);
    }
  });

  it('have links', async () => {
    const parts = { store: place.store, archive: place.reader() };
    const orders = await withLinkReader(parts, platform, { from: 0, asOf: null }, (reading) =>
      reading.ordersOf(TEXTS, 10),
    );
    expect(orders.map(({ orderRef }) => orderRef).toSorted()).to.deep.equal(TEXTS.toSorted());
  });
});
