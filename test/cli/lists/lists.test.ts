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

  it('are made with their first entry, shown, and emptied again', async () => {
    const add = ['add', 'blocked', '203.0.113.0/24', ...SHOP, '--reason', 'a ring'];
    expect(await lists(...add)).to.deep.include({
      exitCode: 1,
      stderr:
        'error: The list blocked has no entries yet; say with the first one what it holds: kind is one of client, fingerprint, ip, method, sellPoint.',
    });
    expect(await lists(...add, '--kind', 'ip')).to.deep.include({
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
    const { stdout, stderr, exitCode } = await lists(
      'import',
      'blocked',
      file,
      ...SHOP,
      '--kind',
      'client',
      '--reason',
      'import',
    );
    expect({ stdout, stderr, exitCode }).to.deep.equal({
      stdout: 'blocked: 2 added, 1 refused',
      stderr: 'line 4: The list blocked holds entries of kind client, not ip.',
      exitCode: 1,
    });
    expect((await lists('show', 'blocked', ...SHOP)).stdout.split('\n')).to.have.length(3);
  });
});
