import { expect } from 'chai';
import { scoring } from './scoring.ts';

describe('scoring size', () => {
  const size = (...options: readonly string[]) => scoring(['size', ...options], {});

  it('shows in a table what a load needs', async () => {
    const { exitCode, stdout } = await size('--verdicts-per-second', '1000', '--payers', '50000000');
    expect(exitCode).to.equal(0);
    expect(stdout).to.include(
      '1,000 verdicts a second on average, 3,000 at the peak; 50,000,000 payers after 90 days.\n',
    );
    for (const row of [
      /^service: cores to plan, half of them idle then +3$/m,
      /^Redis memory: in all +134 GB$/m,
      /^Redis: masters to plan +8$/m,
      /^archive: disk after 90 days +1\.31 TB$/m,
      /^archive: how long it may be away before it misses entries +67 min$/m,
    ])
      expect(stdout).to.match(row);
  });

  it('gives the same as one JSON object, without a number of masters beyond one cluster', async () => {
    const { stdout } = await size('--verdicts-per-second', '1', '--payers', '10000000000', '--json');
    const { load, needs } = JSON.parse(stdout);
    expect(load).to.include({ verdictsPerSecond: 1, payers: 10_000_000_000, days: 90 });
    expect(needs).to.include({ masters: null, mastersForCpu: 1, serviceCores: 1 });
  });

  it('refuses a bad size, and says what is allowed', async () => {
    const { exitCode, stderr } = await size('--verdicts-per-second', '10', '--idempotent', '1.5');
    expect(exitCode).to.equal(2);
    expect(stderr).to.include(
      "error: option '--idempotent <n>' argument '1.5' is invalid. It must be a number from 0 to 1.",
    );
  });
});
