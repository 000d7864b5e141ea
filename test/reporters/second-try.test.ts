import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { runNode } from '../processes/node-process.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MOCHA = join(ROOT, 'node_modules', 'mocha', 'bin', 'mocha.js');
const AS_IN_CI = ['--retries', '1', '--reporter', join(import.meta.dirname, 'second-try.ts')];

/** What mocha prints about files with these contents, with its own processes for them. */
async function run(options: readonly string[], ...files: readonly string[]) {
  const cwd = temporaryDirectory();
  const names = files.map((_, number) => `${number}.cjs`);
  for (const [number, text] of files.entries()) writeFileSync(join(cwd, `${number}.cjs`), text);
  const parallel = ['--no-config', '--parallel', '--jobs', '2', '--exit'];
  const { exitCode, stdout } = await runNode([MOCHA, ...parallel, ...options, ...names], { env: {}, cwd });
  return { exitCode, lines: stdout.split('\n') };
}

const FAILS_ONCE = `
  let tries = 0;
  describe('a queue', () => {
    it('is empty at first', () => {
      if (++tries === 1) throw new Error('the clock stood still\\nfor long');
    });
  });`;

describe('a test that fails in CI', () => {
  it('passes at its second try, counts once, and is named at the end with what it failed with', async () => {
    const { exitCode, lines } = await run(
      AS_IN_CI,
      FAILS_ONCE,
      `describe('a list', () => it('has an end', () => {}));`,
    );
    expect(exitCode).to.equal(0);
    expect(
      lines.filter((line) => /\d+ (passing|failing)/.test(line)).map((line) => line.slice(0, 11)),
    ).to.deep.equal(['  2 passing']);
    const told = lines.indexOf('Unsteady: passed only at the second try');
    expect(lines.slice(told)).to.deep.equal([
      'Unsteady: passed only at the second try',
      '  - a queue is empty at first (0.cjs)',
      '      first try: the clock stood still',
      '',
      '',
    ]);
  });

  it('fails when it fails again, and is no unsteady one', async () => {
    const { exitCode, lines } = await run(
      AS_IN_CI,
      `describe('a queue', () => it('is full', () => { throw new Error('it never is'); }));`,
    );
    expect(exitCode).to.equal(1);
    expect(lines).to.include('  1 failing');
    expect(lines.join()).not.to.include('Unsteady');
  });
});

describe('a test that compares bigints', () => {
  it('says what it compared, and takes nothing else of its file with it', async () => {
    const { lines } = await run(
      ['--require', join(import.meta.dirname, 'plain-errors.ts')],
      `describe('a balance', () => {
        it('is paid', () => {
          throw Object.assign(new Error('still owed'), { actual: 5n, expected: { owed: 0n } });
        });
        it('has a currency', () => {});
        it('is refused by JSON', () => {
          try { JSON.stringify(1n); } catch (error) { return; }
          throw new Error('JSON took it');
        });
      });`,
    );
    expect(
      lines.filter((line) => /^ {2}\d (passing|failing)/.test(line)).map((line) => line.slice(0, 11)),
    ).to.deep.equal(['  2 passing', '  1 failing']);
    expect(lines.join('\n')).to.include('Error: still owed');
  });
});
