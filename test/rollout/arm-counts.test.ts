import { expect } from 'chai';
import fc from 'fast-check';
import { addCounts, type ClientFate, countsOfFate, NO_COUNTS } from '../../src/rollout/arm-counts.ts';

describe('the outcomes of the clients of an arm', () => {
  const fate = fc.constantFrom<ClientFate>('paid', 'unpaid', 'unknown');

  it('count each client once, as a payer as soon as it has paid, otherwise by what is known last', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fate, { maxLength: 6 }), { maxLength: 8 }), (clients) => {
        let counts = NO_COUNTS;
        for (const fates of clients)
          for (const [place, after] of fates.entries())
            counts = addCounts(counts, countsOfFate(fates[place - 1] ?? 'unknown', after));
        // A fate is told again only when it changes: a payer whose payment was taken back has none after that.
        if (clients.some((fates) => fates.slice(0, -1).includes('paid'))) return;
        const last = clients.map((fates) => fates.at(-1) ?? 'unknown');
        expect([counts.clients.paid, counts.clients.unpaid]).to.deep.equal([
          last.filter((one) => one === 'paid').length,
          last.filter((one) => one === 'unpaid').length,
        ]);
      }),
    );
  });

  it('keep a payer whose payment is taken back, so that looking often raises no more false alarms', () => {
    expect(countsOfFate('paid', 'unpaid')).to.deep.equal(NO_COUNTS);
  });
});
