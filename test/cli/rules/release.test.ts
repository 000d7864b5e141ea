import { existsSync, rmSync } from 'node:fs';
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
  });
  after(() => place.end());

  const released = (version: string) => existsSync(join(place.rulesDir, version, 'release.json'));

  it('releases a version in which check and test find nothing', async () => {
    const { code, stdout } = await place.scoring('rules', 'release', 'p2.v11');
    expect(stdout).to.match(/^p2\.v11 is released: sha256:[0-9a-f]{64}\n$/);
    expect([code, released('p2.v11')]).to.deep.equal([0, true]);
  });

  it('exits with 1 for bad files, and releases nothing', async () => {
    const { code, stderr } = await place.scoring('rules', 'release', 'p2.v12');
    expect(stderr).to.match(/^error: p2\.v12 is not sound:\n.*bot-signals\.yaml:6:12 {2}/);
    expect([code, released('p2.v12')]).to.deep.equal([1, false]);
  });

  it('exits with 1 for what check proves, and releases nothing', async () => {
    const { code, stderr } = await place.scoring('rules', 'release', 'p2.v13');
    const [first, second] = stderr.split('\n');
    expect(first).to.equal('error: p2.v13 has findings and is not released; see: rules check p2.v13');
    expect(second).to.match(/verdicts\.yaml:26:5 {2}"asked-too-early" can never match: /);
    expect([code, released('p2.v13')]).to.deep.equal([1, false]);
  });

  it('exits with 1 for cases that fail, and releases nothing', async () => {
    const { code, stderr } = await place.scoring('rules', 'release', 'p2.v14');
    expect(stderr).to.match(
      /^error: \d+ cases of p2\.v14 failed; it is not released; see: rules test p2\.v14\n$/,
    );
    expect([code, released('p2.v14')]).to.deep.equal([1, false]);
  });

  it('exits with 1 for a version whose cases were deleted, and releases nothing', async () => {
    place.draft('p2.v16');
    rmSync(place.path('rules', 'p2.v16', 'cases'), { recursive: true });
    const { code, stderr } = await place.scoring('rules', 'release', 'p2.v16');
    expect(stderr).to.match(
      /^error: p2\.v16 has no cases and is not released; write into \S+\/rules\/p2\.v16\/cases what it must answer, or copy the cases of the version before it\n$/,
    );
    expect([code, released('p2.v16')]).to.deep.equal([1, false]);
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

  it('exits with 2 for the name of a draft, and says how to release it', async () => {
    place.draft('p2.v11-night');
    const { code, stderr } = await place.scoring('rules', 'release', 'p2.v11-night');
    expect(stderr).to.equal(
      "error: p2.v11-night has a draft's name, which is never released; release a copy of it: rules new p2.v11 --from p2.v11-night\n",
    );
    expect([code, released('p2.v11-night')]).to.deep.equal([2, false]);
  });

  it('exits with 2 for a version that is released already', async () => {
    const { code, stderr } = await place.scoring('rules', 'release', 'p2.v10');
    expect(code).to.equal(2);
    expect(stderr).to.match(/^error: p2\.v10 is released already, with digest [0-9a-f]{64}\n$/);
  });
});
