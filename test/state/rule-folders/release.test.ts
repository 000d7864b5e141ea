import { expect } from 'chai';
import { formatProblem } from '#decision/rules/problem.ts';
import { compileDraft, computeDigest } from '#decision/rules/text/draft-text.ts';
import { excludeForeignParts } from '#decision/rules/text/own-part.ts';
import { createRelease, listReleaseDifferences } from '#state/rule-folders/release.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';

const FILES = new Map([
  ['ladder.yaml', 'levels: [30s]\n'],
  ['groups.yaml', 'otherwise: NEW\n'],
  ['cases/a.yaml', 'cases: []\n'],
]);

const RELEASED_AT = new Date('2026-11-21T00:00:00.000Z');
const RELEASE = JSON.stringify(createRelease('p2.v10', FILES, RELEASED_AT));

const WAY_ON =
  'p2.v10 is released and never changes; restore it, or start a new version: rules new <version> --from p2.v10';

function check(files: ReadonlyMap<string, string>, release = RELEASE): readonly string[] {
  return listReleaseDifferences(release, 'p2.v10', files).map(formatProblem);
}

describe('a release', () => {
  it('names the version, its time, and the sha256 of each file', () => {
    const { digest, ...release } = createRelease('p2.v10', new Map([['ladder.yaml', 'abc']]), RELEASED_AT);
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
    expect(computeDigest(new Map([...FILES].toReversed()))).to.equal(computeDigest(FILES));
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
    ].map(computeDigest);
    expect(new Set(digests).size).to.equal(digests.length);
  });

  it("is refused where the folder has a draft's name", () => {
    expect(listReleaseDifferences(RELEASE, 'p2.v10-night', FILES).map(formatProblem)).to.deep.equal([
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
    const release = JSON.stringify({ ...createRelease('p2.v10', FILES, RELEASED_AT), digest: 'x' });
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

const HEAD =
  'ruleVersion: p2.v10\ndescription: For all.\nsettings: { currency: EUR, scoringLimits: false }\n';
const BLOCK = `${HEAD}# Where platforms differ.
platforms:
  # Acme asked for this.
  acme:
    ladder: { levels: [17s], resetAfter: 1h } # a secret of acme
  # Bee did, too.
  bee: { scoringLimits: true }
  # The end of bee.
# The end.
`;
const note = (what: string, count: number) =>
  `# Not shown: ${what} of other platforms, ${count} in all. The release of a proposed draft puts them back.\n`;

const ruleSet = (text: string, platform: string) =>
  excludeForeignParts(new Map([['ruleset.yaml', text]]), platform).get('ruleset.yaml');
const cases = (text: string, platform: string) =>
  excludeForeignParts(new Map([['cases/all.yaml', text]]), platform).get('cases/all.yaml');

describe("a platform's own part of a rule set", () => {
  it('has its own section and no other, nor a comment between them', () => {
    const before = `${HEAD}# Where platforms differ.\n`;
    expect(ruleSet(BLOCK, 'bee')).to.equal(
      `${note('sections', 1)}${before}platforms:\n  bee: { scoringLimits: true }\n`,
    );
    expect(ruleSet(BLOCK, 'acme')).to.equal(
      `${note('sections', 1)}${before}platforms:\n  acme:\n    ladder: { levels: [ 17s ], resetAfter: 1h }\n`,
    );
    expect(ruleSet(BLOCK, 'shop')).to.equal(`${note('sections', 2)}${before}platforms: {}\n`);
  });

  it('leaves everything after the sections as it is, also in a file that is one mapping in braces', () => {
    const after = 'platforms: { acme: { timeZone: UTC }, bee: {} }\n\n# Ours.\nsettings: {}\n';
    expect(ruleSet(after, 'bee')).to.equal(`${note('sections', 1)}platforms: { bee: {} }\nsettings: {}\n`);
    const braces = '{ platforms: { acme: { timeZone: UTC }, bee: {} }, settings: {} }\n';
    expect(ruleSet(braces, 'bee')).to.equal(
      `${note('sections', 1)}{ platforms: { bee: {} }, settings: {} }\n`,
    );
  });

  it('shows nothing of a file whose parts cannot be distinguished', () => {
    const torn = '# Not shown: this file is no sound YAML, and may have sections of other platforms.\n';
    expect(ruleSet(`${BLOCK}platforms: {}\n`, 'shop')).to.equal(torn);
    expect(ruleSet(BLOCK.replace('acme:', 'acme: &a'), 'shop')).to.equal(torn);
  });

  it('has its own cases and those without a platform, and leaves out files of others', () => {
    const ours = 'cases:\n  - name: for all\n    steps: [{ score: { client: a } }]\n';
    const theirs = '  # As acme wants it.\n  - name: acme waits 17 s\n    platform: acme\n    steps: []\n';
    expect(cases(ours, 'bee')).to.equal(ours);
    expect(cases(ours + theirs, 'acme')).to.equal(ours + theirs);
    expect(cases(ours + theirs, 'bee')).to.equal(
      `${note('cases', 1)}cases:\n  - name: for all\n    steps: [ { score: { client: a } } ]\n`,
    );
    expect(cases(`cases:\n${theirs}`, 'bee')).to.equal(undefined);
  });

  it('is a valid rule set, and all of it where no other platform has a part', () => {
    const files = readRuleFiles(RULES_FOLDER, []) ?? new Map<string, string>();
    const own = excludeForeignParts(files, 'shop');
    expect([...own.values()].join('\n')).not.to.include('sandbox:');
    expect(compileDraft('p2.v10', own).ok).to.equal(true);
    expect(excludeForeignParts(own, 'shop')).to.equal(own);
  });
});
