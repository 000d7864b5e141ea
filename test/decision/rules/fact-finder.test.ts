import { expect } from 'chai';
import { FACT_SYNONYMS } from '#decision/facts/fact-synonyms.ts';
import { NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import { listQuestionsWithFacts } from '#decision/rules/fact-finder.ts';

describe('looking for a fact', () => {
  const found = (word: string) =>
    listQuestionsWithFacts(NO_DECLARED_ATTRIBUTES, word).flatMap(({ facts }) =>
      facts.map(({ name }) => name),
    );

  it('finds each one by all that other products call it', () => {
    for (const [words, facts] of FACT_SYNONYMS) expect(found(words), words).to.include.members([...facts]);
  });

  it('reads such a word as others write it', () => {
    expect(found('Device_Age')).to.include('secondsSinceFingerprintFirstSeen');
    expect(found('cardVelocity')).to.include('clientsOnAttribute');
    expect(found('no such thing')).to.deep.equal([]);
  });
});
