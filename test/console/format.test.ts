import { expect } from 'chai';
import { factText, moneyText } from '../../src/console/page/parts/format.ts';

describe('the value of a fact in the console', () => {
  for (const [value, text] of [
    [25, '25'],
    [1234567.5, '1234567.5'],
    [0.5833, '0.5833'],
    [0.00012345, '0.00012345'],
    [0.00000001, '0.00000001'],
    [0.1 + 0.2, '0.3'],
    [1e21, '1000000000000000000000'],
    [999_999_999, 'never'],
    ['', '(empty)'],
    [true, 'true'],
  ] as const) {
    it(`of ${JSON.stringify(value)} is ${text}`, () => {
      expect(factText(value)).to.equal(text);
    });
  }

  it('is a list of such texts where it is compared with several', () => {
    expect(factText([0.00005, 2])).to.equal('0.00005, 2');
  });
});

describe('an amount in the console', () => {
  for (const [amount, currency, text] of [
    [25, 'EUR', '25.00 EUR'],
    [25.5, 'EUR', '25.50 EUR'],
    [500, 'JPY', '500 JPY'],
    [1.25, 'USDT', '1.25 USDT'],
    [0.00004, 'BTC', '0.00004 BTC'],
    [25, '', '25'],
  ] as const)
    it(`keeps its zeros and its decimals: ${text}`, () => {
      expect(moneyText(amount, currency)).to.equal(text);
    });
});
