import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { ClientKey } from '#decision/payer/client-key.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import {
  type Exploration,
  type ExplorationAsk,
  exploreDecisions,
} from '#history/archive/read/exploration.ts';
import { REGISTERS_WITHOUT_STORE } from '#history/archive/s3/open-archive.ts';
import { NUMBER_CURSORS } from '#state/journal.ts';
import { TEST_KEYS } from '../../../decision/payer/client-keys.ts';
import { MINUTE_MS, newClient, newPlatform, paymentOf, T0, verdict } from '../../../state/clients.ts';
import { ArchivedStore } from '../archived-store.ts';
import { archiveOfIncidents, DAY_MS, INCIDENTS, incidentAt } from './incidents.ts';

const NOTHING_UNSHIPPED = {
  clientKeys: TEST_KEYS,
  cursors: NUMBER_CURSORS,
  journalLength: async () => 0,
  newestCursor: async () => null,
  registers: REGISTERS_WITHOUT_STORE,
  unshippedErasures: async () => [],
  readJournal: async () => ({ entries: [], cursor: null, gap: null }),
};

const HOUR_MS = 60 * MINUTE_MS;

/** Of twenty. */
const NAMED_FIRST_MIN = 18;

describe('the exploration of decisions', () => {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const of = (ask: Partial<ExplorationAsk>): ExplorationAsk => ({
    ...{
      from: T0,
      to: T0 + DAY_MS,
      platform: null,
      by: 'rule',
      verdict: null,
      filter: {},
      against: null,
      asOf: null,
      money: true,
    },
    ...ask,
  });

  describe('over an archive with twenty incidents', () => {
    let archive: ArchiveReader;
    before(async () => {
      archive = new ArchiveReader(await archiveOfIncidents(7), NOTHING_UNSHIPPED);
    });
    after(() => archive?.close());

    const incident = (place: number, ask: Partial<ExplorationAsk> = {}) => {
      const [from, verdict] = [incidentAt(place), INCIDENTS[place]?.verdict ?? 'WAIT'];
      return exploreDecisions(
        archive,
        of({
          from: from + DAY_MS,
          to: from + 2 * DAY_MS,
          verdict,
          against: { from, to: from + DAY_MS },
          ...ask,
        }),
      );
    };

    it('names the cause first in at least eighteen of them', async () => {
      const missed: string[] = [];
      for (const [place, { name, cause }] of INCIDENTS.entries()) {
        const first = (await incident(place)).change?.contributions[0];
        if (first?.dimension !== cause.dimension || first.value !== cause.value)
          missed.push(`${name}: ${first?.dimension} ${first?.value}`);
      }
      expect(INCIDENTS).to.have.length(20);
      expect(INCIDENTS.length - missed.length, missed.join('; ')).to.be.at.least(NAMED_FIRST_MIN);
    });

    it('counts the same in the slots as in the two times that it compares', async () => {
      const later = await incident(0);
      const earlier = await incident(0, { from: incidentAt(0), to: incidentAt(0) + DAY_MS });
      const counted = ({ all, values }: Exploration) => ({
        part: sum(values.flatMap(({ decisions }) => decisions)),
        whole: sum(all),
      });
      expect([later.change?.before, later.change?.after]).to.deep.equal([counted(earlier), counted(later)]);
      expect(later.slots).to.have.length(48);
      expect(sum(later.values[0]?.money['EUR'] ?? [])).to.be.above(
        10 * sum(later.values[0]?.decisions ?? []),
      );
    });

    it('counts only matching decisions', async () => {
      const { values } = await incident(0, { by: 'platform', filter: { rule: 'too-fast', method: 'card' } });
      const all = await incident(0, { by: 'platform', filter: { rule: 'too-fast' } });
      const counted = ({ values }: Pick<Exploration, 'values'>) =>
        sum(values.flatMap((one) => one.decisions));
      expect(values.map(({ value }) => value)).to.have.members(['shop', 'kiosk', 'stall']);
      expect(counted({ values })).to.be.within(1, counted(all) - 1);
    });
  });

  describe('over archive and journal', () => {
    const platform = newPlatform('shop');
    const end = T0 + 10 * MINUTE_MS;
    let place: ArchivedStore;
    beforeEach(async () => {
      place = await ArchivedStore.open();
    });
    afterEach(() => place.close());

    const asked = (ask: Partial<ExplorationAsk> = {}) =>
      exploreDecisions(place.reader(), of({ platform, to: end, ...ask }));
    const decide = async (clients: readonly ClientKey[], minutes: readonly number[]) => {
      for (const minute of minutes) {
        const client = clients[minute % clients.length] ?? expect.fail('there is no client');
        await verdict(place.store, client, `order-${minute}`, T0 + minute * MINUTE_MS);
      }
    };

    it('counts an order once, its money and whether it is paid, however often and wherever it was asked for', async () => {
      const figures = async () =>
        (await asked({ by: 'platform' })).values.map(({ decisions, money, orders }) =>
          [decisions, money['EUR'], orders?.granted, orders?.paid].map((part) => sum(part ?? [])),
        );
      const client = newClient(platform);
      for (const [minute, orderRef] of ['one', 'one', "two's", "two's", 'one', 'three', 'three'].entries()) {
        const at = T0 + minute * MINUTE_MS;
        await verdict(place.store, client, orderRef, at, { amount: 25, currency: 'EUR' });
        if (minute === 2) await place.shipAll();
      }
      await place.store.commit(paymentOf(client, await place.store.load(client), "two's", T0 + MINUTE_MS));
      expect(await figures()).to.deep.equal([[7, 75, 3, 1]]);
      await place.shipAll();
      expect(await figures()).to.deep.equal([[7, 75, 3, 1]]);
    });

    it('counts both as one, whatever was shipped', async () => {
      const clients = Array.from({ length: 6 }, () => newClient(platform));
      await decide(clients, [0, 1, 2, 3]);
      await place.shipAll();
      await decide(clients, [4, 5]);
      await verdict(place.store, newClient(newPlatform('kiosk')), 'order', T0);
      const half = await asked();
      expect(half.values.map(({ value, decisions }) => [value, sum(decisions)])).to.deep.equal([
        ['otherwise', 6],
      ]);
      expect([half.all, half.upTo]).to.deep.equal([[1, 1, 1, 1, 1, 1, 0, 0, 0, 0], null]);
      await place.shipAll();
      expect(await asked()).to.deep.equal(half);
    });

    it('gives for a time in the past what it would have given then, and how many were erased since', async () => {
      const clients = [newClient(platform), newClient(platform), newClient(platform)];
      const halfway = T0 + 5 * MINUTE_MS;
      const against = { from: T0 - 10 * MINUTE_MS, to: T0 + 3 * MINUTE_MS };
      const asOfTime = (asOf: number | null) => asked({ asOf, against });
      await decide(clients, [0, 1, 2, 3, 4, 5]);
      await place.shipAll();
      const then = await asOfTime(null);
      await decide(clients, [6, 7]);
      const { asOf, ...now } = await asOfTime(halfway);
      expect(now).to.deep.equal({ ...then, slots: now.slots, all: now.all, values: now.values });
      expect([sum(now.all), sum(then.all)]).to.deep.equal([6, 6]);
      expect(asOf).to.deep.equal({ at: halfway, erasedPayers: 0, erasedRows: 0 });
      await place.store.erase(clients[1] ?? expect.fail('there is no client'));
      for (const isShipped of [false, true]) {
        if (isShipped) await place.shipAll();
        const later = await asOfTime(halfway);
        expect([sum(later.all), later.asOf?.erasedPayers]).to.deep.equal([4, 1]);
        expect((await asOfTime(end)).asOf?.erasedPayers).to.equal(1);
      }
    });
  });

  describe('over an archive of which one file is damaged', () => {
    const platform = newPlatform();
    const ASKED = of({ platform, to: T0 + HOUR_MS, by: 'verdict' });
    let place: ArchivedStore;
    let reader: ArchiveReader;
    before(async () => {
      place = await ArchivedStore.open();
      reader = place.reader();
    });
    after(() => place?.close());

    async function shipped(client: ClientKey, orderRef: string, at: number): Promise<void> {
      await verdict(place.store, client, orderRef, at, { amount: 25, currency: 'EUR' });
      await place.shipper().step();
    }

    it('counts each order once, and names what is missing', async () => {
      const payer = newClient(platform);
      await shipped(payer, 'twice', T0);
      await shipped(payer, 'twice', T0 + 1000);
      await shipped(payer, 'twice', T0 + 2000);
      await shipped(newClient(platform), 'elsewhere', T0 + 3000);
      const figures = async () => {
        const { all, values, unreadable, gaps } = await exploreDecisions(reader, ASKED);
        const money = values[0]?.money['EUR'] ?? [];
        return { decisions: sum(all), money: sum(money), unreadable, gaps };
      };
      expect(await figures()).to.deep.equal({ decisions: 4, money: 50, unreadable: [], gaps: [] });
      const segments = place.archive.listSegments(place.archive.read(), { table: 'decisions' });
      const damaged = segments.find(({ to }) => to === T0 + 3000) ?? expect.fail('there is the last segment');
      writeFileSync(place.archive.getSegmentPath(damaged), 'torn');
      expect(await figures()).to.deep.equal({
        decisions: 3,
        money: 25,
        gaps: [],
        unreadable: [{ from: T0 + 3000, to: T0 + 3000, decisions: 1 }],
      });
    });

    it('reads the sound files by facts that none of them has', async () => {
      const other = newPlatform();
      await verdict(place.store, newClient(other), 'order', T0);
      await place.shipper().step();
      for (const filter of [{ amountMin: 10 }, { method: 'card' }]) {
        const { all, unreadable, gaps } = await exploreDecisions(reader, {
          ...ASKED,
          platform: other,
          filter,
        });
        expect([sum(all), unreadable, gaps]).to.deep.equal([0, [], []]);
      }
    });
  });
});
