import { expect } from 'chai';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { scoring } from '../scoring.ts';

describe('rules rollout', () => {
  const run = (...args: readonly string[]) =>
    scoring(['rules', 'rollout', 'p2.v10', ...args, '--reason', 'a test'], {
      DATA_DIR: temporaryDirectory(),
      REDIS_URL: '',
    });

  it('refuses a guard at a canary that leaves it nobody to compare with, and says what to do', async () => {
    const { exitCode, stdout, stderr } = await run('--canary', '100', '--guard', '5');
    expect([exitCode, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.include(
      '--guard compares the canary with clients of the active version, and 100 percent leave none of those; choose fewer percent, or leave the guard out',
    );
  });

  it('takes a guard at any smaller canary, and no guard at one of 100 percent', async () => {
    for (const options of [
      ['--canary', '99.9', '--guard', '5'],
      ['--canary', '100'],
    ]) {
      const { exitCode, stderr } = await run(...options);
      expect(exitCode).to.equal(1);
      expect(stderr).to.include('refused: no node has ever started on this store');
    }
  });
});
