import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { INSTALLATION } from '../../../src/access/access-keys.ts';
import { RuleDesk } from '../../../src/authoring/desk/rule-desk.ts';
import { type PlatformName, platformName } from '../../../src/client/client-key.ts';
import { readRuleFiles } from '../../../src/rules/folder/rule-folder.ts';
import { TooManyTurns } from '../../../src/work/turns.ts';
import { addVersion, rulesDirectory, versionOf } from '../../rollout/rule-folders.ts';
import { currentRules, RULES_FOLDER } from '../../service/current-rules.ts';

const [SHOP, OTHER, THIRD] = ['shop', 'other', 'third'].map(platformName);

const [V11, V12, V13] = [versionOf('p2.v11'), versionOf('p2.v12'), versionOf('p2.v13')];

/** One more than a platform may have running and waiting. */
const TOO_MANY = 66;

describe('the rule desk', () => {
  let desk: RuleDesk;
  beforeEach(() => {
    desk = new RuleDesk(dirname(RULES_FOLDER));
  });
  afterEach(() => desk.close());

  const { version } = currentRules();

  it('has a thread for each of two platforms and one for the owner, however much one of them asks', async () => {
    const ended: string[] = [];
    const ask = async (owner: PlatformName = INSTALLATION) => {
      expect((await desk.open(owner, version))?.coverage?.failed).to.equal(0);
      ended.push(owner);
    };
    const asked = Array.from({ length: 5 }, () => [SHOP, OTHER].map(ask)).flat();
    await Promise.all([...asked, ask(THIRD), ask(INSTALLATION)]);
    // Both were asked for behind ten others.
    const places = [ended.indexOf(INSTALLATION), ended.indexOf(THIRD ?? '')];
    for (const place of places) expect(place).to.be.below(7);
  });

  it('refuses work of a platform beyond its limit, and of no other', async () => {
    const ask = (owner: PlatformName = INSTALLATION) =>
      desk.open(owner, version).then(
        () => 'opened',
        (error: unknown) => error,
      );
    const all = Array.from({ length: TOO_MANY }, () => ask(SHOP));
    const other = ask(OTHER);
    expect(await all.at(-1)).to.be.instanceOf(TooManyTurns);
    expect([await all.at(0), await other]).to.deep.equal(['opened', 'opened']);
  });

  it('shows a platform no sections and no cases of others, and its own and those of all', async () => {
    const rulesDir = rulesDirectory();
    const acmes = (wait: string) =>
      `platforms:\n  acme: { ladder: { levels: [${wait}, 10m], resetAfter: 77h } }\n`;
    const edits = (wait: string, first: string) => [
      { file: 'ruleset.yaml', from: 'platforms:\n', to: acmes(wait) },
      { file: 'ladder.yaml', from: '[30s', to: `[${first}` },
    ];
    addVersion(rulesDir, 'p2.v11', edits('41s', '30s'));
    addVersion(rulesDir, 'p2.v12', edits('43s', '35s'));
    // The mistake is in acme's part.
    mkdirSync(join(rulesDir, 'p2.v13'));
    for (const [path, text] of readRuleFiles(join(rulesDir, 'p2.v12'), []) ?? [])
      writeFileSync(join(rulesDir, 'p2.v13', path), text.replace('p2.v12', 'p2.v13').replace('77h', '1s'));
    const own = new RuleDesk(rulesDir);
    const told = async (reader: PlatformName = INSTALLATION) => {
      const opened = [await own.open(reader, V12), await own.open(reader, V13)];
      const diff = await own.compare(reader, V11, V12);
      return { problems: opened[1]?.problems, opened, diff };
    };
    try {
      const [shop, acme, all] = [await told(SHOP), await told(platformName('acme')), await told()];
      expect(JSON.stringify(shop)).not.to.match(/acme|sandbox|4[13]s|43000|77h/);
      expect(shop.diff?.differences.map(({ text }) => text)).to.deep.equal(['ladder level 1: 30s -> 35s']);
      expect(shop.problems?.map(({ message }) => message)).to.deep.equal([
        'something is wrong that only the owner of the installation is shown',
      ]);
      expect(JSON.stringify(acme))
        .to.match(/acme.*43s.*77h/)
        .and.not.to.include('sandbox');
      expect(JSON.stringify(all))
        .to.match(/acme.*43s.*77h/)
        .and.to.include('sandbox');
      expect(all.problems?.[0]?.message).to.match(/^resetAfter must be longer than the longest wait, 10m/);
    } finally {
      await own.close();
    }
  });
});
