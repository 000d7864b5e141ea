import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Decision } from '#decision/decision.ts';
import { type DecisionFilter, matchesFilter } from '#decision/decision-filter.ts';
import type { FilterName } from '#decision/filter-members.ts';
import {
  type ClientKey,
  formatDecisionId,
  type PlatformName,
  parseDecisionId,
} from '#decision/payer/client-key.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import type { OrderStatus } from '#history/archive/order-status.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import { filterConditionSql } from '#history/archive/read/decision-sql.ts';
import {
  type FoundDecisions,
  findDecisionsInPages,
  LOOKED_AT_DECISIONS_MAX,
  PAGE_DECISIONS_MAX,
} from '#history/archive/read/found-decisions.ts';
import { SegmentWriter } from '#history/archive/segment-writer.ts';
import type { TableName } from '#history/archive/tables.ts';
import { formatUnread } from '#history/archive/unread-decisions.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import { clientKey, TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import {
  decisionFor,
  newClient,
  newPlatform,
  paymentOf,
  ruleVersion,
  T0,
  verdict,
  verdictOn,
} from '../../../state/clients.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { ArchivedStore } from '../archived-store.ts';

describeOnStores('decisions in hot store and archive', (store) => {
  const platform = newPlatform();
  const client = newClient(platform, 'ann');
  let place: ArchivedStore;
  let decisions: readonly Decision[];
  let reader: ArchiveReader;
  /** A store that has forgotten everything hot, with the same archive. */
  let forgetful: Store;
  let hot: DecisionLookup;
  let cold: DecisionLookup;

  before(async () => {
    place = await ArchivedStore.open(store());
    const made: Decision[] = [];
    for (let count = 1; count <= 5; count += 1)
      made.push(await verdict(store(), client, `order-${count}`, T0 + count));
    decisions = made.toReversed();
    await store().commit(paymentOf(client, await store().load(client), 'order-1', T0 + 9));
    await place.shipAll();
    reader = place.reader();
    forgetful = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
    hot = new DecisionLookup(store(), reader);
    cold = new DecisionLookup(forgetful, reader);
  });
  after(async () => {
    await place?.release();
    await forgetful?.close();
  });

  it('are found by their id, wherever they are', async () => {
    const [newest] = decisions;
    const found = { decision: newest, unread: [] };
    for (const lookup of [hot, cold])
      expect(await lookup.decision(newest?.decisionId ?? '', null)).to.deep.equal(found);
  });

  it("are never called complete or missing by a node without the fleet's archive", async () => {
    const other = place.reader(temporaryDirectory());
    const unknown = formatDecisionId(client.hash, 99, T0);
    const none = ArchiveReader.withoutArchive(store());
    for (const lookup of [new DecisionLookup(store(), none), new DecisionLookup(store(), other)]) {
      for (const { unread } of [
        await lookup.decision(unknown, null),
        await lookup.ofOrder(platform, 'order-99'),
        await lookup.ofClient(newClient(platform), 10),
      ])
        expect(unread.map(formatUnread)).to.deep.equal([
          'decisions lie in an archive that this node does not have (ARCHIVE_DIR)',
        ]);
      expect((await lookup.find(platform, {}, 10)).lookedAt.complete).to.equal(false);
      expect((await lookup.history(client, 10)).complete).to.equal(false);
    }
    await none.close();
  });

  it('are not found by the id of another client or by a malformed id', async () => {
    const stranger = clientKey(platform, 'bob').hash;
    for (const id of [formatDecisionId(stranger, 1, T0), formatDecisionId(client.hash, 99, T0), 'no id'])
      expect(await cold.decision(id, null)).to.deep.equal({ decision: null, unread: [] });
  });

  it('are found by their order once, although both have them, and by no other name or platform', async () => {
    for (const lookup of [hot, cold])
      expect(await lookup.ofOrder(platform, 'order-2')).to.deep.equal(all([decisions[3]]));
    expect(await cold.ofOrder(newPlatform(), 'order-2')).to.deep.equal(all([]));
    expect(await cold.ofOrder(platform, "x' OR '1'='1")).to.deep.equal(all([]));
  });

  it('of a client come newest first, page after page', async () => {
    for (const lookup of [hot, cold]) {
      expect(await lookup.ofClient(client, 3)).to.deep.equal(all(decisions.slice(0, 3)));
      expect(await lookup.ofClient(client, 3, 3)).to.deep.equal(all(decisions.slice(3)));
    }
  });

  it('of a platform come newest first, with how far the search went', async () => {
    const found = await cold.find(platform, {}, 3);
    expect(found.decisions).to.deep.equal(decisions.slice(0, 3));
    expect(found.lookedAt.complete).to.equal(false);
    const all = await cold.find(platform, {}, 10);
    expect(all.decisions).to.deep.equal(decisions);
    expect(all.lookedAt.complete).to.equal(true);
    expect((await cold.find(platform, { verdict: 'BLOCK' }, 10)).decisions).to.deep.equal([]);
    expect((await hot.find(platform, { rule: 'otherwise' }, 10)).decisions).to.deep.equal(decisions);
  });

  it('are listed each once over pages of any length, whichever of the two has them', async () => {
    for (const lookup of [hot, cold])
      for (const limit of [1, 2, 3]) {
        const listed: Decision[] = [];
        let filter: DecisionFilter = {};
        for (;;) {
          const found = await lookup.find(platform, filter, limit);
          listed.push(...found.decisions);
          const after = parseDecisionId(found.next ?? '');
          if (after === null) break;
          filter = { after };
        }
        expect(listed).to.deep.equal(decisions);
      }
  });

  it('are found by the outcome of their order', async () => {
    const paid = await cold.find(platform, {}, 10, 'PAID');
    expect(paid.decisions.map(({ orderRef }) => orderRef)).to.deep.equal(['order-1']);
    const unknown = await cold.find(platform, { from: T0 + 3, to: T0 + 5 }, 10, 'UNKNOWN');
    expect(unknown.decisions).to.deep.equal([decisions[1], decisions[2]]);
    expect((await cold.find(platform, {}, 10, 'UNPAID')).decisions).to.deep.equal([]);
  });

  it('are in the story of a client with its outcomes', async () => {
    const { entries, complete } = await cold.history(client, 10);
    expect(entries.map(({ kind }) => kind)).to.deep.equal(['outcome', ...Array(5).fill('verdict')]);
    expect(complete).to.equal(true);
    expect((await hot.history(client, 10)).entries).to.deep.equal(entries);
  });

  it('are found while a merge removes what is being read', async () => {
    const asked = reader.findDecisions(platform, {}, 10);
    await place.shipAll();
    const state = place.archive.read();
    const segments = place.archive.listSegments(state, { table: 'decisions', platform });
    const merged = await new SegmentWriter(place.archive, place.duck).merge(segments);
    const remove = segments.map(({ name }) => name);
    await place.archive.commit(state, { by: 'test', at: T0, add: merged === null ? [] : [merged], remove });
    expect((await asked).decisions).to.deep.equal(decisions);
  });

  it('are found beside a segment that is damaged, which is named', async () => {
    const other = newClient(platform);
    await verdict(store(), other, 'order-in-a-damaged-segment', T0 + 20);
    await place.shipper().step();
    const damaged = newestSegment(place, 'decisions', platform);
    writeFileSync(place.archive.getSegmentPath(damaged), 'torn');
    const { decisions: found, unreadable } = await reader.decisionsOfClient(client, 10, 100);
    expect(found).to.deep.equal(decisions);
    expect(unreadable).to.deep.equal([damaged]);
    const unread = [{ from: T0 + 20, to: T0 + 20, decisions: 1 }];
    expect((await cold.find(platform, {}, 10)).lookedAt).to.deep.include({ complete: false, unread });
  });

  it('are marked incomplete while a file that may have more cannot be read', async () => {
    const unread = [{ from: T0 + 20, to: T0 + 20, decisions: 1 }];
    const stranger = newClient(platform);
    const id = decisionFor(stranger, 1, 'order-1', T0).decisionId;
    expect(await cold.decision(id, null)).to.deep.equal({ decision: null, unread });
    expect(await cold.decision(id, platform)).to.deep.equal({ decision: null, unread });
    expect(await cold.decision(id, newPlatform())).to.deep.equal({ decision: null, unread: [] });
    expect(await cold.ofClient(stranger, 10)).to.deep.equal({ decisions: [], unread });
    const damaged = await cold.ofOrder(platform, 'order-in-a-damaged-segment');
    expect(damaged).to.deep.equal({ decisions: [], unread });
  });

  it('are complete when the unreadable file does not have the order, or they were found', async () => {
    const [newest] = decisions;
    expect(await cold.ofOrder(platform, 'order-2')).to.deep.equal(all([decisions[3]]));
    const found = { decision: newest, unread: [] };
    expect(await cold.decision(newest?.decisionId ?? '', null)).to.deep.equal(found);
    expect(await hot.ofClient(client, 10)).to.deep.equal(all(decisions));
  });
});

function newestSegment({ archive }: ArchivedStore, table: TableName, platform: PlatformName): Segment {
  const [segment] = archive.listSegments(archive.read(), { table, platform });
  return segment ?? expect.fail('there is no segment');
}

/** The answer when everything was readable. */
function all<T>(decisions: readonly T[]) {
  return { decisions, unread: [] };
}

describe('without an archive', () => {
  it('the hot store answers alone', async () => {
    const store = openSqliteStore(temporaryDirectory(), { salt: TEST_SALT });
    const client: ClientKey = newClient();
    const decision = await verdict(store, client, 'order-1');
    const reader = ArchiveReader.withoutArchive(store);
    const lookup = new DecisionLookup(store, reader);
    expect(await lookup.ofOrder(client.platform, 'order-1')).to.deep.equal(all([decision]));
    expect(await lookup.decision(decision.decisionId, null)).to.deep.equal({ decision, unread: [] });
    expect((await lookup.find(client.platform, {}, 10)).decisions).to.deep.equal([decision]);
    expect(await lookup.history(client, 10)).to.deep.include({ complete: true });
    await reader.close();
    await store.close();
  });
});

describeOnStores('decisions by what they have in common', (store) => {
  let place: ArchivedStore;
  let lookup: DecisionLookup;

  before(async () => {
    place = await ArchivedStore.open(store());
    lookup = new DecisionLookup(store(), place.reader());
  });
  after(() => place?.release());

  it('match each member of a filter in SQL as in memory', async () => {
    const fresh = newClient();
    const decide = async (orderRef: string, at: number, unlike: Partial<Decision>) => {
      const change = verdictOn(fresh, await store().load(fresh), orderRef, at);
      const plain = change.decision ?? decisionFor(fresh, 1, orderRef, at);
      const decision = { ...plain, ...unlike, facts: { ...plain.facts, ...unlike.facts } };
      const { platform, clientIdKey } = fresh;
      const entry = { kind: 'verdict', at, platform, clientIdKey, decision } as const;
      expect(await store().commit({ ...change, decision, entry })).to.equal('committed');
      return decision;
    };
    const plain = await decide('order-1', T0 + 2, {});
    const other = await decide('order-2', T0 + 4, {
      verdict: 'WAIT',
      rule: 'cautious',
      ruleVersion: ruleVersion('p1.v2'),
      clientGroup: 'PAYING',
      signals: ['honeypot'],
      flags: ['unusual'],
      sellPointKey: 'shop-2',
      arm: 'candidate',
      facts: { method: 'card', amount: 25 },
    });
    const filters: readonly DecisionFilter[] = Object.values(wantedOf(other)).flat();
    const inMemory = [plain, other].map((decision) =>
      filters.map((filter) => matchesFilter(decision, filter)),
    );
    expect(inMemory[1]).to.deep.equal(filters.map((_, index) => index % 2 === 0));
    for (const isShipped of [false, true]) {
      if (isShipped) await place.shipAll();
      // One question for all of them, because each takes a while.
      const rows = await place.reader().withOpenSnapshot((past) =>
        past.rows((source, bind) => {
          const answers = filters.map((filter) => filterConditionSql(filter, bind));
          return `SELECT [${answers.map((sql) => `coalesce(${sql}, false)`)}]::VARCHAR AS fits
            FROM ${source('decisions', { platform: fresh.platform })} ORDER BY seq`;
        }),
      );
      expect(rows.map(({ fits }) => JSON.parse(String(fits)))).to.deep.equal(inMemory);
    }
  });

  it('match a filter in the journal as in the archive', async () => {
    const fresh = newClient();
    const { platform } = fresh;
    const made = [
      await verdict(store(), fresh, 'order-3', T0 + 4),
      await verdict(store(), fresh, 'order-2', T0 + 3, { amount: 25, method: 'card' }),
      await verdict(store(), fresh, 'order-1', T0 + 2),
    ];
    for (const isShipped of [false, true]) {
      if (isShipped) await place.shipAll();
      for (const filter of [
        { clientGroup: 'NEW' as const },
        { signal: 'honeypot' },
        { from: T0 + 3, to: T0 + 4 },
        { method: 'card' },
        { amountMin: 1, amountMax: 1_000_000 },
        { amountMin: 1_000_000 },
      ])
        expect((await lookup.find(platform, filter, 10)).decisions, JSON.stringify(filter)).to.deep.equal(
          made.filter((decision) => matchesFilter(decision, filter)),
        );
    }
  });

  it('are found by the outcome of their order as soon as it is reported', async () => {
    const fresh = newPlatform();
    const payer = newClient(fresh, 'carl');
    await verdict(store(), payer, 'order-1', T0 + 20);
    await place.shipAll();
    expect((await lookup.find(fresh, {}, 10, 'PAID')).decisions).to.deep.equal([]);
    await store().commit(paymentOf(payer, await store().load(payer), 'order-1', T0 + 30));
    const paid = await lookup.find(fresh, {}, 10, 'PAID');
    expect([paid.decisions.length, paid.lookedAt.complete]).to.deep.equal([1, true]);
    await place.shipAll();
    expect(await lookup.find(fresh, {}, 10, 'PAID')).to.deep.equal(paid);
  });

  it('are found by readable files of outcomes beside an unreadable one, whose time is given', async () => {
    const fresh = newPlatform();
    const payer = newClient(fresh, 'carl');
    for (const [orderRef, at] of [
      ['order-1', T0 + 20],
      ['order-2', T0 + 40],
    ] as const) {
      await verdict(store(), payer, orderRef, at);
      await store().commit(paymentOf(payer, await store().load(payer), orderRef, at + 10));
      await place.shipAll();
    }
    writeFileSync(place.archive.getSegmentPath(newestSegment(place, 'outcomes', fresh)), 'torn');
    const orders = async (status: OrderStatus) => {
      const found = await lookup.find(fresh, {}, 10, status);
      return { orders: found.decisions.map(({ orderRef }) => orderRef), lookedAt: found.lookedAt };
    };
    const lookedAt = { decisions: 2, backTo: T0 + 20, complete: false, upTo: T0 + 50 };
    expect(await orders('PAID')).to.deep.equal({ orders: ['order-1'], lookedAt });
    expect(await orders('UNKNOWN')).to.deep.equal({ orders: ['order-2'], lookedAt });
  });
});

/** By member of a filter one that a decision fits, and one that it does not. */
function wantedOf({ requestId }: Decision) {
  return {
    verdict: [{ verdict: 'WAIT' }, { verdict: 'BLOCK' }],
    requestId: [{ requestId }, { requestId: 'another' }],
    rule: [{ rule: 'cautious' }, { rule: 'otherwise' }],
    ruleVersion: [{ ruleVersion: 'p1.v2' }, { ruleVersion: 'p1.v1' }],
    clientGroup: [{ clientGroup: 'PAYING' }, { clientGroup: 'NEW' }],
    signal: [{ signal: 'honeypot' }, { signal: 'honey' }],
    flag: [{ flag: 'unusual' }, { flag: 'usual' }],
    sellPointKey: [{ sellPointKey: 'shop-2' }, { sellPointKey: 'shop-1' }],
    method: [{ method: 'card' }, { method: 'cash' }],
    arm: [{ arm: 'candidate' }, { arm: 'active' }],
    amountMin: [{ amountMin: 25 }, { amountMin: 25.01 }],
    amountMax: [{ amountMax: 25 }, { amountMax: 24.99 }],
    from: [{ from: T0 + 4 }, { from: T0 + 5 }],
    to: [{ to: T0 + 5 }, { to: T0 + 4 }],
  } as const satisfies Record<FilterName, readonly [DecisionFilter, DecisionFilter]>;
}

const CLIENT = newClient();

/** `count` decisions, newest first; every `rareEvery`-th is by the rule "rare". */
function decisions(count: number, rareEvery: number): readonly Decision[] {
  return Array.from({ length: count }, (_, index) => ({
    ...decisionFor(CLIENT, count - index, 'order', T0 + count - index),
    ...((index + 1) % rareEvery === 0 ? { rule: 'rare' } : {}),
  }));
}

/** Gives the decisions in pages, and counts how many pages were asked for. */
function paged(all: readonly Decision[]) {
  const pages = { given: 0 };
  const nextPage = async () =>
    all.slice(pages.given * PAGE_DECISIONS_MAX, ++pages.given * PAGE_DECISIONS_MAX);
  return { pages, nextPage };
}

/** How many decisions were looked at, back to when, whether these are all, and where to go on. */
const toldOf = (
  { decisions, backTo, complete, ...rest }: FoundDecisions['lookedAt'],
  next: string | null,
) => {
  expect(rest).to.deep.equal({});
  return [decisions, backTo, complete, next];
};

describe('a search back through decisions', () => {
  it('goes on over pages until nothing is left', async () => {
    const all = decisions(2 * PAGE_DECISIONS_MAX + 1, PAGE_DECISIONS_MAX);
    const {
      decisions: found,
      next,
      lookedAt,
    } = await findDecisionsInPages(paged(all).nextPage, { rule: 'rare' }, 10);
    expect(found.length).to.equal(2);
    expect(toldOf(lookedAt, next)).to.deep.equal([all.length, T0 + 1, true, null]);
  });

  it('reads one more page after a full last one', async () => {
    const { pages, nextPage } = paged(decisions(PAGE_DECISIONS_MAX, PAGE_DECISIONS_MAX));
    const { next, lookedAt } = await findDecisionsInPages(nextPage, { rule: 'none' }, 10);
    expect(pages.given).to.equal(2);
    expect(toldOf(lookedAt, next)).to.deep.equal([PAGE_DECISIONS_MAX, T0 + 1, true, null]);
  });

  it('reads no more pages than the limit needs, and does not claim to have seen all', async () => {
    const all = decisions(5 * PAGE_DECISIONS_MAX, 10);
    const { pages, nextPage } = paged(all);
    const { decisions: found, next, lookedAt } = await findDecisionsInPages(nextPage, { rule: 'rare' }, 3);
    expect(found.length).to.equal(3);
    expect(pages.given).to.equal(1);
    expect(toldOf(lookedAt, next)).to.deep.equal([
      30,
      T0 + 5 * PAGE_DECISIONS_MAX - 29,
      false,
      all[29]?.decisionId,
    ]);
  });

  it('does not claim to have seen all when the limit falls before the last decision', async () => {
    const all = decisions(3, 2);
    const { next, lookedAt } = await findDecisionsInPages(paged(all).nextPage, { rule: 'rare' }, 1);
    expect(toldOf(lookedAt, next)).to.deep.equal([2, T0 + 2, false, all[1]?.decisionId]);
  });

  it('gives up after a number of decisions, however many are left', async () => {
    const all = decisions(LOOKED_AT_DECISIONS_MAX + PAGE_DECISIONS_MAX, 1_000_000);
    const { pages, nextPage } = paged(all);
    const { decisions: found, next, lookedAt } = await findDecisionsInPages(nextPage, { rule: 'rare' }, 1);
    expect(found).to.deep.equal([]);
    // One more page shows that the last millisecond has ended.
    expect(pages.given * PAGE_DECISIONS_MAX).to.equal(LOOKED_AT_DECISIONS_MAX + PAGE_DECISIONS_MAX);
    expect(toldOf(lookedAt, next)).to.deep.equal([
      LOOKED_AT_DECISIONS_MAX,
      T0 + PAGE_DECISIONS_MAX + 1,
      false,
      all[LOOKED_AT_DECISIONS_MAX - 1]?.decisionId,
    ]);
  });

  it('names no place to continue from when it did not come as far as the search before', async () => {
    const all = decisions(LOOKED_AT_DECISIONS_MAX + PAGE_DECISIONS_MAX, 1_000_000);
    const after = parseDecisionId(all.at(-2)?.decisionId ?? '') ?? undefined;
    const filter = after === undefined ? {} : { after };
    const { next, lookedAt } = await findDecisionsInPages(paged(all).nextPage, filter, 1);
    expect([lookedAt.complete, next]).to.deep.equal([false, null]);
  });
});
