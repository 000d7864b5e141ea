import { expect } from 'chai';
import { draftOf } from '../../../src/rules/folder/draft.ts';
import { ownPart } from '../../../src/rules/folder/own-part.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';

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
  `# Not shown: ${what} of other platforms, ${count} in all. Put them back before this is saved.\n`;

const ruleSet = (text: string, platform: string) =>
  ownPart(new Map([['ruleset.yaml', text]]), platform).get('ruleset.yaml');
const cases = (text: string, platform: string) =>
  ownPart(new Map([['cases/all.yaml', text]]), platform).get('cases/all.yaml');

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
    const own = ownPart(files, 'shop');
    expect([...own.values()].join('\n')).not.to.include('sandbox:');
    expect(draftOf('p2.v10', own).ok).to.equal(true);
    expect(ownPart(own, 'shop')).to.equal(own);
  });
});
