import { expect } from 'chai';
import { History } from '../../../evidence/backtest/backtest-history.ts';
import { livedEvidence } from '../../../evidence/source/lived-evidence.ts';
import { currentRules } from '../../../service/current-rules.ts';
import { scoring } from '../../scoring.ts';

describe('rules experiment', () => {
  let journal: string;
  before(async () => {
    const lived = await livedEvidence(async (store) => {
      await new History(store, currentRules()).verdict('payer', 'order');
    });
    journal = lived.journal.kind === 'journal' ? lived.journal.path : '';
  });
  const run = (...args: readonly string[]) => scoring(['rules', 'experiment', ...args], { REDIS_URL: '' });

  it('says how to begin a trial where there was none, as text and as JSON', async () => {
    const { exitCode, stdout } = await run('p2.v11', '--journal', journal, '--as-of', '2026-08-01T00:00:00Z');
    expect(exitCode).to.equal(0);
    expect(stdout).to.include('No version was on trial within this time. Begin with: rules rollout p2.v11');
    const { stdout: text } = await run('--journal', journal, '--json');
    const { arms, differences, recommendation } = JSON.parse(text);
    expect({ arms, differences, recommendation }).to.deep.equal({
      arms: [],
      differences: [],
      recommendation: { version: null, takeBack: [], errorBound: 0.01 },
    });
  });

  it('refuses a bad version name', async () => {
    const { exitCode, stderr } = await run('newest', '--journal', journal);
    expect(exitCode).to.equal(2);
    expect(stderr).to.include('newest');
  });
});
