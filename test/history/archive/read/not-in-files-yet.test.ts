import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import { type ClientKey, toClientNumberText } from '#decision/payer/client-key.ts';
import { readUnshippedErasedClientNumbers } from '#history/archive/archive.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import { queryArchive } from '#history/archive/read/query.ts';
import { UnshippedRows } from '#history/archive/read/unshipped-rows.ts';
import { createSnapshotOpener, withSnapshotFiles } from '#history/archive/snapshot.ts';
import { type Evidence, withEvidence } from '#history/evidence/source/evidence.ts';
import { createInputView } from '#history/evidence/source/shared-devices.ts';
import type { Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { newClient, newPlatform, paymentOf, T0, verdict } from '../../../state/clients.ts';
import { storeWith } from '../../../stores/store-with.ts';
import { temporaryRedis } from '../../../stores/temporary-store.ts';
import { all } from '../../evidence/source/recorded-evidence.ts';
import { ArchivedStore } from '../archived-store.ts';
import { describeOnArchives } from '../describe-on-archives.ts';

describeOnArchives('an erased client before the archive is rewritten', (store, open) => {
  const platform = newPlatform();
  const [erased, other] = [newClient(platform, 'ann'), newClient(platform, 'bob')];
  let place: ArchivedStore;
  let reader: ArchiveReader;
  let lookup: DecisionLookup;
  let decision: Decision;

  before(async () => {
    place = await open();
    decision = await live(erased, 'order-1');
    await live(other, 'order-2');
    await place.shipAll();
    reader = place.reader(place.node());
    lookup = new DecisionLookup(store(), reader);
    await store().erase(erased);
  });
  after(() => place?.release());

  async function live(client: ClientKey, orderRef: string): Promise<Decision> {
    const made = await verdict(store(), client, orderRef, T0);
    await store().commit(paymentOf(client, await store().load(client), orderRef, T0 + 1));
    return made;
  }

  it('is still in its files', async () => {
    expect(await answer(CLIENTS, place, [])).to.deep.equal(['ann', 'bob']);
  });

  it('is not found by its decision, its order or its name', async () => {
    expect(await lookup.decision(decision.decisionId, null)).to.deep.equal({ decision: null, unread: [] });
    expect(await lookup.ofOrder(platform, 'order-1')).to.deep.equal({ decisions: [], unread: [] });
    expect(await lookup.ofClient(erased, 10)).to.deep.equal({ decisions: [], unread: [] });
    expect(await lookup.history(erased, 10)).to.deep.equal({ entries: [], complete: true, next: null });
  });

  it('is not among the decisions of its platform, however they are searched', async () => {
    const found = await lookup.find(platform, {}, 10);
    const paid = await lookup.find(platform, {}, 10, 'PAID');
    for (const decisions of [found.decisions, paid.decisions])
      expect(decisions.map(({ clientIdKey }) => clientIdKey)).to.deep.equal(['bob']);
  });

  it('is not in evidence', async () => {
    const erasedNow = await readUnshippedErasedClientNumbers(store());
    const look = async (evidence: Evidence) => {
      await createInputView(evidence, []);
      const clientsIn = async (view: string) =>
        (await evidence.duck.rows(`SELECT DISTINCT client_hash AS number FROM ${view}`)).map(({ number }) =>
          String(number),
        );
      return Promise.all(['decisions', 'outcomes', 'orders', 'inputs'].map(clientsIn));
    };
    const seen = await withSnapshotFiles(createSnapshotOpener(place.node()), EVERYTHING, ({ folder }) =>
      withEvidence(all({ kind: 'archive', folder, erased: erasedNow }), look),
    );
    const bob = [toClientNumberText(other.hash)];
    expect(seen).to.deep.equal([bob, bob, bob, bob]);
  });

  it('is not in answers to SQL', async () => {
    const ask = (sql: string) =>
      readUnshippedErasedClientNumbers(store()).then((clients) => answer(sql, place, clients));
    expect(await ask(CLIENTS)).to.deep.equal(['bob']);
    expect(await ask('SELECT client_id_key FROM outcomes')).to.deep.equal(['bob']);
  });

  it('is a client like any other when it comes back, before and after', async () => {
    const returned = await verdict(store(), erased, 'order-3', T0 + 10);
    expect((await lookup.ofClient(erased, 10)).decisions).to.deep.equal([returned]);
    await place.shipAll();
    expect(await readUnshippedErasedClientNumbers(store())).to.deep.equal([]);
    const found = await reader.decisionsOfClient(erased, 10, Number.MAX_SAFE_INTEGER);
    expect(found.decisions).to.deep.equal([returned]);
  });
});

const CLIENTS = 'SELECT client_id_key FROM decisions ORDER BY client_id_key';
const LIMITS = { rowsMax: 100, timeoutMs: 30_000, memoryMiB: 256 };

const EVERYTHING = () => true;

function answer(sql: string, { node }: ArchivedStore, clients: readonly string[]) {
  return withSnapshotFiles(createSnapshotOpener(node()), EVERYTHING, async ({ folder }) => {
    const { answer: told } = await queryArchive(folder, sql, LIMITS, clients);
    return told.rows.flat();
  });
}

describeOnArchives('what is decided and not shipped yet', (store, open) => {
  const platform = newPlatform();
  let place: ArchivedStore;
  let reader: ArchiveReader;
  before(async () => {
    place = await open();
    reader = place.reader(place.node());
  });
  after(() => place?.release());

  /** The orders of all decisions and the kinds of all inputs that evidence sees. */
  const seen = () =>
    withSnapshotFiles(
      reader.openToEnd,
      (segment) => segment.platform === platform,
      ({ folder }) =>
        withEvidence({ ...all({ kind: 'archive', folder }), platform }, async (evidence) => {
          await createInputView(evidence, []);
          const texts = async (column: string, view: string) => {
            const rows = await evidence.duck.rows(
              `SELECT ${column}::VARCHAR AS text FROM ${view} ORDER BY ALL`,
            );
            return rows.map(({ text }) => text);
          };
          return { orders: await texts('order_ref', 'decisions'), inputs: await texts('kind', 'inputs') };
        }),
    );

  it('is in evidence at once, and once only when it is shipped', async () => {
    const client = newClient(platform);
    await verdict(store(), client, 'first', T0);
    await store().commit(paymentOf(client, await store().load(client), 'first', T0 + 1));
    const before = { orders: ['first'], inputs: ['outcome', 'verdict'] };
    expect(await seen()).to.deep.equal(before);
    await place.shipAll();
    expect(await seen()).to.deep.equal(before);
    await verdict(store(), client, 'second', T0 + 2);
    const now = { orders: ['first', 'second'], inputs: ['outcome', 'verdict', 'verdict'] };
    expect(await seen()).to.deep.equal(now);
    await place.shipAll();
    expect(await seen()).to.deep.equal(now);
  });
});

describe('unshipped entries of which there are more than a question looks through', () => {
  const ROWS_MAX = 10;
  const platform = newPlatform();
  let place: ArchivedStore;
  let reader: ArchiveReader;

  async function begin(store?: Store) {
    place = await ArchivedStore.open(store);
    reader = place.reader(place.node(), place.store, ROWS_MAX);
  }
  afterEach(() => place?.close());

  const found = async () => {
    const { decisions, gaps } = await reader.findDecisions(platform, {}, 100);
    return { orders: decisions.map(({ orderRef }) => orderRef), gaps };
  };
  const evidenceGaps = () =>
    withSnapshotFiles(
      reader.openToEnd,
      () => true,
      ({ folder }) => withEvidence(all({ kind: 'archive', folder }), async ({ span }) => span.gaps),
    );
  const decide = async (from: number, to: number, clientOf = () => newClient(platform)) => {
    for (let order = from; order <= to; order++)
      await verdict(place.store, clientOf(), `${order}`, T0 + order);
  };
  const downFrom = (newest: number, orders: number) =>
    Array.from({ length: orders }, (_, one) => `${newest - one}`);

  it('are a gap that is named, until they are shipped', async () => {
    await begin();
    await decide(1, 25);
    const first = { from: 0, to: T0 + 17, entries: 16 };
    expect(await found()).to.deep.equal({ orders: downFrom(25, 9), gaps: [first] });
    await decide(26, 28);
    const second = { from: T0 + 17, to: T0 + 19, entries: 3 };
    expect(await found()).to.deep.equal({ orders: downFrom(28, 9), gaps: [first, second] });
    expect(await evidenceGaps()).to.deep.equal([first, second]);
    await place.shipAll();
    expect(await found()).to.deep.equal({ orders: downFrom(28, 28), gaps: [] });
    expect(await evidenceGaps()).to.deep.equal([]);
  });

  it('are all found after the store failed between two pages', async () => {
    await begin();
    await decide(1, 3);
    let isAway = true;
    const readJournal: Store['readJournal'] = async (after, limit) => {
      const page = await place.store.readJournal(after, limit);
      if (isAway && page.entries.length === 0) throw new StoreUnavailable('away');
      return page;
    };
    reader = place.reader(place.node(), storeWith(place.store, { readJournal }), ROWS_MAX);
    expect(await found().catch((error: unknown) => error)).to.be.instanceOf(StoreUnavailable);
    isAway = false;
    expect(await found()).to.deep.equal({ orders: downFrom(3, 3), gaps: [] });
  });

  it('are all found after the engine failed to take some of them', async () => {
    await begin();
    const { store, duck, archive } = place;
    const archived = () => archive.refresh();
    const unshipped = new UnshippedRows({ store, duck: async () => duck, archived, rowsMax: ROWS_MAX });
    const orders = async () => {
      using opened = await unshipped.open();
      const found = await duck.rows(`SELECT order_ref FROM ${opened.span.rows('decisions')} ORDER BY ALL`);
      return found.map((row) => row['order_ref']);
    };
    await decide(1, 3);
    expect(await orders()).to.deep.equal(['1', '2', '3']);
    await duck.run('DROP TABLE unshipped_decisions');
    await decide(4, 5);
    expect(await orders().catch((error: unknown) => error)).to.be.instanceOf(Error);
    expect(await orders()).to.deep.equal(['1', '2', '3', '4', '5']);
    unshipped.close();
  });

  describeWithServer('redis-server', 'on Redis', () => {
    it('are looked for in each partition, and hold no other question up', async () => {
      await begin((await temporaryRedis()).store);
      const client = newClient(platform);
      await decide(1, 25, () => client);
      const { orders, gaps } = await found();
      expect([orders[0], gaps.length]).to.deep.equal(['25', 1]);
      expect(await found()).to.deep.equal({ orders, gaps });
    });
  });
});
