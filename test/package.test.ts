import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import packageFile from '../package.json' with { type: 'json' };
import { temporaryDirectory } from './servers/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..');

describe('the package', () => {
  let project: string;
  let files: readonly string[];
  before(() => {
    project = temporaryDirectory();
    const npm = spawnSync('npm', ['pack', '--json', '--pack-destination', project], { cwd: ROOT });
    expect(npm.status, npm.stderr.toString()).to.equal(0);
    const text = npm.stdout.toString();
    const packed: readonly [{ filename: string; files: readonly { path: string }[] }] = JSON.parse(
      text.slice(text.indexOf('[\n')),
    );
    files = packed[0].files.map(({ path }) => path);
    const modules = join(project, 'node_modules');
    const installed = join(modules, packageFile.name);
    mkdirSync(installed, { recursive: true });
    const tarball = join(project, packed[0].filename);
    expect(spawnSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]).status).to.equal(0);
    const others = readdirSync(join(ROOT, 'node_modules')).filter((name) => !name.startsWith('.'));
    for (const name of others) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  });

  /** The command as a project that installed the package runs it. */
  function scoring(node: string, ...args: readonly string[]) {
    const bin = join(project, 'node_modules', packageFile.name, packageFile.bin.scoring);
    const { status, stdout, stderr } = spawnSync(node, [bin, ...args], { cwd: project });
    return { status, stdout: stdout.toString(), stderr: stderr.toString() };
  }

  it('is not published by accident', () => {
    expect(packageFile.private).to.equal(true);
  });

  it('holds what its exports and its commands name, and no tests', () => {
    const { types, default: entry } = packageFile.exports['./client'];
    const named = [types, entry, packageFile.bin.scoring].map((path) => path.replace(/^\.\//, ''));
    expect(files).to.include.members([...named, 'src/cli/scoring.ts', 'README.md', 'LICENSE']);
    expect(files.filter((path) => /^(test|scripts|data|node_modules)\/|\.test\./.test(path))).to.deep.equal(
      [],
    );
  });

  it('brings a command that works below node_modules, where Node strips no types', () => {
    const checked = scoring(process.execPath, 'rules', 'check');
    expect(checked).to.include({ status: 0, stderr: '' });
    expect(checked.stdout).to.match(/rules\/p2\.v10: sound, \d+ rules\n/);
    const unknown = scoring(process.execPath, 'keys', 'dance');
    expect(unknown.status).to.equal(2);
  });

  it('brings the Node that its commands need to a machine that has an older one', function () {
    const system = ['/usr/bin/node', '/usr/local/bin/node'].find(
      (path) => !/^v2[6-9]\./.test(spawnSync(path, ['--version']).stdout?.toString() ?? 'v26.'),
    );
    if (system === undefined) this.skip();
    const helped = scoring(system, 'keys', 'list', '--help');
    expect(helped).to.include({ status: 0, stderr: '' });
    expect(helped.stdout).to.match(/^Usage: scoring keys list/);
  });
});
