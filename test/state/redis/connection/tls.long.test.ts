import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { RedisSecurity } from '#state/redis/connection/url.ts';
import { openRedisStore } from '#state/redis/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { end, own } from '../../../processes/own-process.ts';
import { type Authority, makeAuthority } from '../../../servers/certificates.ts';
import { freePort } from '../../../servers/free-port.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { assignSlots } from '../../../servers/redis.ts';
import { accepts, command } from '../../../servers/redis-command.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { until } from '../../../servers/until.ts';
import { newClient, verdict } from '../../clients.ts';

const IGNORED = () => {
  // A failed call reports it.
};

describeWithServer('redis-server', 'Redis behind TLS', () => {
  let authority: Authority;
  let clientCertificate: Pick<RedisSecurity, 'cert' | 'key'>;
  let secureOptions: readonly string[];
  const processes: ChildProcess[] = [];

  const start = (...args: readonly string[]) => {
    const directory = temporaryDirectory();
    processes.push(own(spawn('redis-server', [...args, '--dir', directory], { stdio: 'ignore' })));
  };
  /** The error when a store is opened; null without one. */
  const failure = async (url: string, security: RedisSecurity): Promise<string | null> => {
    try {
      const store = await openRedisStore(url, IGNORED, { security });
      expect(await store.registers.read('nothing')).to.equal(null);
      await store.close();
      return null;
    } catch (error) {
      if (error instanceof StoreUnavailable) return error.message;
      throw error;
    }
  };
  const trusting = (): RedisSecurity => ({ ca: authority.ca, ...clientCertificate });

  before(() => {
    authority = makeAuthority();
    const server = authority.issue('redis');
    const client = authority.issue('client');
    clientCertificate = {
      cert: readFileSync(client.certificateFile, 'utf8'),
      key: readFileSync(client.keyFile, 'utf8'),
    };
    // By default Redis asks clients for a certificate.
    secureOptions = [
      '--port',
      '0',
      '--bind',
      '127.0.0.1',
      '--tls-replication',
      'yes',
      '--tls-cert-file',
      server.certificateFile,
      '--tls-key-file',
      server.keyFile,
      '--tls-ca-cert-file',
      authority.caFile,
    ];
  });
  after(() => Promise.all(processes.map((each) => end(each))));

  it('is used with its authority and a client certificate, and refuses clients without either', async () => {
    const port = await freePort();
    start('--tls-port', String(port), '--requirepass', 'secret', ...secureOptions);
    const url = `rediss://:secret@127.0.0.1:${port}`;
    await until('Redis answers', async () => (await failure(url, trusting())) === null);
    expect(await failure(url, clientCertificate)).to.match(
      /^Redis at 127\.0\.0\.1:\d+ cannot be reached: .*certificate/,
    );
    expect(await failure(url, { ca: authority.ca })).to.match(
      /^Redis at 127\.0\.0\.1:\d+ cannot be reached: /,
    );
    expect(await failure(`rediss://:wrong@127.0.0.1:${port}`, trusting())).to.match(/WRONGPASS/);
    expect(await failure(`redis://:secret@127.0.0.1:${port}`, {})).to.match(/cannot be reached/);
  });

  it('is used as a Cluster, whose masters announce each other by their TLS ports', async () => {
    const masters = await Promise.all(
      [0, 1, 2].map(async () => ({
        port: await freePort(),
        secure: await freePort(),
        bus: await freePort(),
      })),
    );
    for (const { port, secure, bus } of masters) {
      const listening = ['--tls-port', String(secure), ...secureOptions, '--port', String(port)];
      start(...listening, '--cluster-enabled', 'yes', '--tls-cluster', 'yes', '--cluster-port', String(bus));
      await until('a master answers', () => accepts(port, ['PING']));
    }
    await assignSlots(masters.map(({ port }) => port));
    const [first] = masters;
    for (const { secure, bus } of masters.slice(1))
      await command(first?.port ?? 0, ['CLUSTER', 'MEET', '127.0.0.1', String(secure), String(bus)]);
    for (const { port } of masters)
      await until('all masters know each other', async () =>
        String(await command(port, ['CLUSTER', 'INFO'])).includes('cluster_state:ok'),
      );
    const url = masters.map(({ secure }) => `rediss://127.0.0.1:${secure}`).join(',');
    const store = await openRedisStore(url, IGNORED, { security: trusting() });
    for (let count = 0; count < 30; count++) await verdict(store, newClient(), 'order-1');
    await store.close();
    const keys = await Promise.all(masters.map(({ port }) => command(port, ['DBSIZE'])));
    expect(keys.every((held) => Number(held) > 0)).to.equal(true);
    expect(await failure(url, clientCertificate)).to.match(/cannot be reached/);
    expect(await failure(url, { ca: authority.ca })).to.match(/cannot be reached/);
  });

  it('is found by Sentinels that have a password of their own', async () => {
    const [port, sentinelPort] = [await freePort(), await freePort()];
    start('--tls-port', String(port), '--requirepass', 'secret', ...secureOptions);
    const config = join(temporaryDirectory(), 'sentinel.conf');
    const lines = [
      `sentinel monitor scoring 127.0.0.1 ${port} 1`,
      'sentinel auth-pass scoring secret',
      'requirepass watch',
    ];
    writeFileSync(config, `${lines.join('\n')}\n`);
    start(config, '--sentinel', '--tls-port', String(sentinelPort), ...secureOptions);
    const url = `rediss-sentinel://:secret@127.0.0.1:${sentinelPort}/scoring`;
    const security = { ...trusting(), sentinelPassword: 'watch' };
    await until('a Sentinel names the master', async () => (await failure(url, security)) === null);
    expect(await failure(url, { ...security, sentinelPassword: 'wrong' })).to.match(
      /^Redis scoring behind Sentinel at 127\.0\.0\.1:\d+ cannot be reached/,
    );
  });
});
