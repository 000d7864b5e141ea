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
    expect(await lists(...add)).to.deep.include({
      exitCode: 1,
      stderr:
        'error: There is no list "blocked". A list is made first, with the kind of its entries: PUT /v1/platform/lists/blocked, or the command lists make.',
    });
    expect(await lists('make', 'blocked', ...SHOP, '--kind', 'ip')).to.deep.include({
      exitCode: 0,
      stdout: 'The list blocked is made; its entries are of kind ip.',
    });
    expect(await lists(...add)).to.deep.include({
      exitCode: 0,
      stdout: '203.0.113.0/24 is on the list blocked until it is removed.',
    });
    const shown = JSON.parse((await lists('show', 'blocked', ...SHOP, '--json')).stdout);
    expect(shown).to.have.length(1);
    expect(shown[0]).to.deep.include({ value: '203.0.113.0/24', reason: 'a ring', expiresAt: null });
    expect((await lists('show', ...SHOP)).stdout).to.match(
      /^LIST +KIND +ENTRIES[\s\S]*\nblocked +ip +1 +0 .* shop$/,
    );
    const remove = ['remove', 'blocked', '203.0.113.0/24', ...SHOP, '--reason', 'cleared'];
    expect(await lists(...remove)).to.deep.include({
      exitCode: 0,
      stdout: 'It is taken from the list blocked.',
    });
    expect(await lists(...remove)).to.deep.include({
      exitCode: 1,
      stderr: 'The list blocked has no such entry; "lists show blocked --platform shop" shows them.',
    });
  });

  it('take a file of values or of JSON lines, and name each bad line', async () => {
    const file = join(env.DATA_DIR, 'values.txt');
    writeFileSync(file, 'ann\n\n{"value":"bob","reason":"by hand"}\n{"value":"carl","kind":"ip"}\n');
    await lists('make', 'blocked', ...SHOP, '--kind', 'client');
    const { stdout, stderr, exitCode } = await lists(
      'import',
      'blocked',
      file,
      ...SHOP,
      '--reason',
      'import',
    );
    expect({ stdout, stderr, exitCode }).to.deep.equal({
      stdout: 'blocked: 2 added, 1 refused',
      stderr: 'line 4: /kind is not known; allowed: value, remove, reason, expiresAt.',
      exitCode: 1,
    });
    expect((await lists('show', 'blocked', ...SHOP)).stdout.split('\n')).to.have.length(3);
  });
});
