import { expect } from 'chai';
import fc from 'fast-check';
import { toMomentText } from '#workbench/console/page/parts/format.ts';
import { compareWithUsualShares, toUsualHoursQuery } from '#workbench/console/page/parts/unusual-share.ts';

const SLOT_MS = 3 * 3_600_000;
const SLOTS = 66;
const START = Date.UTC(2026, 10, 1);

type Explored = Parameters<typeof compareWithUsualShares>[0];

/** Verdicts of nine days in slots of three hours; `blockedOf` says how many of each slot's are BLOCK. */
function explored(perSlot: number, blockedOf: (slot: number) => number): Explored {
  const slots = Array.from({ length: SLOTS }, (_, slot) => slot);
  const blocked = slots.map(blockedOf);
  const value = (name: string, decisions: readonly number[]) => ({
    value: name,
    decisions,
    money: {},
    orders: null,
  });
  return {
    stepMs: SLOT_MS,
    slots: slots.map((slot) => toMomentText(START + slot * SLOT_MS)),
    all: slots.map(() => perSlot),
    values: [
      value(
        'GET_NEW',
        blocked.map((number) => perSlot - number),
      ),
      value('BLOCK', blocked),
    ],
    change: null,
    gaps: [],
    unreadable: [],
    upTo: null,
  };
}

const isNow = (slot: number) => slot >= SLOTS - 2;

describe('the comparison with the same hours of the last eight days', () => {
  it('finds the verdict whose share rose by more than chance and by ten points', () => {
    const found = compareWithUsualShares(explored(100, (slot) => (isNow(slot) ? 40 : 8 + (slot % 5))));
    expect(found?.unusual?.verdict).to.equal('BLOCK');
    expect(found?.unusual?.share).to.equal(40);
    expect(found?.unusual?.usual).to.be.closeTo(10, 1);
    expect(found?.unusual?.from).to.equal(START + (SLOTS - 2) * SLOT_MS);
  });

  it('finds nothing in a rise of less than ten points, however certain it is', () => {
    expect(compareWithUsualShares(explored(10_000, (slot) => (isNow(slot) ? 1900 : 1000)))).to.deep.equal({
      unusual: null,
    });
  });

  it('finds nothing in a rise that other days had, too', () => {
    const found = compareWithUsualShares(
      explored(100, (slot) => (Math.floor((slot + 6) / 8) % 2 === 0 ? 40 : 10)),
    );
    expect(found).to.deep.equal({ unusual: null });
  });

  it('finds nothing in what only chance moves, in 99 of 100 worlds or more', () => {
    const worlds = 1000;
    let alarms = 0;
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 99 }), { minLength: SLOTS * 40, maxLength: SLOTS * 40 }),
        (draws) => {
          const blockedOf = (slot: number) =>
            draws.slice(slot * 40, slot * 40 + 40).filter((draw) => draw < 20).length;
          if (compareWithUsualShares(explored(40, blockedOf))?.unusual) alarms++;
        },
      ),
      { numRuns: worlds, seed: 1, endOnFailure: true },
    );
    expect(alarms).to.be.at.most(worlds / 100);
  });

  it('says nothing where too few verdicts, or too few days, are known', () => {
    expect(compareWithUsualShares(explored(10, (slot) => (isNow(slot) ? 9 : 0)))).to.equal(null);
    const all = explored(100, () => 10);
    const young = { ...all, all: all.all.map((number, slot) => (slot > SLOTS - 20 ? number : 0)) };
    expect(compareWithUsualShares(young)).to.equal(null);
    expect(compareWithUsualShares({ ...all, slots: [], all: [], values: [] })).to.equal(null);
  });

  it('is asked for so that its slots begin at whole hours of three, and the newest one holds now', () => {
    const now = START + 50 * SLOT_MS + 1;
    expect(toUsualHoursQuery(now).get('from')).to.equal(toMomentText(START + (51 - 2 - 64) * SLOT_MS));
  });
});
