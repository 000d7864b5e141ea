import { expect } from 'chai';
import { playJuly, Workplace } from '../../../evidence/backtest/backtest-history.ts';

describe('rules drift', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(playJuly);
  });
  after(() => place.end());

  const run = (...args: readonly string[]) => place.scoring('rules', ...args, '--journal', place.path('j'));

  it('prints both parts of the time, each share and figure with its interval', async () => {
    const { code, stdout } = await run('drift', '--split', '2026-07-03');
    expect(code).to.equal(0);
    expect(stdout).to.include('The later part begins at 2026-07-03T00:00:00Z.');
    expect(stdout).to.match(/BLOCK +\d+\.\d % \(\d+\.\d to \d+\.\d\) +\d+\.\d % \(\d+\.\d to \d+\.\d\)\n/);
    expect(stdout).to.match(/orders with an unknown outcome +\d+ +\d+\n/);
    expect(stdout).to.include('Payments of the later part may still be reported: until then');
    expect(stdout).to.match(/Brier score +0\.\d{4} \(0\.\d{4} to 0\.\d{4}\)/);
  });

  it('says of a time without decisions that there are none', async () => {
    const { code, stdout } = await run('drift', '--from', '2030-01-01');
    expect(code).to.equal(0);
    expect(stdout).to.include('\nThere is no decision within this time.\n');
    expect(stdout).not.to.include('1970');
  });
});
