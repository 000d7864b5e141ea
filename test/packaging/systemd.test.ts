import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { hasProgram } from '../servers/needed-programs.ts';
import { packaged, packagedPath } from './packaged.ts';

describe('the systemd unit', () => {
  const lines = packaged('packaging/client-scoring.service').split('\n');
  const setting = (name: string) => lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);

  it('starts what the repository has, as a user of its own that may write only its state', () => {
    expect(setting('ExecStart')).to.equal('/opt/client-scoring/node_modules/.bin/node src/main.ts');
    expect(existsSync(packagedPath('src/main.ts'))).to.equal(true);
    expect(setting('DynamicUser')).to.equal('yes');
    expect(setting('ProtectSystem')).to.equal('strict');
    expect(setting('Environment')).to.include(`DATA_DIR=/var/lib/${setting('StateDirectory')}`);
    for (const name of ['NoNewPrivileges', 'PrivateDevices', 'RestrictNamespaces', 'LockPersonality'])
      expect(setting(name), name).to.equal('yes');
  });

  it('lets a drain end before it kills', () => {
    const drainMs = Number(/DRAIN_MS = ([\d_]+)/.exec(packaged('src/application.ts'))?.[1]?.replace('_', ''));
    expect(Number(setting('TimeoutStopSec')) * 1000).to.be.above(drainMs);
  });
});

// Part of systemd itself: to install an init system for one figure would be too much for a machine that
// only runs tests, so REQUIRE_SERVERS does not ask for it. What the unit must say is held above.
if (hasProgram('systemd-analyze')) {
  describe('the systemd unit as systemd-analyze sees it', () => {
    it('is exposed little, as systemd-analyze sees it', () => {
      const unit = packagedPath('packaging/client-scoring.service');
      const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit]);
      expect(stdout.toString()).to.match(/Overall exposure level for client-scoring\.service: [01]\.\d OK/);
    });
  });
}
