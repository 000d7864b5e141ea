import { expect } from 'chai';
import fc from 'fast-check';
import { type BannedChange, type FoundChange, findChanges } from '../../../src/evidence/suggest/fitting.ts';
import {
  type Edit,
  editText,
  type Feature,
  type KnownOrders,
  ruleText,
} from '../../../src/evidence/suggest/rule-search.ts';
import { shareUpperBound } from '../../../src/statistics/intervals.ts';

const NONE: readonly BannedChange[] = [];

function banned(changes: readonly FoundChange[]): readonly BannedChange[] {
  return changes.map((change) => ({ change, withNarrower: false }));
}

function textOf(change: FoundChange | undefined): string | null {
  if (change === undefined) return null;
  return change.kind === 'rule' ? ruleText(change) : editText(change);
}

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

/** Changes of a constant with the value 4, with the orders that each blocks. */
function edit(path: string, value: string, matched: readonly number[]): Edit {
  const at = { file: 'groups.yaml', line: 1, column: 1 };
  const constant: Edit['constant'] = {
    ...{ path, owner: path, usedBy: [], at, text: '4', from: 0, to: 1, sign: null },
    ...{ allowed: { type: 'text' }, unit: null, description: '' },
  };
  return { kind: 'edit', constant, value, matched };
}

describe('a search for changes', () => {
  it('finds the simplest condition that separates unpaid orders', () => {
    const [first, ...others] = findChanges(planted(), [], { budget: 0.01, banned: NONE });
    expect(textOf(first)).to.equal('distinctFingerprints(1h) >= 3');
    expect([first?.unpaid, first?.paid]).to.deep.equal([80, 0]);
    expect(others).to.deep.equal([]);
  });

  it('changes a constant rather than adding a rule that blocks as many', () => {
    const orders = planted();
    const unpaid = [...orders.paid.keys()].filter((order) => orders.paid[order] === 0);
    const chain = edit('groups.chain.unpaidChain', '3', unpaid);
    const [first, ...others] = findChanges(orders, [chain], { budget: 0.01, banned: NONE });
    expect(textOf(first)).to.equal('groups.chain.unpaidChain: 4 -> 3');
    expect([first?.unpaid, first?.paid, others]).to.deep.equal([80, 0, []]);
    const fewer = { ...chain, matched: unpaid.slice(1) };
    const [rule] = findChanges(orders, [fewer], { budget: 0.01, banned: NONE });
    expect(textOf(rule)).to.equal('distinctFingerprints(1h) >= 3');
  });

  it('gives a constant one new value, and skips values that are banned or over the budget', () => {
    const orders = { ...planted(), features: [] };
    const unpaid = [...orders.paid.keys()].filter((order) => orders.paid[order] === 0);
    const paid = [...orders.paid.keys()].filter((order) => orders.paid[order] === 1);
    const edits = [
      edit('groups.chain.unpaidChain', '3', unpaid.slice(0, 40)),
      edit('groups.chain.unpaidChain', '2', unpaid.slice(0, 60)),
      edit('groups.chain.unpaidChain', '1', [...unpaid, ...paid.slice(0, 30)]),
    ];
    const first = findChanges(orders, edits, { budget: 0.02, banned: NONE });
    expect(first.map(textOf)).to.deep.equal(['groups.chain.unpaidChain: 4 -> 2']);
    const second = findChanges(orders, edits, { budget: 0.02, banned: banned(first) });
    expect(second.map(textOf)).to.deep.equal(['groups.chain.unpaidChain: 4 -> 3']);
  });

  it('skips what is banned and what is blocked already', () => {
    const orders = planted();
    const before = findChanges(orders, [], { budget: 0.01, banned: NONE });
    const [second] = findChanges(orders, [], { budget: 0.01, banned: banned(before) });
    expect(textOf(second)).not.to.equal('distinctFingerprints(1h) >= 3');
    const blocked = planted().paid.map((paid) => 1 - paid);
    expect(findChanges({ ...planted(), blocked }, [], { budget: 0.01, banned: NONE })).to.deep.equal([]);
  });

  it('never blocks more paid orders than the upper bounds of its rules allow, whatever the orders are', () => {
    const order = fc.record({ a: fc.nat(6), b: fc.nat(3), flag: fc.boolean(), paid: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(order, { minLength: 100, maxLength: 300 }),
        fc.constantFrom(0.01, 0.05, 0.2),
        (orders, budget) => {
          const paid = Uint8Array.from(orders.map((one) => Number(one.paid)));
          const found = findChanges(
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
            [],
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
