import { expect } from 'chai';
import { DEFAULT_OBJECTIVE, encodeObjective, parseObjective } from '#decision/objective.ts';

describe('the objective of a trial', () => {
  it('is money alone where nobody said anything of it', () => {
    expect(parseObjective(null)).to.deep.equal(DEFAULT_OBJECTIVE);
  });

  it('has what somebody said of it, and is money alone for the rest', () => {
    const text = encodeObjective({ margin: 0.3, windowDays: 2 });
    expect(parseObjective(text)).to.deep.equal({ ...DEFAULT_OBJECTIVE, margin: 0.3, windowDays: 2 });
  });

  for (const damaged of ['', '{', '[]', '{"margin":0}', '{"margin":"0.3"}'])
    it(`is not taken for another one when it is damaged: ${JSON.stringify(damaged)}`, () => {
      expect(parseObjective(damaged)).to.equal(null);
    });
});
