import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { PLATFORM_OPERATIONS } from '#workbench/platform/platform-operations.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { scoring } from './scoring.ts';

const { always, withRollout, withEvidence, withRuleFolders } = PLATFORM_OPERATIONS;
const SPECS = [...always, ...withRollout, ...withEvidence, ...withRuleFolders].flatMap(
  ({ command }) => command ?? [],
);

const SHOP = ['--platform', 'shop'];

/** All commands, by their words, as the help names them. */
async function listCommands(above = ''): Promise<readonly string[]> {
  const { stdout } = await scoring([...above.split(' '), '--help'].filter(Boolean), {});
  const [, listed = ''] = stdout.split(/^Commands:$/m);
  const names = [...listed.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => `${above} ${name}`.trim());
  const own = names.filter((name) => !name.endsWith('help'));
  const below = await Promise.all(own.map((name) => listCommands(name)));
  return [...own, ...below.flat()];
}

describe('a command that runs an operation of the platform', () => {
  for (const { name, words = [] } of new Map(SPECS.map((spec) => [spec.name, spec])).values()) {
    it(`is called "${name}", has --json, and its help fits 100 columns`, async () => {
      const { stdout, exitCode } = await scoring([...name.split(' '), '--help'], {});
      expect(exitCode).to.equal(0);
      const lines = stdout.split('\n');
      expect(lines[0]).to.match(new RegExp(`^Usage: scoring ${name} .*\\[options\\]`));
      expect(lines[0]?.match(/(<\w+>|\[\w+\])(?= |$)/g)?.length ?? 0).to.be.at.least(words.length);
      expect(lines.filter((line) => /^ {2}--json /.test(line))).to.have.length(1);
      const plain = lines.slice(1).filter((line) => line.length > 100);
      expect(plain).to.deep.equal([]);
    });
  }

  it('says of each option what it is', async () => {
    for (const name of ['', ...(await listCommands())]) {
      const { stdout } = await scoring([...name.split(' '), '--help'].filter(Boolean), {});
      const [, options = ''] = stdout.split(/^Options:$/m);
      // A description begins beside its option, or stands below an option that is too long.
      const silent = options.split('\n').filter((line, at, all) => {
        const isBelow = /^ {8}/.test(all[at + 1] ?? '');
        return /^ {2}-/.test(line) && !/^ {2}-.*? {2,}\S/.test(line) && !isBelow;
      });
      expect(silent, name).to.deep.equal([]);
    }
  });

  it('makes no secret and registers no node', async () => {
    const dataDir = temporaryDirectory();
    await scoring(['keys', 'issue', ...SHOP, '--operations', 'score'], { DATA_DIR: dataDir });
    await scoring(['keys', 'list'], { DATA_DIR: dataDir });
    expect(readdirSync(dataDir).filter((name) => !name.startsWith('scoring.sqlite'))).to.deep.equal([]);
    const store = openSqliteStore(dataDir);
    expect(await new Fleet(store).listNodes()).to.deep.equal([]);
    await store.close();
  });

  it('shows a list whole that the interface answers in pages', async () => {
    const folder = temporaryDirectory();
    const env = { DATA_DIR: folder };
    const file = join(folder, 'values.txt');
    writeFileSync(file, Array.from({ length: 1_101 }, (_, index) => `payer-${index}`).join('\n'));
    await scoring(['lists', 'make', 'many', '--kind', 'client', ...SHOP], env);
    await scoring(['lists', 'import', 'many', file, '--reason', 'a test', ...SHOP], env);
    const { stdout } = await scoring(['lists', 'show', 'many', '--json', ...SHOP], env);
    const shown: readonly { readonly value: string }[] = JSON.parse(stdout);
    expect(new Set(shown.map(({ value }) => value)).size).to.equal(1_101);
  });

  it('names the option where the interface names a parameter or a member', async () => {
    const env = { DATA_DIR: temporaryDirectory() };
    await scoring(['lists', 'make', 'some', '--kind', 'client', ...SHOP], env);
    const add = ['lists', 'add', 'some', 'ann', ...SHOP, '--reason', 'r', '--expires'];
    const { stderr, exitCode } = await scoring([...add, 'soon'], env);
    expect([exitCode, stderr.split('\n')[0]]).to.deep.equal([
      2,
      'error: --expires must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d, not "soon"',
    ]);
    const long = await scoring(['lists', 'show', 'some', ...SHOP, '--value', 'x'.repeat(257)], env);
    expect([long.exitCode, long.stderr.split('\n')[0]]).to.deep.equal([
      2,
      'error: --value must have 1 to 256 characters of well-formed Unicode.',
    ]);
  });
});
