import { expect } from 'chai';
import { combinationsOf, parseVariation } from '../../../src/evidence/sweep/sweep.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';

describe('the variation of a sweep', () => {
  const files = readRuleFiles(RULES_FOLDER, []) ?? new Map();
  const chain = 'groups.blocked-by-unpaid-chain.unpaidChain';
  const values = (text: string) => parseVariation(files, text).values;

  it('is a range, a range with steps, or a list', () => {
    expect(values(`${chain}=2..5`)).to.deep.equal(['2', '3', '4', '5']);
    expect(values(`${chain}=2..8:3`)).to.deep.equal(['2', '5', '8']);
    expect(values('ladder.levels[0]=15s, 30s,60s')).to.deep.equal(['15s', '30s', '60s']);
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
    [`${chain}=1..9999`, `"1..9999" in "${chain}=1..9999" has 9999 values; a sweep tries at most 200`],
    [`${chain}=3,{ }`, `"{ }" in "${chain}=3,{ }" is no number, duration or word;`],
  ];
  for (const [text, message] of refused)
    it(`refuses ${text}`, () => {
      expect(() => parseVariation(files, text)).to.throw(message);
    });

  it('combines all values, and the unchanged version comes first', () => {
    const variations = [`${chain}=3,4`, 'ladder.levels[0]=15s,30s'].map((text) =>
      parseVariation(files, text),
    );
    const found = combinationsOf('p2.v10', files, variations).map((one) => ({
      values: Object.values(one.values).join(' '),
      present: one.present,
    }));
    expect(found).to.deep.equal([
      { values: '4 30s', present: true },
      { values: '3 15s', present: false },
      { values: '3 30s', present: false },
      { values: '4 15s', present: false },
    ]);
  });

  it('is refused where it makes a bad rule set, with the place in the file', () => {
    const longer = parseVariation(files, 'ladder.levels[0]=10m');
    expect(() => combinationsOf('p2.v10', files, [longer])).to.throw(
      /^ladder\.levels\[0\]=10m is no sound rule set: ladder\.yaml:\d+:\d+ {2}/,
    );
  });

  it('is refused when one constant is varied twice', () => {
    const twice = [`${chain}=3`, `${chain}=5`].map((text) => parseVariation(files, text));
    expect(() => combinationsOf('p2.v10', files, twice)).to.throw(
      `${chain} is varied twice; give all its values in one --vary`,
    );
  });
});
