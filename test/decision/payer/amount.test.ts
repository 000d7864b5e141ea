import { expect } from 'chai';
import fc from 'fast-check';
import {
  DECIMAL_PATTERN,
  formatDecimal,
  formatMoney,
  normalizeAmount,
  parseMoney,
  sumAmounts,
} from '#decision/payer/amount.ts';

const digits = (minLength: number, maxLength: number) =>
  fc.string({ minLength, maxLength, unit: fc.constantFrom(...'0123456789') });

const decimal = fc
  .tuple(digits(1, 20), fc.option(digits(1, 10), { nil: null }))
  .map(([whole, fraction]) => (fraction === null ? whole : `${whole}.${fraction}`));

/** Exact: the amount in units of 10^-10. */
function exactly(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(10, '0'));
}

describe('an amount', () => {
  it('is normally written without needless zeros', () => {
    const normal = ['010.50', '10.00', '000', '00.10', '99999999999999999999.9999999999'].map(
      normalizeAmount,
    );
    expect(normal).to.deep.equal(['10.5', '10', '0', '0.1', '99999999999999999999.9999999999']);
  });

  it('is normalised in one step to a decimal-string of the same value', () => {
    const pattern = new RegExp(DECIMAL_PATTERN);
    fc.assert(
      fc.property(decimal, (amount) => {
        const normal = normalizeAmount(amount);
        expect(exactly(normal)).to.equal(exactly(amount));
        expect(normal).to.match(pattern);
        expect(normalizeAmount(normal)).to.equal(normal);
      }),
    );
  });

  it('has one normal text exactly when the values are equal', () => {
    fc.assert(
      fc.property(decimal, decimal, (a, b) => {
        expect(normalizeAmount(a) === normalizeAmount(b)).to.equal(exactly(a) === exactly(b));
      }),
    );
  });

  it('of a fact is a decimal-string again, however large or small it is', () => {
    expect([1e-7, 1e-18, 1e21, 25.5].map(formatDecimal)).to.deep.equal([
      '0.0000001',
      '0.000000000000000001',
      '1000000000000000000000',
      '25.5',
    ]);
    const asked = fc
      .tuple(digits(1, 38), fc.option(digits(1, 18), { nil: null }))
      .map(([whole, fraction]) => Number(fraction === null ? whole : `${whole}.${fraction}`));
    const pattern = new RegExp(DECIMAL_PATTERN);
    fc.assert(
      fc.property(asked, (amount) => {
        const text = formatDecimal(amount);
        expect(text).to.match(pattern);
        expect(Number(text)).to.equal(amount);
        expect(sumAmounts([text])).to.equal(amount);
      }),
    );
  });

  it('is read back with its currency from the text in a state', () => {
    expect(formatMoney('010.50', 'EUR')).to.equal('10.5 EUR');
    expect(parseMoney('10.5 EUR')).to.deep.equal({ amount: '10.5', currency: 'EUR' });
  });

  it('is not read from a token of an older version', () => {
    expect(parseMoney('a1B_-z')).to.equal(null);
  });

  it('adds up exactly before it becomes a number', () => {
    expect(sumAmounts(['0.1', '0.2'])).to.equal(0.3);
    expect(sumAmounts([])).to.equal(0);
    expect(sumAmounts(['99999999999999999999.9999999999', '0.0000000001'])).to.equal(1e20);
    fc.assert(
      fc.property(fc.array(decimal), (amounts) => {
        const exact = amounts.map(exactly).reduce((sum, amount) => sum + amount, 0n);
        const digits = exact.toString().padStart(11, '0');
        expect(sumAmounts(amounts)).to.equal(Number(`${digits.slice(0, -10)}.${digits.slice(-10)}`));
      }),
    );
  });

  it('is a decimal-string without sign, exponent, blank or digits of other scripts', () => {
    const pattern = new RegExp(DECIMAL_PATTERN);
    const bad = [
      '',
      '-1',
      '+1',
      '1e3',
      ' 1',
      '1 ',
      '1.',
      '.5',
      '1,5',
      '1.2.3',
      '1\n',
      '١',
      '１',
      '½',
      'NaN',
      '0x1',
    ];
    for (const one of [...bad, '1_000', 'Infinity', '1'.repeat(39), `0.${'1'.repeat(19)}`])
      expect(one, JSON.stringify(one)).to.not.match(pattern);
    for (const good of ['0', '1', '1.5', '00.10', '1'.repeat(38), `0.${'1'.repeat(18)}`])
      expect(good).to.match(pattern);
  });
});
