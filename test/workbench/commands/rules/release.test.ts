import { appendFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { excludeForeignParts } from '#decision/rules/text/own-part.ts';
import { Workplace } from '../../../history/evidence/backtest/backtest-history.ts';
import { scoring } from '../scoring.ts';
import { itPrints } from '../transcript.ts';

const TOO_EARLY = '- { fact: waitRemainingSeconds, operator: greaterThan, value: 0 }';
const NO_SCRIPT =
  '{ fact: jsOk, operator: equal, value: false }\n    event: { type: signal, params: { weight: ';

describe('rules release, diff and new', () => {
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
    place.draft('p2.v15', { file: 'bot-signals.yaml', from: `${NO_SCRIPT}3`, to: `${NO_SCRIPT}4` });
    place.draft('p2.v11-night');
    place.draft('p2.v20');
    place.draft('p2.v19', {
      file: 'verdicts.yaml',
      from: '\notherwise:',
      to: '\n  - { name: large-first-order, priority: 55, conditions: { all: [{ fact: amount, operator: greaterThan, value: 5000 }, { fact: currency, operator: equal, value: EUR }] }, event: { type: verdict, params: { verdict: WAIT, reason: "Wait." } } }\notherwise:',
    });
    appendFileSync(
      place.path('rules', 'p2.v19', 'ruleset.yaml'),
      'meant: { firstRequestWaits: "large orders cool down" }\n',
    );
    for (const [version, ...lost] of [
      ['p2.v16', ''],
      ['p2.v9', 'readings.yaml'],
      ['p2.v17', 'readings.yaml', 'verdicts.yaml'],
      ['p2.v18', 'bots.yaml'],
    ] as const) {
      place.draft(version);
      for (const file of lost) rmSync(place.path('rules', version, 'cases', file), { recursive: true });
    }
  });
  after(() => place.end());

  itPrints(new URL('release.txt', import.meta.url), () => ({
    run: (args) => scoring(args, place.environment()),
    named: { DIR: place.folder },
  }));

  it('release as one JSON object on request, with the cases that were lost', async () => {
    const { stdout } = await place.scoring('rules', 'release', 'p2.v18', '--json');
    const { before, of, names } = JSON.parse(stdout).lostCases;
    expect([before, of, names.length]).to.deep.equal(['p2.v17', 50, 26]);
  });

  it('release a version that breaks a promise, and say which and why', async () => {
    const breach =
      'a first request can get WAIT ("large-first-order"), and the interface (section 3.2) has no wait before it; this is intended: large orders cool down';
    const { stdout } = await place.scoring('rules', 'release', 'p2.v19');
    expect(stdout.split('\n')[1]).to.equal(`note: ${breach}`);
  });

  it('refuse files that are the part which one platform may read, with the line that says so', async () => {
    const files = new Map([['ruleset.yaml', place.text('p2.v20', 'ruleset.yaml')]]);
    const own = excludeForeignParts(files, 'shop').get('ruleset.yaml') ?? '';
    writeFileSync(place.path('rules', 'p2.v20', 'ruleset.yaml'), `# Ours.\n${own}`);
    const told =
      'rules/p2.v20/ruleset.yaml:2:1  this file may lack parts of other platforms, because it was copied from what one platform may read; propose the draft in the console, and its release puts them back, or put them back here and remove this line';
    const checked = await place.scoring('rules', 'check', 'p2.v20');
    expect(checked.stdout).to.include(told);
    const released = await place.scoring('rules', 'release', 'p2.v20');
    expect(released.stderr).to.include(told);
  });

  it('release nothing that was refused, and leave nothing of a refused draft', () => {
    const versions = readdirSync(place.rulesDir);
    const released = versions.filter((one) => existsSync(place.path('rules', one, 'release.json')));
    expect(released).to.have.members(['p2.v9', 'p2.v10', 'p2.v11', 'p2.v17', 'p2.v18', 'p2.v19']);
    expect(versions).not.to.include('p2.v22');
  });

  it('copy the edits of somebody who changed a released version, its comments and quotes, but no release or return', async () => {
    const [version, copy] = [place.path('rules', 'p2.v10'), place.path('rules', 'p3.v1')];
    const ruleset = place.text('p2.v10', 'ruleset.yaml');
    const named = (one: string) =>
      ruleset.replace('ruleVersion: p2.v10', `ruleVersion:   "${one}" # like p2.v10`);
    writeFileSync(`${version}/ruleset.yaml`, named('p2.v10'));
    appendFileSync(`${version}/verdicts.yaml`, '# an idea\n');
    writeFileSync(`${version}/rolled-back.json`, '{}');
    await place.scoring('rules', 'new', 'p3.v1', '--from', 'p2.v10');
    const without = (files: readonly string[]) => files.filter((file) => !file.endsWith('.json')).toSorted();
    expect(readdirSync(copy).toSorted()).to.deep.equal(without(readdirSync(version)));
    expect(place.text('p3.v1', 'ruleset.yaml')).to.equal(named('p3.v1'));
    for (const file of ['verdicts.yaml', 'cases/bots.yaml'])
      expect(place.text('p3.v1', file)).to.equal(place.text('p2.v10', file));
    expect(place.rules('p3.v1').released).to.equal(false);
  });
});
