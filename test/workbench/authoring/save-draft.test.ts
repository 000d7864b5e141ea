import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { isRuleVersion } from '#decision/rules/rule-set.ts';
import { loadRuleSet, readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { type DraftToSave, readVersionFolderState, saveDraft } from '#workbench/authoring/draft.ts';
import {
  addVersion,
  LONGER_FIRST_WAIT,
  rulesDirectory,
  versionOf,
} from '../../checkout/rollout/rule-folders.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';

const V10 = readRuleFiles(RULES_FOLDER, []) ?? new Map<string, string>();
const NAMED = (V10.get('ruleset.yaml') ?? '').replace('ruleVersion: p2.v10', 'ruleVersion: p2.v11');
const FILES: DraftToSave['files'] = [...V10, ['ruleset.yaml', NAMED]];
const OTHER_LADDER = ['ladder.yaml', (V10.get('ladder.yaml') ?? '').replace('30s', '45s')] as const;
const FROM_V10: DraftToSave = { version: versionOf('p2.v11'), files: FILES, replaces: null };

describe('saving a draft', () => {
  let rulesDir: string;
  beforeEach(() => {
    rulesDir = rulesDirectory();
  });

  const save = (draft: Partial<DraftToSave>) => saveDraft(rulesDir, { ...FROM_V10, ...draft });
  const text = (path: string) => readFileSync(join(rulesDir, path), 'utf8');
  const digestOf = (version: string) => {
    const lying = isRuleVersion(version) ? readVersionFolderState({ rulesDir, version }) : null;
    return lying?.is === 'draft' ? lying.digest : null;
  };
  /** What may not be saved leaves everything as it was, and nothing beside it. */
  const expectRefused = (draft: Partial<DraftToSave>, message: string) => {
    const before = readdirSync(rulesDir, { recursive: true });
    expect(() => save(draft)).to.throw(message);
    expect(readdirSync(rulesDir, { recursive: true })).to.deep.equal(before);
  };

  it('writes all its files, as a version that is no release', () => {
    const sound = save({ files: [...FILES, OTHER_LADDER] });
    expect(sound).to.deep.include({ ok: true, version: 'p2.v11', digest: digestOf('p2.v11') });
    expect(text('p2.v11/ruleset.yaml')).to.include('ruleVersion: p2.v11');
    expect(text('p2.v11/ladder.yaml')).to.equal(text('p2.v10/ladder.yaml').replace('30s', '45s'));
    expect(existsSync(join(rulesDir, 'p2.v11', 'release.json'))).to.equal(false);
    expect(loadRuleSet(join(rulesDir, 'p2.v11')).ok).to.equal(true);
    expect(readdirSync(rulesDir).toSorted()).to.deep.equal(['p2.v10', 'p2.v11']);
  });

  it('reports the problems of a bad draft with their places, and saves nothing', () => {
    const saved = save({ files: [...FILES, ['ladder.yaml', 'levels: [30s]\nresetAfter: never\n']] });
    expect(
      saved.ok ? [] : saved.problems.map(({ at }) => `${at.file}:${at.line}:${at.column}`),
    ).to.deep.equal(['ladder.yaml:2:13']);
    expect(existsSync(join(rulesDir, 'p2.v11'))).to.equal(false);
  });

  it('takes the place of a draft that is named by its digest: files that are gone go, what is no rule file stays', () => {
    save({});
    writeFileSync(join(rulesDir, 'p2.v11', 'NOTES.md'), 'why we do this\n');
    const files = [...(readRuleFiles(join(rulesDir, 'p2.v11'), []) ?? [])].filter(
      ([path]) => path !== 'cases/bots.yaml',
    );
    save({ files, replaces: digestOf('p2.v11') });
    expect(existsSync(join(rulesDir, 'p2.v11', 'cases', 'bots.yaml'))).to.equal(false);
    expect(text('p2.v11/cases/ladder.yaml')).to.equal(text('p2.v10/cases/ladder.yaml'));
    expect(text('p2.v11/NOTES.md')).to.equal('why we do this\n');
  });

  it('never overwrites a change of somebody else', () => {
    save({});
    const replaces = digestOf('p2.v11');
    writeFileSync(join(rulesDir, 'p2.v11', 'ladder.yaml'), 'levels: [1m]\nresetAfter: 24h\n');
    const files = [...FILES, OTHER_LADDER];
    expectRefused(
      { files, replaces },
      'p2.v11 was changed by somebody else meanwhile; open it again, or save under another version',
    );
    expectRefused({ files }, 'p2.v11 exists already; choose another version, or open it and edit it');
    expectRefused(
      {
        files: [...files, ['ruleset.yaml', NAMED.replace('p2.v11', 'p2.v12')]],
        version: versionOf('p2.v12'),
        replaces,
      },
      'p2.v12 no longer exists; save it as a new version',
    );
    expect(text('p2.v11/ladder.yaml')).to.equal('levels: [1m]\nresetAfter: 24h\n');
  });

  it('may be repeated: the saved draft stays', () => {
    expect(save({})).to.deep.equal(save({}));
  });

  it('never touches a released version', () => {
    addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
    const files = readRuleFiles(join(rulesDir, 'p2.v11'), []);
    expectRefused({}, 'p2.v11 is released and never changes; choose another version');
    expectRefused(
      { replaces: loadedDigest('p2.v11') },
      'p2.v11 is released and never changes; choose another version',
    );
    expect(readRuleFiles(join(rulesDir, 'p2.v11'), [])).to.deep.equal(files);
  });

  it('writes nothing outside its folder: names that lead elsewhere and links are refused', () => {
    for (const path of [
      '../p2.v10/ladder.yaml',
      'cases/../ladder.yaml',
      '/etc/x.yaml',
      'cases\\x.yaml',
      'a b.yaml',
      'cases/a\0.yaml',
    ]) {
      const before = readdirSync(rulesDir, { recursive: true });
      expect(save({ files: [...FILES, [path, 'cases: []']] }).ok, path).to.equal(false);
      expect(readdirSync(rulesDir, { recursive: true })).to.deep.equal(before);
    }
    const elsewhere = temporaryDirectory();
    symlinkSync(elsewhere, join(rulesDir, 'p2.v11'));
    expectRefused({}, 'p2.v11 cannot be read, or links elsewhere; choose another version');
    expect(readdirSync(elsewhere)).to.deep.equal([]);
  });

  it('writes through no link within the draft that it replaces', () => {
    save({});
    const elsewhere = join(rulesDir, 'elsewhere');
    renameSync(join(rulesDir, 'p2.v11', 'cases'), elsewhere);
    symlinkSync(elsewhere, join(rulesDir, 'p2.v11', 'cases'));
    const before = text('elsewhere/bots.yaml');
    const files = [...FILES, ['cases/bots.yaml', '# none yet\ncases: []\n'] as const];
    expectRefused(
      { files, replaces: digestOf('p2.v11') },
      'p2.v11 cannot be read, or links elsewhere; choose another version',
    );
    expect(text('elsewhere/bots.yaml')).to.equal(before);
  });

  it('leaves another file with the name alone', () => {
    mkdirSync(join(rulesDir, 'other'));
    writeFileSync(join(rulesDir, 'p2.v11'), 'not a folder');
    expectRefused({}, 'p2.v11 cannot be read, or links elsewhere; choose another version');
  });

  function loadedDigest(version: string): string {
    const loaded = loadRuleSet(join(rulesDir, version));
    return loaded.ok ? loaded.ruleSet.digest : '';
  }
});
