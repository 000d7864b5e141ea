import { expect } from 'chai';
import { FACTS } from '#decision/facts/catalogue.ts';
import { FACT_SYNONYMS } from '#decision/facts/fact-synonyms.ts';
import { QUESTIONS_WITH_FACTS } from '#decision/facts/questions.ts';
import { explainUnknownFact } from '#decision/rules/parse/unknown-fact.ts';
import { problemsOf, swap } from '../../rule-fixtures/sound-rules.ts';

describe('the questions that facts answer', () => {
  it('have every fact of the catalogue, and each once', () => {
    const named = QUESTIONS_WITH_FACTS.flatMap(({ facts }) => facts);
    expect(named.toSorted()).to.deep.equal([...FACTS.keys()].toSorted());
  });

  for (const { question, example, declares = '', facts } of QUESTIONS_WITH_FACTS)
    it(`have an example that a rule takes and that asks for a fact: ${question}`, () => {
      const lines = example.split('\n').map((line) => `    ${line}`);
      const rule = `rules:\n  - name: example\n    priority: 999\n${lines.join('\n')}\n    event: { type: verdict, params: { verdict: BLOCK, reason: "." } }\n`;
      const declaring = (sound: string) => `${sound}\n${declares}\n`;
      const edits = { 'verdicts.yaml': swap('rules:\n', rule), 'ruleset.yaml': declaring };
      expect(problemsOf(edits)).to.deep.equal([]);
      expect(facts.some((name) => example.includes(`fact: ${name},`))).to.equal(true);
    });
});

describe('a fact that there is not', () => {
  it('is told the nearest name, or what it is called here', () => {
    expect(explainUnknownFact('paidCounts')).to.equal('unknown fact "paidCounts"; did you mean "paidCount"?');
    expect(explainUnknownFact('chargebackCount')).to.equal(
      'unknown fact "chargebackCount"; what others call chargeback is asked here with "reversedOrders" or "secondsSinceLastReversal"',
    );
    expect(explainUnknownFact('card_velocity')).to.equal(
      'unknown fact "card_velocity"; what others call card velocity is asked here with "distinctAttribute" or "clientsOnAttribute"',
    );
    expect(explainUnknownFact('account age')).to.equal(
      'unknown fact "account age"; what others call account age is asked here with "secondsSinceFirstSeen"',
    );
    expect(explainUnknownFact('card_country')).to.equal(
      'unknown fact "card_country"; what only the caller knows, like card country, is an attribute: declare it in ruleset.yaml, and ask { fact: attribute, params: { name: cardCountry } }',
    );
    expect(explainUnknownFact('xyz')).to.equal(
      'unknown fact "xyz"; "rules facts" lists all by question, and so does a running service at /docs/facts',
    );
  });

  it('is recognised by every entry of the table, which names facts that there are', () => {
    for (const [words, facts] of FACT_SYNONYMS) {
      expect(explainUnknownFact(words), words).to.match(/did you mean|is asked here with|is an attribute/);
      for (const fact of facts) expect(FACTS.has(fact), fact).to.equal(true);
    }
  });
});
