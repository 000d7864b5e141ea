import { expect } from 'chai';
import { scoring } from './scoring.ts';

describe('scoring size', () => {
  it('tells in a table what a load needs', async () => {
    const { exitCode, stdout } = await scoring(
      ['size', '--verdicts-per-second', '1000', '--payers', '5000000'],
      {},
    );
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(
      /^1,000 verdicts a second on average, 3,000 at the peak; 5,000,000 payers after 90 days\.$/m,
    );
    for (const row of [
      'service, cores',
      'Redis, cores',
      'Redis memory, in all',
      'Redis masters',
      'archive, disk',
    ])
      expect(stdout).to.match(new RegExp(`^${row} .*\\d`, 'm'));
  });

  it('refuses what is no size, and says what is', async () => {
    const { exitCode, stderr } = await scoring(
      ['size', '--verdicts-per-second', '10', '--idempotent', '1.5'],
      {},
    );
    expect(exitCode).to.equal(2);
    expect(stderr).to.include(
      "error: option '--idempotent <n>' argument '1.5' is invalid. It must be a number from 0 to 1.",
    );
  });
});
