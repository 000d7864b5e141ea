import { expect } from 'chai';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { formatProblem } from '#decision/rules/problem.ts';
import { restoreForeignParts } from '#decision/rules/text/others-part.ts';
import { excludeForeignParts } from '#decision/rules/text/own-part.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { RULES_FOLDER } from '../../../service/current-rules.ts';

const HEAD = 'ruleVersion: p2.v10\nsettings: { currency: EUR }\n';

const FROM = `${HEAD}# Where platforms differ.
platforms:
  # Acme asked for this.
  acme:
    ladder: { levels: [17s], resetAfter: 1h } # as agreed
  bee: { scoringLimits: true }
  # The end of bee.
# The lists.
lists: 1
`;

function restore(draft: RuleFiles, from: RuleFiles, platform = 'bee') {
  const restored = restoreForeignParts({ platform, draft, from });
  return restored.ok ? restored.files : restored.problems.map(formatProblem);
}

/** The same where nothing prevents it. */
function restored(draft: RuleFiles, from: RuleFiles, platform: string): RuleFiles {
  const files = restore(draft, from, platform);
  if (files instanceof Map) return files;
  throw new Error(JSON.stringify(files));
}

const ruleSet = (draft: string, platform = 'bee', from = FROM) => {
  const restored = restore(new Map([['ruleset.yaml', draft]]), new Map([['ruleset.yaml', from]]), platform);
  return restored instanceof Map ? restored.get('ruleset.yaml') : restored;
};

describe("the parts of other platforms in a platform's draft", () => {
  it('come after its own section, with their comments, and change no other line of the draft', () => {
    const draft = `# Not shown: sections of other platforms, 1 in all. The release of a proposed draft puts them back.
${HEAD}# Ours.
platforms:
  bee: { scoringLimits: false } # not yet
  # The end of ours.
# The lists.
lists: 2
`;
    expect(ruleSet(draft)).to.equal(`${HEAD}# Ours.
platforms:
  bee: { scoringLimits: false } # not yet
  # Acme asked for this.
  acme:
    ladder: { levels: [ 17s ], resetAfter: 1h } # as agreed
  # The end of ours.
# The lists.
lists: 2
`);
  });

  it('come back without the remark that says what is not shown, wherever somebody has moved it', () => {
    const remark =
      '# Not shown: sections of other platforms, 1 in all. The release of a proposed draft puts them back.';
    const from = `${HEAD}platforms: { acme: {} }\n`;
    for (const draft of [
      `# Ours.\n${remark}\n${HEAD}platforms: {}\n`,
      `# Ours.\r\n${remark}\r\n${HEAD}platforms: {}\n`,
      `# Ours.\n${HEAD}platforms: {}\n${remark}`,
    ]) {
      const restored = ruleSet(draft, 'bee', from);
      expect(restored).to.include('acme: {}').and.to.include('# Ours.');
      expect(restored).not.to.include('Not shown');
    }
    const own = `# Not shown: what acme asked for.\n${HEAD}platforms: {}\n`;
    expect(ruleSet(own, 'bee', from)).to.include('# Not shown: what acme asked for.');
  });

  it('come back where the draft has no section of its own', () => {
    const sections = {
      acme: { ladder: { levels: ['17s'], resetAfter: '1h' } },
      bee: { scoringLimits: true },
    };
    for (const draft of [`${HEAD}platforms: {}\nlists: 2\n`, `${HEAD}lists: 2\n`]) {
      const restored = ruleSet(draft, 'shop');
      expect(typeof restored === 'string' && parse(restored)).to.deep.equal({
        ruleVersion: 'p2.v10',
        settings: { currency: 'EUR' },
        platforms: sections,
        lists: 2,
      });
    }
  });

  it('come back with the files that hold nothing else', () => {
    const cases = 'cases:\n  - name: acme waits 17 s\n    platform: acme\n    steps: []\n';
    const from = new Map([['cases/acme.yaml', cases]]);
    expect(restore(new Map(), from)).to.deep.equal(from);
    expect(restore(new Map(), from, 'acme')).to.deep.equal(new Map());
  });

  it('are refused in the draft itself, each with its place', () => {
    expect(ruleSet(FROM)).to.deep.equal([
      'ruleset.yaml:6:3  this section is of another platform; remove it: a draft of bee has no sections of others',
    ]);
    const draft = new Map([
      ['cases/a.yaml', 'cases:\n  - name: theirs\n    platform: acme\n    steps: []\n'],
    ]);
    expect(restore(draft, new Map())).to.deep.equal([
      'cases/a.yaml:2:5  this case is of another platform; remove it: a draft of bee has no cases of others',
    ]);
  });

  it('are not lost where the version that the draft was begun with cannot be read', () => {
    expect(ruleSet(`${HEAD}lists: 2\n`, 'bee', `${FROM}platforms: {}\n`)).to.deep.equal([
      'ruleset.yaml:1:1  the sections of other platforms cannot be put back, because this file of the version that the draft was begun with is no sound YAML; ask the owner of the installation to mend it',
    ]);
  });

  it('are those of the version that the draft was begun with, for every platform of the shipped rules', () => {
    const files = readRuleFiles(RULES_FOLDER, []) ?? new Map<string, string>();
    for (const platform of ['sandbox', 'shop']) {
      const now = restored(excludeForeignParts(files, platform), files, platform);
      for (const [path, text] of files) {
        const [value, before] = [parse(now.get(path) ?? ''), parse(text)];
        if (path.startsWith('cases/')) expect(value.cases).to.have.deep.members(before.cases);
        else expect(value, path).to.deep.equal(before);
      }
    }
  });

  it('are, with the own part, the whole again, however the files are written', () => {
    const name = fc.constantFrom('acme', 'bee', 'cat', 'shop');
    const sections = fc.dictionary(
      name,
      fc.record({ note: fc.string(), levels: fc.array(fc.string(), { minLength: 1 }) }),
      { minKeys: 1, noNullPrototype: true },
    );
    const one = fc.record({ name: fc.string(), platform: name }, { requiredKeys: ['name'] });
    const cases = fc.array(one, { minLength: 1 });
    const layout = fc.record({
      collectionStyle: fc.constantFrom('block' as const, 'flow' as const, 'any' as const),
      indentSeq: fc.boolean(),
      indent: fc.constantFrom(2, 4),
    });
    fc.assert(
      fc.property(sections, cases, layout, name, (platforms, all, style, platform) => {
        const files = new Map([
          ['ruleset.yaml', stringify({ ruleVersion: 'p2.v10', platforms, last: 1 }, style)],
          ['cases/all.yaml', stringify({ cases: all }, style)],
        ]);
        const now = restored(excludeForeignParts(files, platform), files, platform);
        expect(parse(now.get('cases/all.yaml') ?? '').cases).to.have.deep.members(all);
        const ruleSet = { ruleVersion: 'p2.v10', platforms, last: 1 };
        expect(parse(now.get('ruleset.yaml') ?? '')).to.deep.equal(ruleSet);
      }),
    );
  });
});
