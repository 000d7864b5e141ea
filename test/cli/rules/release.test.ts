import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Workplace } from '../../evidence/backtest/backtest-history.ts';

const TOO_EARLY = '- { fact: waitRemainingSeconds, operator: greaterThan, value: 0 }';

describe('rules release', () => {
  let place: Workplace;
  before(() => {
    place = new Workplace();
    place.draft('p2.v11');
    place.draft('p2.v12', { file: 'bot-signals.yaml', from: 'threshold: 4', to: 'threshold: four' });
    place.draft('p2.v13', {
      file: 'verdicts.yaml',
      from: TOO_EARLY,
      to: `${TOO_EARLY}\n        - { fact: attemptOpen, operator: equal, value: true }`,
    });
    place.draft('p2.v14', { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[40s, 5m, 30m]' });
    place.draft('p2.v16');
    rmSync(place.path('rules', 'p2.v16', 'cases'), { recursive: true });
    place.draft('p2.v11-night');
  });
  after(() => place.end());

  const released = (version: string) => existsSync(join(place.rulesDir, version, 'release.json'));

  it('releases a version in which check and test find nothing', async () => {
    const { code, stdout } = await place.scoring('rules', 'release', 'p2.v11');
    expect(stdout).to.match(/^p2\.v11 is released: sha256:[0-9a-f]{64}\n$/);
    expect([code, released('p2.v11')]).to.deep.equal([0, true]);
  });

  for (const [title, version, exitCode, told] of [
    ['bad files', 'p2.v12', 1, /^error: p2\.v12 is not sound:\n.*bot-signals\.yaml:6:12 {2}/],
    [
      'what check proves',
      'p2.v13',
      1,
      /^error: p2\.v13 has findings and is not released; see: rules check p2\.v13\n.*verdicts\.yaml:26:5 {2}"asked-too-early" can never match: /,
    ],
    [
      'cases that fail',
      'p2.v14',
      1,
      /^error: \d+ cases of p2\.v14 failed; it is not released; see: rules test p2\.v14\n$/,
    ],
    [
      'a version whose cases were deleted',
      'p2.v16',
      1,
      /^error: p2\.v16 has no cases and is not released; write into \S+\/rules\/p2\.v16\/cases what it must answer, or copy the cases of the version before it\n$/,
    ],
    [
      'the name of a draft',
      'p2.v11-night',
      2,
      /^error: p2\.v11-night has a draft's name, which is never released; release a copy of it: rules new p2\.v11 --from p2\.v11-night\n$/,
    ],
  ] as const)
    it(`exits with ${exitCode} for ${title}, and releases nothing`, async () => {
      const { code, stderr } = await place.scoring('rules', 'release', version);
      expect(stderr).to.match(told);
      expect([code, released(version)]).to.deep.equal([exitCode, false]);
    });

  it('says which cases of the version released before are missing', async () => {
    place.draft('p2.v9');
    rmSync(place.path('rules', 'p2.v9', 'cases', 'readings.yaml'));
    expect((await place.scoring('rules', 'release', 'p2.v9')).stdout).to.match(/^p2\.v9 is released.*\n$/);
    place.draft('p2.v17');
    for (const file of ['readings.yaml', 'verdicts.yaml'])
      rmSync(place.path('rules', 'p2.v17', 'cases', file));
    const { code, stdout } = await place.scoring('rules', 'release', 'p2.v17');
    expect(stdout.split('\n')[1]).to.match(
      /^15 of the 57 cases of p2\.v11, which was released before it, are not in it: "[^"]+"(, "[^"]+"){4}, and 10 more\.$/,
    );
    expect(code).to.equal(0);
    place.draft('p2.v18');
    rmSync(place.path('rules', 'p2.v18', 'cases', 'bots.yaml'));
    const json = await place.scoring('rules', 'release', 'p2.v18', '--json');
    const { before, of, names } = JSON.parse(json.stdout).lostCases;
    expect([before, of, names.length]).to.deep.equal(['p2.v17', 42, 18]);
  });

  it('exits with 2 for a version that is released already', async () => {
    const { code, stderr } = await place.scoring('rules', 'release', 'p2.v10');
    expect(code).to.equal(2);
    expect(stderr).to.match(/^error: p2\.v10 is released already, with digest [0-9a-f]{64}\n$/);
  });
});

describe('rules new', () => {
  let place: Workplace;
  beforeEach(() => {
    place = new Workplace();
  });
  afterEach(() => place.end());

  const copied = (version = 'p2.v11', from = 'p2.v10', ...more: readonly string[]) =>
    place.scoring('rules', 'new', version, '--from', from, ...more);

  it('copies a version as a draft, changes its ruleVersion only, and says what to do next', async () => {
    const { code, stdout } = await copied();
    expect(code).to.equal(0);
    const next = ['check', 'test', 'diff p2.v10', 'backtest', 'release'].map(
      (word) => `  rules ${word} p2.v11`,
    );
    expect(stdout.split('\n').slice(1)).to.deep.equal([...next, '']);
    expect(place.text('p2.v11', 'ruleset.yaml')).to.equal(
      place.text('p2.v10', 'ruleset.yaml').replace('ruleVersion: p2.v10', 'ruleVersion: p2.v11'),
    );
    expect(place.text('p2.v11', 'verdicts.yaml')).to.equal(place.text('p2.v10', 'verdicts.yaml'));
    expect(place.text('p2.v11', 'cases/bots.yaml')).to.equal(place.text('p2.v10', 'cases/bots.yaml'));
    expect(existsSync(join(place.rulesDir, 'p2.v11', 'release.json'))).to.equal(false);
    expect(place.rules('p2.v11').released).to.equal(false);
    expect(readdirSync(place.rulesDir)).to.have.members(['p2.v10', 'p2.v11']);
  });

  it('keeps comments and quotes around the ruleVersion', async () => {
    const path = join(place.rulesDir, 'p2.v10', 'ruleset.yaml');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('ruleVersion: p2.v10', 'ruleVersion:   "p2.v10" # ours, like p2.v10'));
    await copied('p3.v1');
    expect(place.text('p3.v1', 'ruleset.yaml')).to.include('ruleVersion:   "p3.v1" # ours, like p2.v10\n');
  });

  it('saves the edits of somebody who changed a released version', async () => {
    appendFileSync(join(place.rulesDir, 'p2.v10', 'verdicts.yaml'), '# an idea\n');
    const { code } = await copied();
    expect(code).to.equal(0);
    expect(place.text('p2.v11', 'verdicts.yaml')).to.match(/# an idea\n$/);
  });

  it('prints one JSON object on request', async () => {
    const { stdout } = await copied('p2.v11', 'p2.v10', '--json');
    const folder = join(place.rulesDir, 'p2.v11');
    expect(JSON.parse(stdout)).to.deep.equal({ ruleVersion: 'p2.v11', from: 'p2.v10', folder });
  });

  it('names a draft with a word at its end, and makes a version of it', async () => {
    await copied('p2.v11-night');
    expect(place.text('p2.v11-night', 'ruleset.yaml')).to.include('ruleVersion: p2.v11-night\n');
    await copied('p2.v11', 'p2.v11-night');
    expect(place.text('p2.v11', 'ruleset.yaml')).to.include('ruleVersion: p2.v11\n');
  });

  it('does not copy that a version was released or rolled back', async () => {
    writeFileSync(join(place.rulesDir, 'p2.v10', 'rolled-back.json'), '{}');
    await copied();
    const files = readdirSync(join(place.rulesDir, 'p2.v11'));
    expect(files).to.include('verdicts.yaml').and.not.include.members(['release.json']);
    expect(files).not.to.include('rolled-back.json');
  });

  it('refuses a version that exists and leaves it as it is', async () => {
    mkdirSync(join(place.rulesDir, 'p2.v11'));
    const { code, stderr } = await copied();
    expect([code, stderr]).to.deep.equal([
      2,
      'error: p2.v11 exists already; choose another version, or open it and edit it\n',
    ]);
    expect(readdirSync(join(place.rulesDir, 'p2.v11'))).to.deep.equal([]);
  });

  it('refuses a malformed version, and a missing source', async () => {
    const { stderr, ...bad } = await copied('../v11');
    expect(bad).to.deep.equal({ code: 2, stdout: '' });
    expect(stderr).to.equal(
      'error: a version is named p<number>.v<number>, like p2.v10, or p2.v11-night for a draft, unlike "../v11"\n',
    );
    const missing = `error: there is no rule set at ${join(place.rulesDir, 'p2.v9')}\n`;
    expect(await copied('p2.v11', 'p2.v9')).to.deep.equal({ code: 2, stdout: '', stderr: missing });
  });

  it('refuses a bad source and leaves nothing behind', async () => {
    const path = join(place.rulesDir, 'p2.v10', 'bot-signals.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace('threshold: 4', 'threshold: four'));
    const { code, stderr } = await copied();
    expect(code).to.equal(2);
    expect(stderr).to.match(
      /^error: p2\.v10 is not sound and cannot be copied:\n.*bot-signals\.yaml:6:12 {2}/,
    );
    expect(readdirSync(place.rulesDir)).to.deep.equal(['p2.v10']);
  });
});
