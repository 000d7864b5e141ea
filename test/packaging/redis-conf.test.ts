import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { packaged, packagedPath } from './packaged.ts';

describeWithServer('redis-server', 'redis.conf', () => {
  /** What redis-server says when it starts with a file of settings; it is ended after a second. */
  const startWith = (settings: string) => {
    const directory = temporaryDirectory();
    const options = ['--port', '0', '--unixsocket', join(directory, 'redis.sock'), '--dir', directory];
    const { stdout, stderr } = spawnSync('redis-server', [settings, ...options], { timeout: 1000 });
    return `${stdout}${stderr}`;
  };

  it('is taken by redis-server', () => {
    const settings = packaged('packaging/redis.conf').split('\n');
    for (const line of ['appendonly yes', 'appendfsync everysec', 'maxmemory-policy noeviction']) {
      expect(settings).to.include(line);
    }
    const said = startWith(packagedPath('packaging/redis.conf'));
    expect(said).to.include('Server initialized');
    expect(said).not.to.include('FATAL CONFIG FILE ERROR');
  });

  it('would be refused with a setting that redis-server does not have', () => {
    const file = join(temporaryDirectory(), 'redis.conf');
    writeFileSync(file, 'appendonly sometimes\n');
    expect(startWith(file)).to.include('FATAL CONFIG FILE ERROR');
  });
});
