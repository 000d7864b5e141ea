import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { own } from '../processes/own-process.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { packaged, packagedPath } from './packaged.ts';

describeWithServer('redis-server', 'redis.conf', () => {
  /** What redis-server says when it starts with a file of settings, until it takes connections or gives up. */
  const startWith = async (settings: string) => {
    const directory = temporaryDirectory();
    const options = ['--port', '0', '--unixsocket', join(directory, 'redis.sock'), '--dir', directory];
    const server = own(spawn('redis-server', [settings, ...options], { stdio: ['ignore', 'pipe', 'pipe'] }));
    let said = '';
    for (const pipe of [server.stdout, server.stderr])
      pipe.on('data', (chunk) => {
        said += chunk;
        if (said.includes('accept connections')) server.kill('SIGKILL');
      });
    await once(server, 'close');
    return said;
  };

  it('is accepted by redis-server', async () => {
    const settings = packaged('packaging/redis.conf').split('\n');
    for (const line of ['appendonly yes', 'appendfsync everysec', 'maxmemory-policy noeviction']) {
      expect(settings).to.include(line);
    }
    const said = await startWith(packagedPath('packaging/redis.conf'));
    expect(said).to.include('Server initialized');
    expect(said).not.to.include('FATAL CONFIG FILE ERROR');
  });

  it('would be refused with an unknown setting', async () => {
    const file = join(temporaryDirectory(), 'redis.conf');
    writeFileSync(file, 'appendonly sometimes\n');
    expect(await startWith(file)).to.include('FATAL CONFIG FILE ERROR');
  });
});
