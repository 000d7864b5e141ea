import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { blocksOf, section } from '../../guide-blocks.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { scoring } from '../../workbench/commands/scoring.ts';
import { History } from '../evidence/backtest/backtest-history.ts';
import { recordedEvidence } from '../evidence/source/recorded-evidence.ts';

const GUIDE = readFileSync(new URL('../../../src/history/archive/README.md', import.meta.url), 'utf8');

describe('the guide of the archive', () => {
  it('has queries that an archive answers', async () => {
    const { archive } = await recordedEvidence(async (store) => {
      const history = new History(store);
      await history.verdict('ann', 'ann-1');
      await history.verdict('ann', 'ann-1');
    });
    const env = { ARCHIVE_DIR: archive.folder, DATA_DIR: temporaryDirectory(), REDIS_URL: '' };
    const [block] = blocksOf(section(GUIDE, 'Five questions'));
    const questions = [...(block?.text ?? '').matchAll(/archive query "([^"]*)"/g)].map(
      ([, sql = '']) => sql,
    );
    const answers = await Promise.all(
      questions.map((sql) => scoring(['archive', 'query', sql, '--format', 'json'], env)),
    );
    expect(answers.map(({ stderr }) => stderr)).to.deep.equal(Array(5).fill(''));
    expect(answers.map(({ stdout }) => JSON.parse(stdout).length)).to.deep.equal([2, 1, 1, 1, 1]);
  });
});
