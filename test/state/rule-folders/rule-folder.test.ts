import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parseRuleSet } from '#decision/rules/parse/parse.ts';
import { formatProblems } from '#decision/rules/problem.ts';
import type { RuleSet, RuleVersion } from '#decision/rules/rule-set.ts';
import { compileDraft } from '#decision/rules/text/draft-text.ts';
import { createDirectRuleReader } from '#state/rule-folders/direct-reader.ts';
import { loadRuleSet, readRuleFiles, readRuleSet } from '#state/rule-folders/rule-folder.ts';
import { ThreadedRuleReader } from '#state/rule-folders/rule-reader.ts';
import { explainUnusableRulesDir, listRuleVersions } from '#state/rule-folders/rules-dir.ts';
import { scanRuleFolders } from '#state/rule-folders/scan.ts';
import { addVersion, rulesDirectory } from '../../checkout/rollout/rule-folders.ts';
import { RULES_DIR, SOUND_FILES, SOUND_VERSION } from '../../rule-fixtures/sound-rules.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';

const WAY_ON =
  'p2.v10 is released and never changes; restore it, or start a new version: rules new <version> --from p2.v10';

describe('the folder of rule sets', () => {
  let dir = '';
  let folder = '';

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'rules-'));
    folder = join(dir, SOUND_VERSION);
    cpSync(join(RULES_DIR, SOUND_VERSION), folder, { recursive: true });
  });

  afterEach(() => rmSync(dir, { recursive: true }));

  function problems(): readonly string[] {
    const result = loadRuleSet(folder);
    return result.ok ? [] : formatProblems('rules', result.problems).split('\n');
  }

  it('gives a released version', () => {
    const result = loadRuleSet(folder);
    if (!result.ok) throw new Error(formatProblems(folder, result.problems));
    expect(result.ruleSet).to.deep.include({ version: SOUND_VERSION, released: true });
    expect(result.ruleSet.digest).to.match(/^[0-9a-f]{64}$/);
  });

  it('gives a version without release.json as a draft, of the same digest', () => {
    const released = loadRuleSet(folder);
    rmSync(join(folder, 'release.json'));
    const draft = loadRuleSet(folder);
    if (!released.ok || !draft.ok) throw new Error('both are sound');
    expect(draft.ruleSet.released).to.equal(false);
    expect(draft.ruleSet.digest).to.equal(released.ruleSet.digest);
  });

  it('refuses a released version with a changed file, even when only a comment changed', () => {
    writeFileSync(join(folder, 'ladder.yaml'), `${SOUND_FILES.get('ladder.yaml')}# later\n`);
    expect(problems()).to.deep.equal([
      `rules/ladder.yaml:1:1  the file was changed after the release; ${WAY_ON}`,
    ]);
  });

  it('refuses a released version with a missing file, and also reports what parsing misses', () => {
    rmSync(join(folder, 'verdicts.yaml'));
    expect(problems()).to.deep.equal([
      `rules/verdicts.yaml:1:1  the file is missing after the release; ${WAY_ON}`,
      'rules/verdicts.yaml:1:1  the file is missing',
    ]);
  });

  it('refuses a holdout of a rule that repeats what a person decided, although the files are well written', () => {
    rmSync(join(folder, 'release.json'));
    const byDecision = readFileSync(join(folder, 'groups.yaml'), 'utf8').replace(
      '    priority: 100\n',
      '    priority: 100\n    holdout: 2%\n',
    );
    writeFileSync(join(folder, 'groups.yaml'), byDecision);
    const declareRefusal =
      'rules/groups.yaml:8:5  "blocked-by-decision" cannot have a holdout: it matches only payers whom a person decided about or who are on a list; put the holdout on a rule that counts';
    expect(problems()).to.deep.equal([declareRefusal]);
    const read = readRuleSet(folder);
    expect(!read.ok && formatProblems('rules', read.problems)).to.equal(declareRefusal);
    const files = readRuleFiles(folder, []) ?? new Map<string, string>();
    expect(parseRuleSet(SOUND_VERSION, files).ok, 'parsing alone').to.equal(true);
    const draft = compileDraft(SOUND_VERSION, files);
    expect(!draft.ok && formatProblems('rules', draft.problems)).to.equal(declareRefusal);
  });

  it('refuses a damaged release.json, instead of reading the version as a draft', () => {
    writeFileSync(join(folder, 'release.json'), '{"files": ');
    expect(problems()).to.deep.equal([
      'rules/release.json:1:1  the file is damaged; restore it from version control',
    ]);
  });

  it('refuses a file that is not UTF-8', () => {
    writeFileSync(join(folder, 'ladder.yaml'), Buffer.from([0x23, 0xff, 0xfe, 0x0a]));
    expect(problems()).to.deep.equal(['rules/ladder.yaml:1:1  the file is not UTF-8 text']);
  });

  it('refuses a missing folder', () => {
    rmSync(folder, { recursive: true });
    expect(problems()).to.deep.equal(['rules:1:1  there is no such folder']);
  });

  it('refuses a file beside the rules that looks like one', () => {
    rmSync(join(folder, 'release.json'));
    writeFileSync(join(folder, 'verdict.yaml'), 'rules: []\n');
    expect(problems()).to.deep.equal([
      'rules/verdict.yaml:1:1  unknown file; did you mean "verdicts.yaml"?; tests go into cases/*.yaml, lists into lists/*.yaml',
    ]);
  });

  it('sorts versions by number, not alphabetically', () => {
    for (const name of ['p2.v9', 'p3.v1', 'p2.v2', 'p10.v1', 'schema', 'p2', 'p2.v9.old'])
      mkdirSync(join(dir, name));
    writeFileSync(join(dir, 'p1.v1'), 'a file, not a rule set');
    expect(listRuleVersions(dir)).to.deep.equal(['p2.v2', 'p2.v9', 'p2.v10', 'p3.v1', 'p10.v1']);
  });
});

/** A rule set without its functions, which no two have in common. */
function plainParts({ groups, signals, verdicts, ...rest }: RuleSet): unknown {
  const rulesOf = (part: { readonly rules: readonly { readonly matches: unknown }[] }) =>
    part.rules.map(({ matches: _, ...rule }) => rule);
  return {
    ...rest,
    groups: { ...groups, rules: rulesOf(groups) },
    signals: { ...signals, rules: rulesOf(signals), exempt: signals.exempt?.condition },
    verdicts: { ...verdicts, rules: rulesOf(verdicts) },
  };
}

describe('reading rule sets in a thread', () => {
  let rulesDir: string;
  let threaded: ThreadedRuleReader;
  beforeEach(() => {
    rulesDir = rulesDirectory();
    threaded = new ThreadedRuleReader(rulesDir);
  });
  afterEach(() => threaded.close());

  const version = async (): Promise<RuleVersion> => {
    const newest = (await threaded.scan()).at(-1)?.version;
    if (newest === undefined) throw new Error('there is no version');
    return newest;
  };

  it('gives the same rule sets as reading directly', async () => {
    const [there, here] = await Promise.all(
      [threaded, createDirectRuleReader(rulesDir)].map(async (reader) => reader.load(await version())),
    );
    if (there?.ok !== true || here?.ok !== true) throw new Error('p2.v10 is not sound');
    expect(plainParts(there.ruleSet)).to.deep.equal(plainParts(here.ruleSet));
  });

  it('gives the same attributes, and facts that read them', async () => {
    writeFileSync(
      join(rulesDir, 'p2.v10', 'ruleset.yaml'),
      `${SOUND_FILES.get('ruleset.yaml')}\nattributes: { age: { type: number }, card: { type: text, length: 2 } }\n`,
    );
    rmSync(join(rulesDir, 'p2.v10', 'release.json'));
    const loaded = await threaded.load(await version());
    const facts = (loaded.ok ? loaded.ruleSet.facts : []).filter(({ attribute }) => attribute !== undefined);
    expect(facts.map(({ label, fact: { domain } }) => [label, domain.type])).to.deep.equal([
      ['attribute(age)', 'number'],
      ['attribute(card)', 'text'],
    ]);
  });

  it('gives facts that count by the attribute that they were read for', async () => {
    const counting =
      '{ fact: clientsOnAttribute, params: { name: card, window: 1h }, operator: greaterThan, value: 1 }';
    writeFileSync(
      join(rulesDir, 'p2.v10', 'ruleset.yaml'),
      `${SOUND_FILES.get('ruleset.yaml')}\nattributes: { card: { type: text, pseudonym: true } }\n`,
    );
    const verdicts = SOUND_FILES.get('verdicts.yaml') ?? '';
    const group = '{ fact: clientGroup, operator: equal, value: BLOCKED }';
    writeFileSync(join(rulesDir, 'p2.v10', 'verdicts.yaml'), verdicts.replace(group, counting));
    rmSync(join(rulesDir, 'p2.v10', 'release.json'), { force: true });
    const loaded = await threaded.load(await version());
    const rules = loaded.ok ? loaded.ruleSet : null;
    const asked = rules?.sharing.attributes?.map(({ declared, windowsMs }) => [declared.name, windowsMs]);
    expect(asked).to.deep.equal([['card', [3600_000]]]);
    const fact = rules?.facts.find(({ label }) => label === 'clientsOnAttribute(card 1h)')?.fact;
    expect(fact?.kind === 'windowed' && fact.ofAttribute?.declared?.name).to.equal('card');
  });

  it('refuses cases that are a link out of the folder of rule sets', async () => {
    addVersion(rulesDir, 'p2.v11', []);
    symlinkSync(temporaryDirectory(), join(rulesDir, 'p2.v11', 'cases'));
    expect(await threaded.load(await version())).to.deep.equal({
      ok: false,
      problems: [
        {
          at: { file: 'cases', line: 1, column: 1 },
          message: 'it is a link that leads out of the folder of rule sets; replace it by what it points to',
        },
      ],
    });
  });
});

/** Of the user that owns nothing. */
const NOBODY = 65_534;

describe('a rule folder without permission', () => {
  it('is refused by name, and hides none of the others', () => {
    const directory = rulesDirectory();
    chmodSync(directory, 0o755);
    const shut = join(directory, 'p2.v99');
    mkdirSync(shut);
    chmodSync(shut, 0);
    asSomebodyWithoutRights(() => {
      const scanned = scanRuleFolders(directory);
      expect(scanned.map(({ version }) => version)).to.deep.equal(['p2.v10', 'p2.v99']);
      expect(scanned.at(-1)?.stamp).to.match(/^unreadable: EACCES/);
      const read = readRuleSet(shut);
      expect(read.ok).to.equal(false);
      if (!read.ok)
        expect(formatProblems('p2.v99', read.problems)).to.match(/^p2\.v99.*(EACCES|permission)/s);
      expect(readRuleSet(join(directory, 'p2.v10')).ok).to.equal(true);
    });
    chmodSync(shut, 0o700);
  });
});

/** The superuser may read everything, so it steps down for as long as `look` takes. */
function asSomebodyWithoutRights(look: () => void): void {
  const isSuperuser = process.geteuid?.() === 0;
  if (isSuperuser) process.seteuid?.(NOBODY);
  try {
    look();
  } finally {
    if (isSuperuser) process.seteuid?.(0);
  }
}

describe('a RULES_DIR', () => {
  it('that cannot be used is refused, and the refusal says why', () => {
    const [folder, path] = [temporaryDirectory(), join(temporaryDirectory(), 'rules')];
    expect(explainUnusableRulesDir(folder)).to.equal(null);
    for (const [why, make] of [
      ['where there is no folder', () => {}],
      ['which is no folder', () => writeFileSync(path, '')],
      [
        'which cannot be read: its links lead in a circle (ELOOP)',
        () => {
          rmSync(path);
          symlinkSync(path, path);
        },
      ],
    ] as const) {
      make();
      expect(explainUnusableRulesDir(path)).to.equal(
        `RULES_DIR is ${path}, ${why}; set it to the folder of rule sets`,
      );
    }
  });
});
