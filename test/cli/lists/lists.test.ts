import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { scoring } from '../scoring.ts';

const SHOP = ['--platform', 'shop'];

describe('lists', () => {
  let env: { DATA_DIR: string };
  beforeEach(() => {
    env = { DATA_DIR: temporaryDirectory() };
  });

  const lists = async (...args: string[]) => {
    const { stdout, stderr, exitCode } = await scoring(['lists', ...args], env);
    return { stdout: stdout.trim(), stderr: stderr.trim().split('\n').at(-1), exitCode };
  };

  it('are made, filled, shown, and emptied again', async () => {
    const add = ['add', 'blocked', '203.0.113.0/24', ...SHOP, '--reason', 'a ring'];
    const says = async (args: readonly string[], exitCode: number, text: string) => {
      const told = await lists(...args);
      expect([told.exitCode, told.stdout || told.stderr]).to.deep.equal([exitCode, text]);
    };
    await says(
      add,
      1,
      'error: There is no list "blocked". A list is made first, with the kind of its entries: PUT /v1/platform/lists/blocked, or the command lists make.',
    );
    const make = ['make', 'blocked', ...SHOP, '--kind', 'ip'];
    await says(make, 0, 'The list blocked is made; its entries are of kind ip.');
    await says(add, 0, '203.0.113.0/24 is on the list blocked until it is removed.');
    const shown = JSON.parse((await lists('show', 'blocked', ...SHOP, '--json')).stdout);
    expect(shown).to.have.length(1);
    expect(shown[0]).to.deep.include({ value: '203.0.113.0/24', reason: 'a ring', expiresAt: null });
    expect((await lists('show', ...SHOP)).stdout).to.match(
      /^LIST +KIND +ENTRIES[\s\S]*\nblocked +ip +1 +0 .* shop$/,
    );
    const remove = ['remove', 'blocked', '203.0.113.0/24', ...SHOP, '--reason', 'cleared'];
    await says(remove, 0, 'It is taken from the list blocked.');
    const gone = 'The list blocked has no such entry; "lists show blocked --platform shop" shows them.';
    await says(remove, 1, gone);
  });

  it('take a file of values or of JSON lines, and name each bad line', async () => {
    const file = join(env.DATA_DIR, 'values.txt');
    writeFileSync(file, 'ann\n\n{"value":"bob","reason":"by hand"}\n{"value":"carl","kind":"ip"}\n');
    await lists('make', 'blocked', ...SHOP, '--kind', 'client');
    expect(await lists('import', 'blocked', file, ...SHOP, '--reason', 'import')).to.deep.equal({
      stdout: 'blocked: 2 added, 1 refused',
      stderr: 'line 4: /kind is not known; allowed: value, remove, reason, expiresAt.',
      exitCode: 1,
    });
    expect((await lists('show', 'blocked', ...SHOP)).stdout.split('\n')).to.have.length(3);
  });
});
