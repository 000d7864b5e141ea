import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Workplace } from '../../evidence/backtest/backtest-history.ts';

describe('rules new', () => {
  let place: Workplace;
  beforeEach(() => {
    place = new Workplace();
  });
  afterEach(() => place.end());

  it('copies a version as a draft, changes its ruleVersion only, and says what to do next', async () => {
    const { code, stdout } = await place.scoring('rules', 'new', 'p2.v11', '--from', 'p2.v10');
    expect(code).to.equal(0);
    expect(stdout.split('\n').slice(1)).to.deep.equal([
      '  rules check p2.v11',
      '  rules test p2.v11',
      '  rules diff p2.v10 p2.v11',
      '  rules backtest p2.v11',
      '  rules release p2.v11',
      '',
    ]);
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
    await place.scoring('rules', 'new', 'p3.v1', '--from', 'p2.v10');
    expect(place.text('p3.v1', 'ruleset.yaml')).to.include('ruleVersion:   "p3.v1" # ours, like p2.v10\n');
  });

  it('saves the edits of somebody who changed a released version', async () => {
    appendFileSync(join(place.rulesDir, 'p2.v10', 'verdicts.yaml'), '# an idea\n');
    const { code } = await place.scoring('rules', 'new', 'p2.v11', '--from', 'p2.v10');
    expect(code).to.equal(0);
    expect(place.text('p2.v11', 'verdicts.yaml')).to.match(/# an idea\n$/);
  });

  it('prints one JSON object on request', async () => {
    const { stdout } = await place.scoring('rules', 'new', 'p2.v11', '--from', 'p2.v10', '--json');
    expect(JSON.parse(stdout)).to.deep.equal({
      ruleVersion: 'p2.v11',
      from: 'p2.v10',
      folder: join(place.rulesDir, 'p2.v11'),
    });
  });

  it('names a draft with a word at its end, and makes a version of it', async () => {
    await place.scoring('rules', 'new', 'p2.v11-night', '--from', 'p2.v10');
    expect(place.text('p2.v11-night', 'ruleset.yaml')).to.include('ruleVersion: p2.v11-night\n');
    await place.scoring('rules', 'new', 'p2.v11', '--from', 'p2.v11-night');
    expect(place.text('p2.v11', 'ruleset.yaml')).to.include('ruleVersion: p2.v11\n');
  });

  it('does not copy that a version was released or rolled back', async () => {
    writeFileSync(join(place.rulesDir, 'p2.v10', 'rolled-back.json'), '{}');
    await place.scoring('rules', 'new', 'p2.v11', '--from', 'p2.v10');
    expect(readdirSync(join(place.rulesDir, 'p2.v11')))
      .to.include('verdicts.yaml')
      .and.not.include.members(['release.json'])
      .and.not.include.members(['rolled-back.json']);
  });

  it('refuses a version that exists and leaves it as it is', async () => {
    mkdirSync(join(place.rulesDir, 'p2.v11'));
    const { code, stderr } = await place.scoring('rules', 'new', 'p2.v11', '--from', 'p2.v10');
    expect({ code, stderr }).to.deep.equal({
      code: 2,
      stderr: `error: ${join(place.rulesDir, 'p2.v11')} exists already; choose another version or edit it as it is\n`,
    });
    expect(readdirSync(join(place.rulesDir, 'p2.v11'))).to.deep.equal([]);
  });

  it('refuses a malformed version', async () => {
    const { code, stderr } = await place.scoring('rules', 'new', '../v11', '--from', 'p2.v10');
    expect({ code, stderr }).to.deep.equal({
      code: 2,
      stderr:
        'error: a version is named p<number>.v<number>, like p2.v10, or p2.v11-night for a draft, unlike "../v11"\n',
    });
  });

  it('refuses a missing source', async () => {
    const { code, stderr } = await place.scoring('rules', 'new', 'p2.v11', '--from', 'p2.v9');
    expect({ code, stderr }).to.deep.equal({
      code: 2,
      stderr: `error: there is no rule set at ${join(place.rulesDir, 'p2.v9')}\n`,
    });
  });

  it('refuses a bad source and leaves nothing behind', async () => {
    const path = join(place.rulesDir, 'p2.v10', 'bot-signals.yaml');
    writeFileSync(path, readFileSync(path, 'utf8').replace('threshold: 4', 'threshold: four'));
    const { code, stderr } = await place.scoring('rules', 'new', 'p2.v11', '--from', 'p2.v10');
    expect(code).to.equal(2);
    expect(stderr).to.match(
      /^error: p2\.v10 is not sound and cannot be copied:\n.*bot-signals\.yaml:6:12 {2}/,
    );
    expect(readdirSync(place.rulesDir)).to.deep.equal(['p2.v10']);
  });
});
