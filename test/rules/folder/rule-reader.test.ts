import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { directReader, ThreadedReader } from '../../../src/rules/folder/rule-reader.ts';
import type { RuleSet, RuleVersion } from '../../../src/rules/rule-set.ts';
import { addVersion, rulesDirectory } from '../../rollout/rule-folders.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';

/** A rule set without its functions, which no two have in common. */
function plainParts({ groups, signals, verdicts, ...rest }: RuleSet): unknown {
  const rulesOf = (part: { readonly rules: readonly { readonly matches: unknown }[] }) =>
    part.rules.map(({ matches: _, ...rule }) => rule);
  return {
    ...rest,
    groups: { ...groups, rules: rulesOf(groups) },
    signals: { ...signals, rules: rulesOf(signals) },
    verdicts: { ...verdicts, rules: rulesOf(verdicts) },
  };
}

describe('reading rule sets in a thread', () => {
  let rulesDir: string;
  let threaded: ThreadedReader;
  beforeEach(() => {
    rulesDir = rulesDirectory();
    threaded = new ThreadedReader(rulesDir);
  });
  afterEach(() => threaded.close());

  const version = async (): Promise<RuleVersion> => {
    const newest = (await threaded.scan()).at(-1)?.version;
    if (newest === undefined) throw new Error('there is no version');
    return newest;
  };

  it('gives the same rule sets as reading directly', async () => {
    const [there, here] = await Promise.all(
      [threaded, directReader(rulesDir)].map(async (reader) => reader.load(await version())),
    );
    if (there?.ok !== true || here?.ok !== true) throw new Error('p2.v10 is not sound');
    expect(plainParts(there.ruleSet)).to.deep.equal(plainParts(here.ruleSet));
  });

  it('refuses cases that are a link out of the folder of rule sets', async () => {
    addVersion(rulesDir, 'p2.v11', []);
    symlinkSync(temporaryDirectory(), join(rulesDir, 'p2.v11', 'cases'));
    expect(await threaded.load(await version())).to.deep.equal({
      ok: false,
      problems: [
        {
          at: { file: 'cases', line: 1, column: 1 },
          message:
            'it is a link that leads out of the folder of rule sets; put what it points to in its place',
        },
      ],
    });
  });
});
