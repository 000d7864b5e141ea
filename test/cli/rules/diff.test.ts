import { expect } from 'chai';
import { Workplace } from '../../evidence/backtest/backtest-history.ts';

describe('rules diff', () => {
  let place: Workplace;
  before(() => {
    place = new Workplace();
    place.draft('p2.v11');
    place.draft('p2.v12', {
      file: 'bot-signals.yaml',
      from: '{ fact: jsOk, operator: equal, value: false }\n    event: { type: signal, params: { weight: 3 } }',
      to: '{ fact: jsOk, operator: equal, value: false }\n    event: { type: signal, params: { weight: 4 } }',
    });
    place.draft('p2.v13', { file: 'bot-signals.yaml', from: 'threshold: 4', to: 'threshold: four' });
  });
  after(() => place.end());

  it('exits with 0 when two versions decide alike', async () => {
    expect(await place.scoring('rules', 'diff', 'p2.v10', 'p2.v11')).to.deep.equal({
      code: 0,
      stdout: 'p2.v10 and p2.v11 decide alike.\n',
      stderr: '',
    });
  });

  it('exits with 1 and shows the change and the payers whom it affects', async () => {
    const { code, stdout } = await place.scoring('rules', 'diff', 'p2.v10', 'p2.v12');
    expect(code).to.equal(1);
    expect(stdout.split('\n').slice(0, 7)).to.deep.equal([
      'bot-signals',
      '  no-javascript: weight 3 -> 4',
      '',
      'Answered differently, for example (facts not named are those of an ordinary first request). Not everything could be decided, so there may be others.',
      '  1. jsOk = false',
      '     p2.v10  GET_NEW by otherwise, NEW, no bot',
      '     p2.v12  BLOCK by bot-blocked, NEW, a bot',
    ]);
  });

  it('prints one JSON object on request', async () => {
    const { code, stdout } = await place.scoring('rules', 'diff', 'p2.v10', 'p2.v12', '--json');
    expect(code).to.equal(1);
    const printed = JSON.parse(stdout);
    expect(Object.keys(printed)).to.deep.equal([
      'before',
      'after',
      'differences',
      'examples',
      'searched',
      'note',
    ]);
    expect(printed.differences).to.deep.equal([
      { part: 'bot-signals', name: 'no-javascript', kind: 'changed', text: 'no-javascript: weight 3 -> 4' },
    ]);
    expect(printed.examples[0].facts).to.deep.equal({ jsOk: false });
  });

  for (const [what, version, exitCode, told] of [
    ['bad', 'p2.v13', 1, /^error: p2\.v13 is not sound:\n.*bot-signals\.yaml:6:12 {2}/],
    ['missing', 'p2.v99', 2, /^error: there is no rule set at .*p2\.v99\n$/],
  ] as const)
    it(`refuses a ${what} version`, async () => {
      const { code, stderr } = await place.scoring('rules', 'diff', 'p2.v10', version);
      expect(code).to.equal(exitCode);
      expect(stderr).to.match(told);
    });
});
