import { expect } from 'chai';
import { reversalNotes } from '../../../src/evidence/source/reversals.ts';

describe('what a reader must know of reversals', () => {
  it('counts one order in the singular', () => {
    const seen = {
      causes: [],
      seen: 1,
      immature: [{ currency: 'EUR', orders: 1, amount: 10 }],
      expected: null,
    };
    const [, young] = reversalNotes({ ...seen, maturityDays: 33 });
    expect(young).to.match(/^Immature: 1 paid order is younger than 33 days, /);
    const [, unknown] = reversalNotes({ ...seen, maturityDays: null });
    expect(unknown).to.match(/ 1 paid order may yet be reversed: do not judge by that yet\.$/);
  });
});
