import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { ArchivedOrders } from '#checkout/scoring/archived-orders.ts';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import type { ClientOrder, ReportedOutcome } from '#decision/payer/order.ts';
import { RECENT_OUTCOMES_MAX } from '#decision/payer/outcomes.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import type { TableName } from '#history/archive/tables.ts';
import { RETENTION } from '#state/retention.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { clientKey, TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { scoringService } from '../../../service/scoring-service.ts';
import { newPlatform, T0 } from '../../../state/clients.ts';
import { ArchivedStore } from '../archived-store.ts';

const PAID = { outcome: 'PAID', cause: null } as const;
const REVERSED = { outcome: 'UNPAID', cause: 'REVERSED' } as const;
const OLD_ORDERS = 6;

describe('an order that only the archive remembers', () => {
  const platform = newPlatform();
  let nowMs = T0;
  let store: Store;
  let place: ArchivedStore;
  let reader: ArchiveReader;
  let service: ScoringService;
  const readings: (readonly ClientOrder[])[] = [];

  const report = async (
    orderRef: string,
    told: Omit<ReportedOutcome, 'occurredAt'>,
    occurredAt: number | null,
  ) => (await service.outcome(platform, { clientIdKey: 'ann', orderRef, ...told, occurredAt })).effect;
  const outcomes = async () => (await store.load(clientKey(platform, 'ann'))).state.outcomes;

  before(async () => {
    store = openSqliteStore(temporaryDirectory(), { clock: () => nowMs, salt: TEST_SALT });
    place = await ArchivedStore.open(store);
    reader = place.reader();
    const archivedOrders = new ArchivedOrders((of, asked) => {
      readings.push([...asked]);
      return reader.readOrders(of, asked);
    });
    service = scoringService(store, () => nowMs, { archivedOrders });
    for (let order = 1; order <= RECENT_OUTCOMES_MAX + OLD_ORDERS; order++) {
      nowMs = T0 + order;
      await report(`order-${order}`, PAID, nowMs);
    }
    await place.shipAll();
    nowMs += RETENTION.displacedOrderMs + 1;
  });
  after(() => place.close());

  it('is not counted again when its report is repeated', async () => {
    expect(await report('order-1', PAID, T0 + 1)).to.equal('unchanged');
    expect((await outcomes()).paidCount).to.equal(RECENT_OUTCOMES_MAX + OLD_ORDERS);
  });

  it('is corrected by a chargeback, and is one of the newest again', async () => {
    expect(await report('order-2', REVERSED, nowMs)).to.equal('superseded');
    const { paidCount, unpaidCount, recent } = await outcomes();
    expect([paidCount, unpaidCount]).to.deep.equal([RECENT_OUTCOMES_MAX + OLD_ORDERS - 1, 1]);
    expect(recent.at(-1)?.reports?.map(({ outcome }) => outcome)).to.deep.equal(['PAID', 'UNPAID']);
  });

  it('is distinguished from a new one, and from one in the state, for which the archive is not asked', async () => {
    expect(await report('a-new-order', PAID, nowMs)).to.equal('recorded');
    readings.length = 0;
    expect(await report('a-new-order', PAID, nowMs)).to.equal('unchanged');
    expect(readings).to.deep.equal([]);
  });

  it('is looked up together with others, one read after the other', async () => {
    readings.length = 0;
    const archived = new ArchivedOrders(async (_platform, asked) => {
      readings.push([...asked]);
      return reader.readOrders(platform, asked);
    });
    const client = clientKey(platform, 'ann');
    const known = await Promise.all(
      ['order-3', 'order-4', 'unknown'].map((orderRef) => archived.find({ client, orderRef })),
    );
    expect(known.map((order) => order.known?.occurredAt ?? null)).to.deep.equal([T0 + 3, T0 + 4, null]);
    expect(readings.map((asked) => asked.length)).to.deep.equal([3]);
  });

  it('is looked up with the others of the same request, each once', async () => {
    const expected = ['order-3', 'order-4', 'order-6'].map((orderRef, index) => {
      return { clientIdKey: 'ann', orderRef, ...REVERSED, occurredAt: nowMs + index };
    });
    const recorder = service.outcomes(platform);
    for (const report of expected) recorder.expect(report);
    readings.length = 0;
    for (const report of expected) expect((await recorder.record(report)).effect).to.equal('superseded');
    expect(readings.map((asked) => asked.map(({ orderRef }) => orderRef))).to.deep.equal([
      ['order-3', 'order-4', 'order-6'],
    ]);
  });

  it('changes nothing while a part of the archive cannot be read', async () => {
    const before = await outcomes();
    damage(place, 'outcomes', platform);
    expect(await report('order-5', PAID, T0 + 5).catch(String)).to.equal(UNREADABLE);
    expect(await outcomes()).to.deep.equal(before);
  });
});

describe('an order that was refused weeks ago', () => {
  const platform = newPlatform();
  const client = clientKey(platform, 'ann');
  const WEEK_MS = 7 * 24 * 3_600_000;
  let nowMs = T0;
  let store: Store;
  let place: ArchivedStore;
  let reader: ArchiveReader;
  let service: ScoringService;

  const ask = async (orderRef: string) => {
    const body = { sellPointKey: 's', clientIdKey: 'ann', method: 'card', amountRequested: '25', orderRef };
    return (await service.verdict(platform, body, { requestId: 'r', idempotencyKey: null })).answer.verdict;
  };
  const expired = async (orderRef: string) => {
    const report = {
      clientIdKey: 'ann',
      orderRef,
      outcome: 'UNPAID',
      cause: 'EXPIRED',
      occurredAt: null,
    } as const;
    return (await service.outcome(platform, report)).effect;
  };
  const outcomes = async () => (await store.load(client)).state.outcomes;

  before(async () => {
    const folder = temporaryDirectory();
    store = openSqliteStore(folder, { clock: () => nowMs, salt: TEST_SALT });
    place = await ArchivedStore.open(store);
    reader = place.reader();
    service = scoringService(store, () => nowMs, { archivedOrders: ArchivedOrders.of(reader) });
    const verdicts: string[] = [];
    for (const order of ['granted', 'refused', 'refused too']) verdicts.push(await ask(order));
    expect(verdicts).to.deep.equal(['GET_NEW', 'WAIT', 'WAIT']);
    await place.shipAll();
    forgetDecisions(folder);
    nowMs += 2 * WEEK_MS;
    expect(await ask('later')).to.equal('GET_NEW');
  });
  after(() => place.close());

  it('is distinguished by the archive from a granted one, and from one without a request', async () => {
    const archived = ArchivedOrders.of(reader);
    const found = await Promise.all(
      ['granted', 'refused', 'unheard of'].map((orderRef) => archived.find({ client, orderRef })),
    );
    expect(found.map(({ orderStage }) => orderStage)).to.deep.equal(['granted', 'turnedAway', 'notAsked']);
  });

  it('counts for nothing when it is reported now', async () => {
    expect(await expired('refused')).to.equal('recorded');
    expect(await expired('unheard of')).to.equal('recorded');
    expect(await outcomes()).to.deep.include({ unpaidCount: 1, neitherCount: 1 });
  });

  it('does not count as one without a request while a part of the archive cannot be read', async () => {
    const before = await outcomes();
    damage(place, 'decisions', platform);
    expect(await expired('refused too').catch(String)).to.equal(UNREADABLE);
    expect(await outcomes()).to.deep.equal(before);
  });
});

const UNREADABLE = 'StoreUnavailable: a part of the archive cannot be read, and the order may be there';

function damage({ archive }: ArchivedStore, table: TableName, platform: PlatformName): void {
  const [segment] = archive.listSegments(archive.read(), { table, platform });
  truncateSync(archive.getSegmentPath(segment ?? expect.fail('nothing was shipped')), 100);
}

/** As the store does later with shipped data. */
function forgetDecisions(folder: string): void {
  const file = new DatabaseSync(join(folder, 'scoring.sqlite'));
  file.exec(
    "UPDATE journal SET client = NULL, seq = NULL, order_name = NULL, entry = '' WHERE seq IS NOT NULL",
  );
  file.close();
}
