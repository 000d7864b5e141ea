import { expect } from 'chai';
import { MONEY_ALONE, objectiveOf, objectiveText } from '#decision/objective.ts';

describe('the objective of a trial', () => {
  it('is money alone where nobody said anything of it', () => {
    expect(objectiveOf(null)).to.deep.equal(MONEY_ALONE);
  });

  it('has what somebody said of it, and is money alone for the rest', () => {
    const text = objectiveText({ margin: 0.3, windowDays: 2 });
    expect(objectiveOf(text)).to.deep.equal({ ...MONEY_ALONE, margin: 0.3, windowDays: 2 });
  });

  for (const damaged of ['', '{', '[]', '{"margin":0}', '{"margin":"0.3"}'])
    it(`is not taken for another one when it is damaged: ${JSON.stringify(damaged)}`, () => {
      expect(objectiveOf(damaged)).to.equal(null);
    });
});
