import { expect } from 'chai';
import type { FactValue } from '../../src/facts/fact.ts';
import type { Condition } from '../../src/rules/condition.ts';
import { type Answer, Reasoner } from '../../src/rules/proof/reasoner.ts';
import { compare, knowledgeOf, type Moment } from '../../src/rules/proof/relations.ts';
import { edited, SOUND_VERSION } from '../rule-fixtures/sound-rules.ts';

const RULES = edited({});

function is(name: string, value: FactValue): Condition {
  const fact = RULES.facts.find((ref) => ref.name === name);
  if (fact === undefined) throw new Error(`there is no fact ${name}`);
  return compare(fact, 'equal', value);
}

/** Whether there is a payer like this whose verdict is none of those. */
function withoutVerdict(verdict: string, ...like: readonly Condition[]): Answer {
  const { rules } = RULES.verdicts;
  const others = rules.filter(({ params }) => params.verdict === verdict).map(({ condition }) => condition);
  return new Reasoner(knowledgeOf(RULES, 'a verdict')).find(like, others);
}

function possible(moment: Moment, ...conditions: readonly Condition[]): Answer {
  return new Reasoner(knowledgeOf(RULES, moment)).find(conditions);
}

describe(`an answer of ${SOUND_VERSION}`, () => {
  it('never flags a bot and lets it through', () => {
    expect(withoutVerdict('BLOCK', is('isBot', true)).kind).to.equal('none');
  });

  it('never says that a client is blocked and lets it through', () => {
    expect(withoutVerdict('BLOCK', is('clientGroup', 'BLOCKED')).kind).to.equal('none');
  });

  it('never flags a client as a bot whom a person trusts, in a score or in a verdict', () => {
    expect(possible('any request', is('isBot', true), is('overrideGroup', 'TRUSTED')).kind).to.equal('none');
    expect(possible('any request', is('isBot', true), is('overrideGroup', 'NONE')).kind).to.equal('witness');
  });

  it('never calls a client blocked whom a person trusts', () => {
    expect(
      possible('any request', is('clientGroup', 'BLOCKED'), is('overrideGroup', 'TRUSTED')).kind,
    ).to.equal('none');
  });
});
