import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import packageFile from '../package.json' with { type: 'json' };
import { temporaryDirectory } from './servers/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..');

describe('the package of the service', () => {
  it('is not published by accident', () => {
    expect(packageFile.private).to.equal(true);
  });
});

describe('the command scoring', () => {
  const scoring = (node: string, ...args: readonly string[]) => {
    const command = join(ROOT, 'bin', 'scoring.js');
    return spawnSync(node, [command, ...args], { cwd: temporaryDirectory(), encoding: 'utf8' });
  };

  it('works from any folder, with the exit codes of its commands', () => {
    expect(scoring(process.execPath, 'keys', '--help')).to.include({ status: 0, stderr: '' });
    expect(scoring(process.execPath, 'keys', 'dance').status).to.equal(2);
  });

  const system = ['/usr/bin/node', '/usr/local/bin/node'].find(
    (path) => !/^v2[6-9]\./.test(spawnSync(path, ['--version']).stdout?.toString() ?? 'v26.'),
  );

  it('says which Node it needs on a machine with only an older one', function () {
    if (system === undefined) this.skip();
    const alone = temporaryDirectory();
    for (const file of ['package.json', 'bin/scoring.js']) cpSync(join(ROOT, file), join(alone, file));
    const { status, stderr } = spawnSync(system, [join(alone, 'bin/scoring.js')], { encoding: 'utf8' });
    expect(stderr).to.match(/^error: Node 26 or newer is needed; this is v[\d.]+\.\nInstall it, or install/);
    expect(status).to.equal(3);
  });

  it('uses the Node from the packages on a machine with an older one', function () {
    if (system === undefined) this.skip();
    const helped = scoring(system, 'keys', 'list', '--help');
    expect(helped).to.include({ status: 0, stderr: '' });
    expect(helped.stdout).to.match(/^Usage: scoring keys list/);
  });
});
