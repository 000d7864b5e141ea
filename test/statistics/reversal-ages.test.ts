import { expect } from 'chai';
import { expectedEvents, lastingAfterDays, maturityOf } from '../../src/statistics/reversal-ages.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';

/** Payments of the last `days` days, a fifth of them reversed after 14 to 35 days, as far as is known now. */
function paymentsOf(days: number, seed: number) {
  const random = new SeededRandom(seed);
  let toCome = 0;
  const young: { readonly day: number; readonly payments: number }[] = [];
  const aged = Array.from({ length: days * 20 }, (_, number) => {
    const age = Math.floor(number / 20);
    const delay = random.chance(0.2) ? random.whole(14, 35) : null;
    if (delay !== null && delay <= age) return { day: delay, events: 1, left: 1 };
    if (delay !== null) toCome++;
    young.push({ day: age, payments: 1 });
    return { day: age, events: 0, left: 1 };
  });
  return { aged, young, toCome };
}

describe('the ages at which payments are reversed', () => {
  it('say when a payment is safe, once payments were watched for longer than reversals take', () => {
    expect(maturityOf(paymentsOf(90, 1).aged)).to.be.within(33, 36);
  });

  it('say nothing while reversals are still coming, or with fewer than ten', () => {
    expect(maturityOf(paymentsOf(30, 1).aged)).to.equal(null);
    const nine = [
      { day: 1, events: 9, left: 9 },
      { day: 90, events: 0, left: 500 },
    ];
    expect(maturityOf(nine)).to.equal(null);
    expect(maturityOf([...nine, { day: 1, events: 1, left: 1 }])).to.equal(2);
  });

  it('say when most have come, also of few, and at once where none came', () => {
    expect(lastingAfterDays(paymentsOf(90, 1).aged)).to.be.within(31, 34);
    expect(lastingAfterDays([{ day: 6, events: 1, left: 1 }])).to.equal(7);
    expect(lastingAfterDays([{ day: 6, events: 0, left: 100 }])).to.equal(0);
  });

  it('predict how many are to come, correctly on average over many histories', () => {
    const ratios = Array.from({ length: 100 }, (_, seed) => {
      const { aged, young, toCome } = paymentsOf(90, seed);
      return (expectedEvents(aged, young) ?? 0) / toCome;
    });
    expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length).to.be.closeTo(1, 0.05);
  });

  it('predict none where none was ever reversed, and nothing without a payment', () => {
    expect(expectedEvents([{ day: 9, events: 0, left: 5 }], [{ day: 1, payments: 5 }])).to.equal(0);
    expect(expectedEvents([], [{ day: 1, payments: 5 }])).to.equal(null);
  });
});
