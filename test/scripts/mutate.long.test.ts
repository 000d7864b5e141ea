import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { findNoticingTests, recordTestCoverage } from '../../scripts/mutate.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const SUM = 'export const sum = (a, b) => a + b;\nexport const least = (a, b) => (a < b ? a : b);\n';
const TEST = `import { strictEqual } from 'node:assert';
import { sum, least } from '../src/sum.js';
it('adds', () => strictEqual(sum(2, 3), 5));
it('finds the least', () => strictEqual(least(1, 1), 1));
`;

describe('a mutation', () => {
  let root: string;
  before(() => {
    root = realpathSync(temporaryDirectory());
    for (const folder of ['src', 'test']) mkdirSync(join(root, folder));
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(root, 'src', 'sum.js'), SUM);
    writeFileSync(join(root, 'test', 'sum.test.js'), TEST);
    writeFileSync(join(root, 'test', 'other.test.js'), "it('asks for nothing', () => {});\n");
    symlinkSync(join(import.meta.dirname, '..', '..', 'node_modules'), join(root, 'node_modules'));
  });

  const tried = async (from: string, to: string) => {
    const tests = ['test/sum.test.js', 'test/other.test.js'];
    const entries = await Promise.all(
      tests.map(async (test) => [test, await recordTestCoverage(root, test)] as const),
    );
    return findNoticingTests(root, Object.fromEntries(entries), {
      file: 'src/sum.js',
      breaks: 'a sum',
      from,
      to,
    });
  };

  it('is tried with the test files that ran its place, and names those that notice', async () => {
    expect(await tried('a + b', 'a - b')).to.deep.equal({ tried: 1, by: ['test/sum.test.js'] });
  });

  it('is noticed by nobody where no test tells the difference, and leaves the sources as they were', async () => {
    expect(await tried('a < b', 'a <= b')).to.deep.equal({ tried: 1, by: [] });
    expect(readFileSync(join(root, 'src', 'sum.js'), 'utf8')).to.equal(SUM);
  });

  it('has to be in its file once', async () => {
    expect(await tried('=> ', '').catch(String)).to.equal(
      'Error: src/sum.js has "=> " 2 times, and a mutation needs it once; correct it in scripts/mutate/mutations.yaml',
    );
  });
});
