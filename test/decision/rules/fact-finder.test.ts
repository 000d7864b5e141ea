import { expect } from 'chai';
import { FACT_SYNONYMS } from '#decision/facts/fact-synonyms.ts';
import { NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import { listMatchingWords, listQuestionsWithFacts } from '#decision/rules/fact-finder.ts';

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

  it('finds what matches every word when nothing matches the whole text', () => {
    expect(found('shared device')).to.include('clientsOnFingerprint');
    const both = new Set(found('shared')).intersection(new Set(found('device')));
    expect(found('shared device')).to.have.members([...both]);
    expect(found('device  shared')).to.deep.equal(found('shared device'));
    expect(found('fingerprint moonphase')).to.deep.equal([]);
  });

  it('names the words that match something by themselves', () => {
    const matching = (text: string) => listMatchingWords(NO_DECLARED_ATTRIBUTES, text);
    expect(matching('device moonphase shared')).to.deep.equal(['device', 'shared']);
    expect(matching('moonphase')).to.deep.equal([]);
  });
});
