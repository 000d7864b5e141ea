import { expect } from 'chai';
import fc from 'fast-check';
import { constantAtPath, constantsOf, withConstants } from '../../../src/rules/folder/constant.ts';
import { draftOf } from '../../../src/rules/folder/draft.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';

describe('the constants of a rule set', () => {
  const files = readRuleFiles(RULES_FOLDER, []) ?? new Map();

  it('are named by file, rule and fact', () => {
    const constants = new Map(constantsOf(files).map(({ path, text }) => [path, text]));
    const some = {
      'groups.blocked-by-unpaid-chain.unpaidChain': '4',
      'bot-signals.threshold': '4',
      'bot-signals.crowded-ip.weight': '2',
      'bot-signals.crowded-ip.clientsOnIp': '4',
      'bot-signals.crowded-ip.clientsOnIp.window': '1h',
      'bot-signals.device-churn.distinctIps': '6',
      'verdicts.attempt-unpaid.attemptOpen': 'true',
      'ladder.levels[2]': '30m',
      'ladder.resetAfter': '24h',
      'ruleset.smoothing.prior': '0.5',
    };
    for (const [path, text] of Object.entries(some)) expect(constants.get(path), path).to.equal(text);
  });

  it('get a number where a rule compares a fact several times', () => {
    const groups = `rules:
  - name: between
    conditions: { all: [{ fact: paidCount, operator: greaterThan, value: 1 }, { fact: paidCount, operator: lessThan, value: 9 }] }
    event: { params: { group: PAYING } }`;
    const paths = constantsOf(new Map([['groups.yaml', groups]])).map(({ path, text }) => `${path}=${text}`);
    expect(paths).to.deep.equal(['groups.between.paidCount[0]=1', 'groups.between.paidCount[1]=9']);
  });

  it('are replaced where they stand, and nothing else in the file', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...constantsOf(files)], { minLength: 1 }), (some) => {
        const same = withConstants(
          files,
          some.map((constant) => [constant, constant.text]),
        );
        expect([...same]).to.deep.equal([...files]);
        const marked = withConstants(
          files,
          some.map((constant) => [constant, 'changed']),
        );
        const values = new Map(constantsOf(marked).map(({ path, text }) => [path, text]));
        for (const { path } of some) expect(values.get(path)).to.equal('changed');
      }),
      { numRuns: 20 },
    );
  });

  it('that are not there are refused with the nearest name', () => {
    expect(() => constantAtPath(files, 'groups.blocked-by-unpaid-chain.unpaidChan')).to.throw(
      'there is no constant groups.blocked-by-unpaid-chain.unpaidChan; did you mean "groups.blocked-by-unpaid-chain.unpaidChain"?',
    );
  });

  it('make a rule set that decides by them', () => {
    const path = 'ladder.levels[0]';
    const draft = draftOf('p2.v10', withConstants(files, [[constantAtPath(files, path), '20s']]));
    expect(draft.ok && draft.ruleSet.settings.ladder.levelsMs[0]).to.equal(20_000);
    expect(draft.ok && draft.ruleSet.released).to.equal(false);
  });
});
