import { expect } from 'chai';
import fc from 'fast-check';
import {
  type Feature,
  type FoundRule,
  findRules,
  type KnownOrders,
  ruleText,
} from '../../../src/evidence/suggest/rule-search.ts';
import { shareUpperBound } from '../../../src/statistics/share-interval.ts';

const NONE: readonly FoundRule[] = [];

function feature(label: string, values: readonly number[], isFlag = false): Feature {
  return { label, isFlag, values: Float64Array.from(values) };
}

/** 400 orders: those with three devices and more were never paid, all others were. */
function planted(): KnownOrders {
  const places = Array.from({ length: 400 }, (_, place) => place);
  const devices = places.map((place) => (place % 10 < 2 ? 3 + (place % 3) : place % 3));
  return {
    features: [
      feature('distinctFingerprints(1h)', devices),
      feature(
        'verdicts(1h)',
        places.map((place) => place % 7),
      ),
      feature(
        'jsOk',
        places.map((place) => place % 2),
        true,
      ),
    ],
    paid: Uint8Array.from(devices.map((count) => (count < 3 ? 1 : 0))),
    blocked: new Uint8Array(400),
  };
}

describe('a search for rules', () => {
  it('finds what tells unpaid orders apart, as simply as it can be said', () => {
    const [first, ...others] = findRules(planted(), { budget: 0.01, banned: NONE });
    expect(first === undefined ? null : ruleText(first)).to.equal('distinctFingerprints(1h) >= 3');
    expect([first?.unpaid, first?.paid]).to.deep.equal([80, 0]);
    expect(others).to.deep.equal([]);
  });

  it('passes over what is banned and what is blocked already', () => {
    const orders = planted();
    const banned = findRules(orders, { budget: 0.01, banned: NONE });
    const [second] = findRules(orders, { budget: 0.01, banned });
    expect(second === undefined ? null : ruleText(second)).not.to.equal('distinctFingerprints(1h) >= 3');
    const blocked = planted().paid.map((paid) => 1 - paid);
    expect(findRules({ ...planted(), blocked }, { budget: 0.01, banned: NONE })).to.deep.equal([]);
  });

  it('never takes more paid orders than the upper bounds of its rules allow, whatever the orders are', () => {
    const order = fc.record({ a: fc.nat(6), b: fc.nat(3), flag: fc.boolean(), paid: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(order, { minLength: 100, maxLength: 300 }),
        fc.constantFrom(0.01, 0.05, 0.2),
        (orders, budget) => {
          const paid = Uint8Array.from(orders.map((one) => Number(one.paid)));
          const found = findRules(
            {
              features: [
                feature(
                  'a',
                  orders.map((one) => one.a),
                ),
                feature(
                  'b',
                  orders.map((one) => one.b),
                ),
                feature(
                  'flag',
                  orders.map((one) => Number(one.flag)),
                  true,
                ),
              ],
              paid,
              blocked: new Uint8Array(orders.length),
            },
            { budget, banned: NONE },
          );
          const paidTotal = paid.reduce((sum, one) => sum + one, 0);
          const spent = found.reduce((sum, rule) => sum + shareUpperBound(rule.paid, paidTotal), 0);
          expect(spent).to.be.at.most(budget);
          const matched = found.flatMap((rule) => rule.matched);
          expect(new Set(matched).size).to.equal(matched.length);
          for (const rule of found)
            expect(rule.matched.filter((place) => paid[place] === 1)).to.have.length(rule.paid);
        },
      ),
      { numRuns: 25 },
    );
  });
});
