import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { LoadedRules, mergeSharingQuestions, NoUsableRuleSet } from '#checkout/rollout/loaded-rules.ts';
import { NO_ATTRIBUTE_PSEUDONYMIZER } from '#decision/payer/attribute-hmacs.ts';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import { edited, swap } from '../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { addVersion, edit, LONGER_FIRST_WAIT, release, rulesDirectory, versionOf } from './rule-folders.ts';

const versions = (rules: LoadedRules) => rules.listAll().map(({ version }) => version);

describe('the rule sets of a node', () => {
  it('include a new version folder without a restart', async () => {
    const directory = rulesDirectory();
    const rules = await LoadedRules.read(directory, createDirectRuleReader(directory));
    expect(versions(rules)).to.deep.equal(['p2.v10']);
    addVersion(directory, 'p2.v11', [LONGER_FIRST_WAIT]);
    expect(await rules.refresh()).to.deep.equal(['p2.v11']);
    expect(versions(rules)).to.deep.equal(['p2.v10', 'p2.v11']);
  });

  it('are loaded one by one on request, while the others are only known', async () => {
    const directory = rulesDirectory();
    addVersion(directory, 'p2.v11', [LONGER_FIRST_WAIT]);
    const rules = new LoadedRules(directory, createDirectRuleReader(directory), NO_ATTRIBUTE_PSEUDONYMIZER);
    await rules.load(versionOf('p2.v11'));
    expect(versions(rules)).to.deep.equal(['p2.v11']);
    expect(rules.listVersions()).to.deep.equal(['p2.v10', 'p2.v11']);
    expect(await rules.refresh()).to.deep.equal(['p2.v10']);
    expect(versions(rules)).to.deep.equal(['p2.v10', 'p2.v11']);
  });

  it('are not read again while no file changes', async () => {
    const directory = rulesDirectory();
    const rules = await LoadedRules.read(directory, createDirectRuleReader(directory));
    expect(await rules.refresh()).to.deep.equal([]);
  });

  it('refuse a bad version with its problems and keep the others', async () => {
    const directory = rulesDirectory();
    const rules = await LoadedRules.read(directory, createDirectRuleReader(directory));
    addVersion(
      directory,
      'p2.v11',
      [{ file: 'verdicts.yaml', from: 'fact: attemptOpen', to: 'fact: attemptOpn' }],
      { draft: true },
    );
    await rules.refresh();
    expect(versions(rules)).to.deep.equal(['p2.v10']);
    expect(rules.listRefused()).to.deep.equal([
      {
        version: 'p2.v11',
        problems: ['p2.v11/verdicts.yaml:43:19  unknown fact "attemptOpn"; did you mean "attemptOpen"?'],
      },
    ]);
  });

  it('accept a version once it is corrected', async () => {
    const directory = rulesDirectory();
    addVersion(directory, 'p2.v11', [{ file: 'ladder.yaml', from: '[30s', to: '[30x' }], { draft: true });
    const rules = await LoadedRules.read(directory, createDirectRuleReader(directory));
    expect(rules.listRefused()).to.have.length(1);
    edit(join(directory, 'p2.v11'), 'ladder.yaml', '[30x', '[30s');
    await rules.refresh();
    expect(rules.listRefused()).to.deep.equal([]);
    expect(rules.findByVersion('p2.v11')?.released).to.equal(false);
  });

  it('refuse a released version that was changed, and keep the loaded one', async () => {
    const directory = rulesDirectory();
    const rules = await LoadedRules.read(directory, createDirectRuleReader(directory));
    const digest = rules.findByVersion('p2.v10')?.digest ?? '';
    edit(join(directory, 'p2.v10'), 'ladder.yaml', '[30s', '[31s');
    await rules.refresh();
    expect(rules.findByVersion('p2.v10')).to.equal(null);
    expect(rules.listRefused()[0]?.problems).to.deep.equal([
      'p2.v10/ladder.yaml:1:1  the file was changed after the release; p2.v10 is released and never changes; restore it, or start a new version: rules new <version> --from p2.v10',
    ]);
    expect(rules.findByDigest(digest)?.version).to.equal('p2.v10');
  });

  it('forget a removed folder, but not its digest', async () => {
    const directory = rulesDirectory();
    addVersion(directory, 'p2.v11', []);
    const rules = await LoadedRules.read(directory, createDirectRuleReader(directory));
    const digest = rules.findByVersion('p2.v11')?.digest ?? '';
    rmSync(join(directory, 'p2.v11'), { recursive: true });
    await rules.refresh();
    expect(rules.findByVersion('p2.v11')).to.equal(null);
    expect(rules.findByDigest(digest)?.version).to.equal('p2.v11');
  });

  it('ignore folders that are not named like a version', async () => {
    const directory = rulesDirectory();
    cpSync(join(directory, 'p2.v10'), join(directory, 'old-p2'), { recursive: true });
    expect(versions(await LoadedRules.read(directory, createDirectRuleReader(directory)))).to.deep.equal([
      'p2.v10',
    ]);
  });
});

describe('the first rule set to decide', () => {
  it('is the newest released one', async () => {
    const directory = rulesDirectory();
    addVersion(directory, 'p2.v9', []);
    addVersion(directory, 'p2.v11', [], { draft: true });
    expect(
      (await LoadedRules.read(directory, createDirectRuleReader(directory))).requireReleased(null).version,
    ).to.equal('p2.v10');
    release(directory, 'p2.v11');
    expect(
      (await LoadedRules.read(directory, createDirectRuleReader(directory))).requireReleased(null).version,
    ).to.equal('p2.v11');
  });

  const refusal = async (directory: string, wanted: string | null): Promise<string> => {
    if (wanted !== null && !isRuleVersion(wanted)) throw new Error('no version');
    try {
      (await LoadedRules.read(directory, createDirectRuleReader(directory))).requireReleased(wanted);
    } catch (error) {
      if (error instanceof NoUsableRuleSet) return error.message.replaceAll(directory, 'RULES');
      throw error;
    }
    return 'nothing was refused';
  };

  it('is not a draft', async () => {
    const directory = rulesDirectory();
    addVersion(directory, 'p2.v11', [], { draft: true });
    expect(await refusal(directory, 'p2.v11')).to.equal(
      'the rule set p2.v11 is a draft; run "rules release p2.v11" before it may decide',
    );
  });

  it('must exist', async () => {
    const directory = rulesDirectory();
    expect(await refusal(directory, 'p2.v77')).to.equal(
      'there is no rule set p2.v77 in RULES; set RULE_VERSION to one that is there, or RULES_DIR to its folder',
    );
    for (const empty of [temporaryDirectory(), join(temporaryDirectory(), 'nowhere')])
      expect(await refusal(empty, null)).to.equal(
        'there is no released rule set in RULES; set RULES_DIR to the folder of rule sets',
      );
  });

  it('must be unchanged since its release', async () => {
    const directory = rulesDirectory();
    edit(join(directory, 'p2.v10'), 'ladder.yaml', '[30s', '[20s');
    expect(await refusal(directory, 'p2.v10')).to.match(
      /ladder\.yaml:1:1 {2}the file was changed after the release; .*: rules new <version> --from p2\.v10$/,
    );
  });

  it('must be valid', async () => {
    const directory = rulesDirectory();
    writeFileSync(join(directory, 'p2.v10', 'ladder.yaml'), 'levels: []\n');
    expect(await refusal(directory, null)).to.contain(
      'no rule set can decide, because p2.v10 has problems:\nRULES/p2.v10/ladder.yaml:1:',
    );
  });
});

const SRC = join(import.meta.dirname, '..', '..', '..', 'src');

/** Functions whose time depends on the author of rule files. */
const HARD_WORK =
  /\b(loadRuleSet|readRuleSet|readRuleFiles|listRuleVersions|scanRuleFolders|runCases|prove|diffRuleSets|diffExamples\w*)\b/;

/** Files that run on the thread that answers, with their imports from where rule files are read. */
function importers(...folders: readonly string[]): readonly string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((name) => name.endsWith('.ts'))
    .filter((name) => {
      const imports = readFileSync(join(SRC, name), 'utf8').match(/^import (?!type)[^;]*;/gm) ?? [];
      return imports.some((one) => HARD_WORK.test(one));
    });
}

describe('the thread that answers requests', () => {
  it('never parses, proves, compares, runs or lists rule files, which other threads do within limits', () => {
    expect(
      importers(
        'checkout',
        'workbench/platform',
        'workbench/rollout',
        'workbench/approvals',
        'workbench/payers',
      ),
    ).to.deep.equal([]);
  });

  it('is told apart from commands, which may do all of that', () => {
    expect(importers('workbench/commands/rules')).to.include(join('workbench/commands/rules', 'check.ts'));
  });
});

describe('what is asked of the devices of a request', () => {
  const plain = edited({});
  const asking = edited({
    'verdicts.yaml': swap(
      'No reason to hold the payer back.',
      '{verdictsOnIp(1h)} and {unpaidOrdersOnIp(1h)}',
    ),
  });
  const ofVersion = (rules: typeof plain) => ({ rules, arm: 'active' }) as const;

  it('is what its versions ask for', () => {
    expect(mergeSharingQuestions(ofVersion(plain)).ip.notes).to.deep.equal({
      verdicts: false,
      unpaidOrders: false,
    });
    expect(mergeSharingQuestions(ofVersion(asking)).ip.verdictWindowsMs).to.deep.equal([3_600_000]);
    expect(mergeSharingQuestions({ ...ofVersion(plain), shadow: asking }).ip.notes.verdicts).to.equal(true);
  });

  it('includes noting what another version that decides meanwhile asks for, and counts no more', () => {
    const { fingerprint, ip } = mergeSharingQuestions({ ...ofVersion(plain), alongside: [plain, asking] });
    expect(ip).to.deep.equal({ ...plain.sharing.ip, notes: { verdicts: true, unpaidOrders: true } });
    expect(fingerprint).to.deep.equal(plain.sharing.fingerprint);
  });
});
