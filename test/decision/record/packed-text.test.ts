import { expect } from 'chai';
import fc from 'fast-check';
import { packText, unpackText } from '../../../src/decision/decision-record.ts';

describe('a packed text', () => {
  it('gives back the text, whatever it is', () => {
    const text = fc.oneof(
      fc.string(),
      fc.uuid(),
      fc.string().map((rest) => `~${rest}`),
    );
    fc.assert(
      fc.property(text, (given) => {
        expect(unpackText(packText(given))).to.equal(given);
      }),
    );
  });

  it('of a UUID takes 23 characters', () => {
    expect(packText('00000000-0000-4000-8000-0000000000ff')).to.have.length(23);
  });

  for (const text of ['00000000-0000-4000-8000-0000000000FF', '{00000000-0000-4000-8000-0000000000ff}']) {
    it(`of ${text} is the text itself, since its letters would not come back`, () => {
      expect(packText(text)).to.equal(text);
    });
  }
});
