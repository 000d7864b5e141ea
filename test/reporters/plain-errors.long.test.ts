import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { runNode } from '../processes/node-process.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const MOCHA = join(import.meta.dirname, '..', '..', 'node_modules', 'mocha', 'bin', 'mocha.js');

const COMPARES_BIGINTS = `
  describe('a balance', () => {
    it('is paid', () => {
      throw Object.assign(new Error('still owed'), { actual: 5n, expected: { owed: 0n } });
    });
    it('has a currency', () => {});
    it('is refused by JSON', () => {
      try { JSON.stringify(1n); } catch (error) { return; }
      throw new Error('JSON took it');
    });
  });`;

describe('a test that compares bigints', () => {
  it('says what it compared, and takes nothing else of its file with it', async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'balance.cjs'), COMPARES_BIGINTS);
    const options = ['--no-config', '--parallel', '--jobs', '2', '--exit', '--require'];
    const { stdout } = await runNode(
      [MOCHA, ...options, join(import.meta.dirname, 'plain-errors.ts'), 'balance.cjs'],
      { env: {}, cwd },
    );
    const lines = stdout.split('\n');
    expect(
      lines.filter((line) => /^ {2}\d (passing|failing)/.test(line)).map((line) => line.slice(0, 11)),
    ).to.deep.equal(['  2 passing', '  1 failing']);
    expect(stdout).to.include('Error: still owed');
  });
});
