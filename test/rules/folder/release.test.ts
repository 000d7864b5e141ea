import { expect } from 'chai';
import { checkRelease, digestOf, makeRelease } from '../../../src/rules/folder/release.ts';
import { formatProblem } from '../../../src/rules/problem.ts';

const FILES = new Map([
  ['ladder.yaml', 'levels: [30s]\n'],
  ['groups.yaml', 'otherwise: NEW\n'],
  ['cases/a.yaml', 'cases: []\n'],
]);

const RELEASED_AT = new Date('2026-11-21T00:00:00.000Z');
const RELEASE = JSON.stringify(makeRelease('p2.v10', FILES, RELEASED_AT));

const WAY_ON =
  'p2.v10 is released and never changes; restore it, or start a new version: rules new <version> --from p2.v10';

function check(files: ReadonlyMap<string, string>, release = RELEASE): readonly string[] {
  return checkRelease(release, 'p2.v10', files).map(formatProblem);
}

describe('a release', () => {
  it('names the version, its time, and the sha256 of each file', () => {
    const { digest, ...release } = makeRelease('p2.v10', new Map([['ladder.yaml', 'abc']]), RELEASED_AT);
    expect(release).to.deep.equal({
      ruleVersion: 'p2.v10',
      releasedAt: '2026-11-21T00:00:00.000Z',
      files: { 'ladder.yaml': 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' },
    });
    expect(digest).to.match(/^[0-9a-f]{64}$/);
  });

  it('agrees with the files that it was made of', () => {
    expect(check(FILES)).to.deep.equal([]);
  });

  it('has a digest that does not depend on the order in which files were read', () => {
    expect(digestOf(new Map([...FILES].toReversed()))).to.equal(digestOf(FILES));
  });

  it('has another digest when a text, a name, or their pairing changes', () => {
    const digests = [
      FILES,
      new Map([...FILES, ['ladder.yaml', 'levels: [30s] \n']]),
      new Map([...FILES, ['more.yaml', '']]),
      new Map([...FILES].slice(1)),
      new Map([
        ['ladder.yaml', 'otherwise: NEW\n'],
        ['groups.yaml', 'levels: [30s]\n'],
        ['cases/a.yaml', 'cases: []\n'],
      ]),
    ].map(digestOf);
    expect(new Set(digests).size).to.equal(digests.length);
  });

  it("is refused where the folder has a draft's name", () => {
    expect(checkRelease(RELEASE, 'p2.v10-night', FILES).map(formatProblem)).to.deep.equal([
      "release.json:1:1  p2.v10-night has a draft's name, which is never released; release a copy of it: rules new p2.v10 --from p2.v10-night",
    ]);
  });

  it('refuses a file that was changed, and names the way on', () => {
    expect(check(new Map([...FILES, ['ladder.yaml', 'levels: [31s]\n']]))).to.deep.equal([
      `ladder.yaml:1:1  the file was changed after the release; ${WAY_ON}`,
    ]);
  });

  it('refuses a file that was added', () => {
    expect(check(new Map([...FILES, ['cases/b.yaml', 'cases: []\n']]))).to.deep.equal([
      `cases/b.yaml:1:1  the file was added after the release; ${WAY_ON}`,
    ]);
  });

  it('refuses a file that is missing', () => {
    expect(check(new Map([...FILES].slice(1)))).to.deep.equal([
      `ladder.yaml:1:1  the file is missing after the release; ${WAY_ON}`,
    ]);
  });

  it('refuses a digest that does not fit its files', () => {
    const release = JSON.stringify({ ...makeRelease('p2.v10', FILES, RELEASED_AT), digest: 'x' });
    expect(check(FILES, release)).to.deep.equal([
      `release.json:1:1  the digest does not fit the files; ${WAY_ON}`,
    ]);
  });

  for (const damaged of [
    '',
    '{',
    'null',
    '[]',
    '7',
    '{}',
    '{"files":{}}',
    '{"files":null,"digest":"x"}',
    '{"files":{},"digest":7}',
  ]) {
    it(`refuses a damaged release.json: ${JSON.stringify(damaged)}`, () => {
      expect(check(FILES, damaged)).to.deep.equal([
        'release.json:1:1  the file is damaged; restore it from version control',
      ]);
    });
  }
});
