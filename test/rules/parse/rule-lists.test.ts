import { expect } from 'chai';
import { diffRuleSets } from '../../../src/authoring/diff/rule-diff.ts';
import { prove } from '../../../src/authoring/prove.ts';
import { seenText } from '../../../src/rules/condition-text.ts';
import { traceCondition } from '../../../src/rules/evaluate/trace.ts';
import { matcher } from '../../../src/rules/matcher.ts';
import { LIST_ENTRIES_MAX } from '../../../src/rules/parse/rule-lists.ts';
import {
  type Edit,
  edited,
  editedFiles,
  edits,
  problemsOf,
  swap,
  whole,
} from '../../rule-fixtures/sound-rules.ts';
import { itTells } from '../../rule-fixtures/told.ts';

const CLIENT_BLOCKED = '{ fact: clientGroup, operator: equal, value: BLOCKED }';

function comparing(fact: string, list: string, operator = 'in'): Readonly<Record<string, Edit>> {
  return {
    'verdicts.yaml': swap(
      CLIENT_BLOCKED,
      `{ fact: ${fact}, operator: ${operator}, value: { list: ${list} } }`,
    ),
  };
}

function withList(text: string, fact = 'method'): Readonly<Record<string, Edit>> {
  return { ...comparing(fact, 'fast-methods'), 'lists/fast-methods.yaml': whole(text) };
}

const FAST = withList('description: Settled at once.\nentries: [card, wallet]\n');

describe('a list of a rule set', () => {
  it('stands for its entries where a rule names it', () => {
    const rules = edited(FAST);
    const rule = rules.verdicts.rules.find(({ condition }) =>
      JSON.stringify(condition).includes('fast-methods'),
    );
    const method = rules.facts.find(({ name }) => name === 'method');
    if (rule === undefined || method === undefined) throw new Error('the rule or the fact is missing');
    const values = (seen: string) => rules.facts.map(({ name }) => (name === 'method' ? seen : false));
    expect(matcher(rule.condition)(values('wallet'))).to.equal(true);
    expect(matcher(rule.condition)(values('transfer'))).to.equal(false);
    expect([...rules.lists.values()]).to.deep.equal([
      { name: 'fast-methods', description: 'Settled at once.', values: ['card', 'wallet'] },
    ]);
    const [seen] = partsOf(traceCondition(rule.condition, values('wallet')));
    expect(seen && seenText(seen)).to.equal('method is wallet, an entry of the list fast-methods');
    const [other] = partsOf(traceCondition(rule.condition, values('transfer')));
    expect(other && seenText(other)).to.equal('method is transfer, none of those on the list fast-methods');
  });

  it('is part of the digest and of the proofs', () => {
    const files = editedFiles({
      'verdicts.yaml': swap(
        CLIENT_BLOCKED,
        '{ fact: method, operator: in, value: { list: fast-methods } }\n        - { fact: method, operator: equal, value: transfer }',
      ),
      'lists/fast-methods.yaml': whole('entries: [card, wallet]\n'),
    });
    const rules = edited({
      'verdicts.yaml': whole(files.get('verdicts.yaml') ?? ''),
      'lists/fast-methods.yaml': whole('entries: [card, wallet]\n'),
    });
    expect(prove(rules, files).findings.map(({ message }) => message)).to.include(
      '"client-blocked" can never match: method in the list fast-methods (line 10) and method = transfer (line 11) cannot hold together',
    );
  });

  it('is compared entry by entry by a diff', () => {
    const before = edited(FAST);
    const after = edited(withList('entries: [wallet, card, voucher]\n'));
    const without = edited({});
    const texts = (a: typeof before, b: typeof before) => diffRuleSets(a, b).map(({ text }) => text);
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
    const rules = edited({
      'verdicts.yaml': edits(
        swap(
          CLIENT_BLOCKED,
          '{ fact: listed, params: { list: blocked-devices }, operator: equal, value: true }',
        ),
        swap('"No reason to hold the payer back."', '"Trusted: {listed(trusted-shops)}."'),
      ),
    });
    const asked = rules.facts.filter(({ name }) => name === 'listed');
    expect(asked.map(({ label, list }) => [label, list])).to.deep.equal([
      ['listed(blocked-devices)', 'blocked-devices'],
      ['listed(trusted-shops)', 'trusted-shops'],
    ]);
  });
});

describe('what bad lists are told', () => {
  const bad: Readonly<Record<string, Readonly<Record<string, Edit>>>> = {
    'an unknown list, with the nearest name': { ...FAST, ...comparing('method', 'fast-method') },
    'a list where there are none': comparing('method', 'fast-methods'),
    'a list that no rule names': { 'lists/fast-methods.yaml': whole('entries: [card]\n') },
    'a list without entries': withList('description: None.\nentries: []\n'),
    'an entry that stands there twice': withList('entries:\n  - card\n  - wallet\n  - card\n'),
    'an entry that its fact never has': withList('entries: [EUR, usd]\n', 'currency'),
    'an entry of another kind than its fact': withList('entries: [PAYING, PAYNG]\n', 'clientGroup'),
    'a list that is longer than hands write': withList(
      `entries: [${Array.from({ length: LIST_ENTRIES_MAX + 1 }, (_, n) => `m${n}`).join(', ')}]\n`,
    ),
    'a name that no rule could write': { 'lists/Fast_Methods.yaml': whole('entries: [card]\n') },
    'a list for an operator that compares with one value': {
      ...FAST,
      ...comparing('method', 'fast-methods', 'equal'),
    },
    'a shared list with no list': {
      'verdicts.yaml': swap(CLIENT_BLOCKED, '{ fact: listed, operator: equal, value: true }'),
    },
    'a shared list with a window in the place of the list': {
      'verdicts.yaml': swap(
        CLIENT_BLOCKED,
        '{ fact: listed, params: { window: 1h }, operator: equal, value: true }',
      ),
    },
    'a shared list with a name that no list can have': {
      'verdicts.yaml': swap(
        CLIENT_BLOCKED,
        '{ fact: listed, params: { list: Blocked }, operator: equal, value: true }',
      ),
    },
    'a bad list is told once, however many rules name it': {
      ...withList('entries: [usd]\n', 'currency'),
      'groups.yaml': swap(
        '{ fact: overrideGroup, operator: equal, value: BLOCKED }',
        '{ fact: currency, operator: in, value: { list: fast-methods } }',
      ),
    },
  };
  const told = Object.entries(bad).map(([title, files]) => [title, () => problemsOf(files)] as const);
  itTells(new URL('bad-lists.txt', import.meta.url), Object.fromEntries(told));
});

function partsOf(trace: ReturnType<typeof traceCondition>) {
  if (trace.kind !== 'all') throw new Error('the rule has another form');
  return trace.conditions.filter((part) => part.kind === 'comparison');
}
