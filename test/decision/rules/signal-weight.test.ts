import { expect } from 'chai';
import fc from 'fast-check';
import { type SignalParams, selectHeaviestByAbout, sumSignalWeights } from '#decision/rules/rule-set.ts';

const signal = fc
  .tuple(fc.constantFrom(0.1, 0.7, 1, 2, 4), fc.constantFrom(undefined, 'device', 'address'))
  .map(([weight, about]): SignalParams => (about === undefined ? { weight } : { weight, about }));

describe('the weight of matching signals', () => {
  it('is the sum of the signals that are about nothing in particular', () => {
    expect(sumSignalWeights([{ weight: 0.7 }, { weight: 0.1 }])).to.equal(0.8);
    expect(sumSignalWeights([])).to.equal(0);
  });

  it('has only the heaviest of several signals about one thing', () => {
    const about = 'address';
    expect(sumSignalWeights([{ weight: 2, about }, { weight: 3, about }, { weight: 1 }])).to.equal(4);
    expect(
      sumSignalWeights([
        { weight: 2, about },
        { weight: 2, about },
      ]),
    ).to.equal(2);
    expect(
      sumSignalWeights([
        { weight: 2, about },
        { weight: 2, about: 'device' },
      ]),
    ).to.equal(4);
  });

  it('is that of one signal a thing, none lighter than those left out', () => {
    fc.assert(
      fc.property(fc.array(signal), (matching) => {
        const kept = selectHeaviestByAbout(matching);
        const things = new Set(matching.map(({ about }) => about)).difference(new Set([undefined]));
        const alone = matching.filter(({ about }) => about === undefined);
        expect(kept).to.have.length(alone.length + things.size);
        for (const { about, weight } of matching)
          if (about !== undefined)
            expect(kept.find((other) => other.about === about)?.weight).to.be.at.least(weight);
      }),
    );
  });
});
