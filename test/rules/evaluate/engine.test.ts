import { expect } from 'chai';
import { buildEngine, runEngine, toEngineConditions } from '../../../src/rules/evaluate/trace.ts';
import { edited, edits, swap } from '../../rule-fixtures/sound-rules.ts';

const WITH_NAMES = {
  'verdicts.yaml': edits(
    swap(
      'rules:\n',
      'conditions:\n  stopped: { any: [{ condition: busy }, { fact: clientGroup, operator: in, value: [BLOCKED] }] }\n  busy: { not: { all: [{ fact: verdicts, params: { window: 60s }, operator: lessThan, value: 3 }] } }\nrules:\n',
    ),
    swap(
      '      all:\n        - { fact: clientGroup, operator: equal, value: BLOCKED }',
      '      condition: stopped',
    ),
  ),
};

describe('the rules as json-rules-engine sees them', () => {
  it('keep references by name, and windows as params', () => {
    const condition = edited(WITH_NAMES).verdicts.rules[0]?.condition;
    if (condition?.kind !== 'reference') throw new Error('the rule is a reference');
    expect(toEngineConditions(condition)).to.deep.equal({ condition: 'stopped' });
    expect(toEngineConditions(condition.condition)).to.deep.equal({
      any: [{ condition: 'busy' }, { fact: 'clientGroup', operator: 'in', value: ['BLOCKED'] }],
    });
    const [busy] = condition.condition.kind === 'any' ? condition.condition.conditions : [];
    if (busy?.kind !== 'reference') throw new Error('the first way is a reference');
    expect(toEngineConditions(busy.condition)).to.deep.equal({
      not: { all: [{ fact: 'verdicts', params: { window: '1m' }, operator: 'lessThan', value: 3 }] },
    });
  });

  it('put a bare comparison under "all", which the engine needs on top', () => {
    const condition = edited({}).verdicts.rules[0]?.condition;
    const [comparison] = condition?.kind === 'all' ? condition.conditions : [];
    if (comparison === undefined) throw new Error('the rule has a comparison');
    expect(toEngineConditions(comparison)).to.deep.equal({
      all: [{ fact: 'clientGroup', operator: 'equal', value: 'BLOCKED' }],
    });
  });

  it('are accepted by the engine, all three files of the released version', () => {
    const { groups, signals, verdicts } = edited({});
    for (const { rules } of [groups, signals, verdicts]) expect(() => buildEngine(rules)).to.not.throw();
  });

  it('are all evaluated, matching or not', async () => {
    const { verdicts, facts } = edited(WITH_NAMES);
    const seen = new Map<string, number | string | boolean>([
      ['clientGroup', 'NEW'],
      ['verdicts(1m)', 3],
      ['isBot', true],
      ['overrideGroup', 'NONE'],
      ['waitRemainingSeconds', 0],
    ]);
    const values = facts.map(({ label }) => seen.get(label) ?? false);
    const { results, failureResults } = await runEngine(verdicts.rules, facts, values);
    expect(results.map(({ name }) => name)).to.deep.equal(['client-blocked', 'bot-blocked']);
    expect(failureResults.map(({ name }) => name)).to.have.members([
      'asked-too-early',
      'attempt-unpaid',
      'show-bound-requisite',
      'wait-served',
    ]);
  });

  it('fail loudly when a value is missing, instead of not matching', async () => {
    const { verdicts, facts } = edited({});
    const values = facts.slice(0, 3).map(() => 0);
    const failure = await runEngine(verdicts.rules, facts, values).then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).to.be.an('error').with.property('message', 'the decision has no value for clientGroup');
  });
});
