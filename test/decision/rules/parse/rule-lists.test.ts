import { expect } from 'chai';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { formatSeenFact } from '#decision/rules/condition-text.ts';
import { traceCondition } from '#decision/rules/evaluate/trace.ts';
import { createMatcher } from '#decision/rules/matcher.ts';
import { analyzeRules } from '#workbench/authoring/analyze-rules.ts';
import { listRuleSetDifferences } from '#workbench/authoring/diff/rule-diff.ts';
import { editsOf, itTellsOfEdits } from '../../../rule-fixtures/rule-edits.ts';
import { edited, editedFiles } from '../../../rule-fixtures/sound-rules.ts';

function withList(text: string) {
  return editsOf([
    '- condition: { fact: method, operator: in, value: { list: fast-methods } }',
    `- lists/fast-methods.yaml = ${text}`,
  ]);
}

const FAST = withList('description: Settled at once.\\nentries: [card, wallet]\\n');

describe('a list of a rule set', () => {
  it('stands for its entries where a rule names it', () => {
    const rules = edited(FAST);
    const rule = rules.verdicts.rules.find(({ condition }) =>
      JSON.stringify(condition).includes('fast-methods'),
    );
    const method = rules.facts.find(({ name }) => name === 'method');
    if (rule === undefined || method === undefined) throw new Error('the rule or the fact is missing');
    const values = (seen: string) => rules.facts.map(({ name }) => (name === 'method' ? seen : false));
    expect(createMatcher(rule.condition)(values('wallet'))).to.equal(true);
    expect(createMatcher(rule.condition)(values('transfer'))).to.equal(false);
    expect([...rules.lists.values()]).to.deep.equal([
      { name: 'fast-methods', description: 'Settled at once.', values: ['card', 'wallet'] },
    ]);
    const [seen] = partsOf(traceCondition(rule.condition, values('wallet'), NO_ATTRIBUTE_PSEUDONYMIZER));
    expect(seen && formatSeenFact(seen)).to.equal('method is wallet, an entry of the list fast-methods');
    const [other] = partsOf(traceCondition(rule.condition, values('transfer'), NO_ATTRIBUTE_PSEUDONYMIZER));
    expect(other && formatSeenFact(other)).to.equal(
      'method is transfer, none of those on the list fast-methods',
    );
  });

  it('is part of the proofs', () => {
    const changes = editsOf([
      '- condition: { fact: method, operator: in, value: { list: fast-methods } }\\n        - { fact: method, operator: equal, value: transfer }',
      '- lists/fast-methods.yaml = entries: [card, wallet]\\n',
    ]);
    expect(
      analyzeRules(edited(changes), editedFiles(changes)).findings.map(({ message }) => message),
    ).to.include(
      '"client-blocked" can never match: method in the list fast-methods (line 10) and method = transfer (line 11) cannot hold together',
    );
  });

  it('is compared entry by entry by a diff', () => {
    const before = edited(FAST);
    const after = edited(withList('entries: [wallet, card, voucher]\\n'));
    const without = edited({});
    const texts = (a: typeof before, b: typeof before) =>
      listRuleSetDifferences(a, b).map(({ text }) => text);
    expect(texts(before, after)).to.deep.equal(['list fast-methods: added voucher']);
    expect(texts(after, before)).to.deep.equal(['list fast-methods: removed voucher']);
    expect(texts(without, before)).to.deep.equal([
      'list fast-methods: added, 2 entries',
      'client-blocked: condition removed: clientGroup = BLOCKED',
      'client-blocked: condition added: method in the list fast-methods',
    ]);
  });
});

describe('a shared list in a rule', () => {
  it('is used by its name, and a reason may show its value', () => {
    const rules = edited(
      editsOf([
        '- condition: { fact: listed, params: { list: blocked-devices }, operator: equal, value: true }',
        '- verdicts.yaml: "No reason to hold the payer back." -> "Trusted: {listed(trusted-shops)}."',
      ]),
    );
    const asked = rules.facts.filter(({ name }) => name === 'listed');
    expect(asked.map(({ label, list }) => [label, list])).to.deep.equal([
      ['listed(blocked-devices)', 'blocked-devices'],
      ['listed(trusted-shops)', 'trusted-shops'],
    ]);
  });
});

describe('the messages for bad lists', () => itTellsOfEdits(new URL('bad-lists.txt', import.meta.url)));

function partsOf(trace: ReturnType<typeof traceCondition>) {
  if (trace.kind !== 'all') throw new Error('the rule has another form');
  return trace.conditions.filter((part) => part.kind === 'comparison');
}
