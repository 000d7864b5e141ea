import { expect } from 'chai';
import fc from 'fast-check';
import { splitAtOddLetters } from '#workbench/console/page/parts/odd-letters.ts';

/** As people see it: marks in brackets. */
function show(name: string) {
  return splitAtOddLetters(name)
    .map(({ text, mark }) => (mark === null ? text : `[${mark}]`))
    .join('');
}

describe('a name in the console', () => {
  it('shows what cannot be seen by a mark of its own', () => {
    for (const [name, shown] of [
      ['ann', 'ann'],
      ['ann lee', 'ann lee'],
      [' ann  lee ', '[␣]ann[␣][␣]lee[␣]'],
      ['ann\u202Egpj', 'ann[U+202E]gpj'],
      ['ann\u0000\t', 'ann[U+0000][U+0009]'],
      ['ann\u00A0lee', 'ann[U+00A0]lee'],
    ])
      expect(show(name ?? '')).to.equal(shown);
  });

  it('does not look like another one whose letters are of another alphabet', () => {
    expect(show('p\u0430yer')).to.equal('p[\u0430 U+0430]yer');
    expect(show('e\u0301va')).to.equal('e[\u0301 U+0301]va');
    expect(show('\u00E9va')).to.equal('\u00E9va');
    expect(show('\u0430\u043D\u043D\u0430')).to.equal('\u0430\u043D\u043D\u0430');
  });

  it('loses nothing of itself', () => {
    const rejoined = (name: string) =>
      splitAtOddLetters(name)
        .map(({ text }) => text)
        .join('');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => rejoined(name) === name),
      { numRuns: 50 },
    );
  });
});
