import { expect } from 'chai';
import fc from 'fast-check';
import { paretoFront } from '../../../src/evidence/backtest/order-outcomes.ts';
import { variationsOf } from '../../../src/evidence/backtest/variations.ts';
import { BadQuestion } from '../../../src/evidence/question.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { currentRules, RULES_FOLDER } from '../../service/current-rules.ts';

describe('the variation of a version', () => {
  const files = readRuleFiles(RULES_FOLDER, []) ?? new Map();
  const chain = 'groups.blocked-by-unpaid-chain.unpaidChain';
  const varied = (...vary: readonly string[]) =>
    variationsOf(currentRules(), files, vary).map(({ values }) => Object.values(values).join(' '));

  it('is a range, a range with steps, or a list; the version as it is comes first', () => {
    expect(varied(`${chain}=2..5`)).to.deep.equal(['4', '2', '3', '5']);
    expect(varied(`${chain}=2..8:3`)).to.deep.equal(['4', '2', '5', '8']);
    expect(varied('ladder.levels[0]=15s, 30s,60s')).to.deep.equal(['30s', '15s', '60s']);
    expect(varied(`${chain}=3,4`, 'ladder.levels[0]=15s,30s')).to.deep.equal([
      ...['4 30s', '3 15s', '3 30s', '4 15s'],
    ]);
  });

  const refused: readonly (readonly [string, string])[] = [
    [
      chain,
      `--vary is PATH=VALUES, like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s, unlike "${chain}"`,
    ],
    [
      `${chain}=8..2`,
      `"8..2" in "${chain}=8..2" is no range; the smaller number comes first, like 2..8 or 2..8:2`,
    ],
    [`${chain}=1..9999`, `"1..9999" in "${chain}=1..9999" has 9999 values; at most 200 are tried`],
    ['groups.nothing.unpaidChain=3', 'groups.nothing'],
    ['ladder.levels[0]=10m', 'ladder.levels[0]=10m is no sound rule set: ladder.yaml:'],
    [`${chain}=3,{ }`, `"{ }" in "${chain}=3,{ }" is no number, duration or word;`],
  ];
  for (const [text, message] of refused)
    it(`refuses ${text}`, () => {
      expect(() => varied(text)).to.throw(BadQuestion, message);
    });

  it('is refused when one constant is varied twice', () => {
    expect(() => varied(`${chain}=3`, `${chain}=5`)).to.throw(
      `${chain} is varied twice; give all its values in one --vary`,
    );
  });
});

describe('the front of trade-offs', () => {
  const effect = (orders: number) => ({ orders, share: null, amount: {} });
  const tradeOff = ([unpaid = 0, paid = 0, heldBack = 0]: readonly number[]) => ({
    unpaidClosed: effect(unpaid),
    paidClosed: effect(paid),
    paidHeldBack: effect(heldBack),
  });

  it('has exactly those that no other one beats', () => {
    const figures = fc.array(fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4)), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(figures, (all) => {
        const front = paretoFront(all.map(tradeOff));
        for (const [place, [stopped, refused, heldBack]] of all.entries()) {
          const betters = all.some(
            ([s, r, h]) =>
              s >= stopped && r <= refused && h <= heldBack && (s > stopped || r < refused || h < heldBack),
          );
          expect(front[place]).to.equal(!betters);
        }
      }),
    );
  });
});
