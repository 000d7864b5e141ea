import { spawnSync } from 'node:child_process';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readConfig } from '#config.ts';
import { hasProgram } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { packaged, packagedPath } from './packaged.ts';

describe('the systemd unit', () => {
  const lines = packaged('packaging/client-scoring.service').split('\n');
  const settings = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
  const setting = (name: string) => settings(name)[0];

  it('starts files that the repository has, as a user of its own that may write only its state', () => {
    expect(setting('ExecStart')).to.equal('/opt/client-scoring/node_modules/.bin/node src/main.ts');
    expect(existsSync(packagedPath('src/main.ts'))).to.equal(true);
    expect(setting('DynamicUser')).to.equal('yes');
    expect(setting('ProtectSystem')).to.equal('strict');
    expect(settings('Environment').join(' ')).to.include(`DATA_DIR=/var/lib/${setting('StateDirectory')}/`);
    for (const name of ['NoNewPrivileges', 'PrivateDevices', 'RestrictNamespaces', 'LockPersonality'])
      expect(setting(name), name).to.equal('yes');
  });

  it('lets a drain end before it kills', () => {
    const drainMs = Number(
      /DRAIN_MS = ([\d_]+)/.exec(packaged('src/checkout/http/server/listener.ts'))?.[1]?.replace('_', ''),
    );
    const { drainGraceMs } = readConfig({ SIGNAL_SECRET: 'x'.repeat(32), DATA_DIR: temporaryDirectory() });
    expect(Number(setting('TimeoutStopSec')) * 1000).to.be.above(drainGraceMs + drainMs);
  });

  it('starts when the clock is right', () => {
    expect(setting('After')?.split(' ')).to.include('time-sync.target');
  });

  it('never gives up starting while the store is away', () => {
    expect(setting('StartLimitIntervalSec')).to.equal('0');
    expect(setting('Restart')).to.equal('on-failure');
  });

  it('is the unit of one process, and of each of several by its port', () => {
    const environment = (instance: string) =>
      Object.fromEntries(
        settings('Environment')
          .flatMap((line) => line.replaceAll('%i', instance).split(' '))
          .map((pair) => pair.split('=')),
      );
    const config = (instance: string) => {
      const { SIGNAL_SECRET_FILE, ...env } = environment(instance);
      expect(SIGNAL_SECRET_FILE).to.equal('%d/signal-secret');
      return readConfig({ ...env, SIGNAL_SECRET: 'x'.repeat(32) });
    };
    expect(config('').caller.port).to.equal(8080);
    expect(config('').dataDir).to.equal('/var/lib/client-scoring');
    expect(config('8090').caller.port).to.equal(8090);
    expect(config('8090').dataDir).to.equal('/var/lib/client-scoring/8090');
    expect(config('8090').archiveDir).to.equal(config('').archiveDir);
    expect(settings('EnvironmentFile')).to.deep.equal([
      '-/etc/client-scoring/environment',
      '-/etc/client-scoring/%i.environment',
    ]);
  });
});

// Part of systemd itself: to install an init system for one figure would be too much for a machine that
// only runs tests, so REQUIRE_SERVERS does not ask for it. What the unit must say is held above.
if (hasProgram('systemd-analyze')) {
  describe('the systemd unit as systemd-analyze sees it', () => {
    const unit = packagedPath('packaging/client-scoring.service');

    it('is exposed little', () => {
      const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit]);
      expect(stdout.toString()).to.match(/Overall exposure level for client-scoring\.service: [01]\.\d OK/);
    });

    for (const name of ['client-scoring.service', 'client-scoring@8080.service']) {
      it(`is sound as ${name}`, () => {
        const directory = temporaryDirectory();
        // A unit writes a path with spaces otherwise.
        const root = join(directory, 'root');
        symlinkSync(packagedPath(''), root);
        const installed = packaged('packaging/client-scoring.service').replaceAll(
          '/opt/client-scoring',
          root,
        );
        writeFileSync(join(directory, name.replace('8080', '')), installed);
        const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(directory, name)]);
        expect(stderr.toString()).to.equal('');
        expect(status).to.equal(0);
      });
    }
  });
}
