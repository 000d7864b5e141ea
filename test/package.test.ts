import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import packageFile from '../package.json' with { type: 'json' };
import { temporaryDirectory } from './servers/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..');
const NO_PACKAGE = 'client-scoring-service is a service, no package for a project.';

describe('the package of the service', () => {
  it('is not published by accident', () => {
    expect(packageFile.private).to.equal(true);
  });

  it('is not packed, and says how to get the client', () => {
    const { status, stderr } = spawnSync('npm', ['pack', '--dry-run'], { cwd: ROOT, encoding: 'utf8' });
    expect(status).to.not.equal(0);
    expect(stderr).to.include(NO_PACKAGE);
  });

  it('is not installed into a project, and says how to get the client', () => {
    const service = join(temporaryDirectory(), 'service');
    const project = temporaryDirectory();
    mkdirSync(service);
    const { name, version, scripts } = packageFile;
    writeFileSync(join(service, 'package.json'), JSON.stringify({ name, version, scripts }));
    writeFileSync(join(project, 'package.json'), '{"name":"shop","version":"1.0.0"}');
    const options = ['--offline', '--no-audit', '--no-fund', '--loglevel=error'];
    const installed = spawnSync('npm', ['install', ...options, service], { cwd: project, encoding: 'utf8' });
    expect(installed.status).to.not.equal(0);
    expect(installed.stderr).to.include(NO_PACKAGE);
    const own = spawnSync('npm', ['install', ...options], { cwd: service, encoding: 'utf8' });
    expect(own.status, own.stderr).to.equal(0);
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
