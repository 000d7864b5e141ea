import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { readConfig } from '#config.ts';
import { openStore } from '#state/open-store.ts';
import { end, own } from '../processes/own-process.ts';
import { freePort } from '../servers/free-port.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { packaged, packagedPath } from './packaged.ts';

type Lists = Readonly<Partial<Record<'command' | 'ports' | 'secrets' | 'volumes', readonly string[]>>>;

interface Service extends Lists, Readonly<Partial<Record<'image' | 'mem_limit', string>>> {
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly logging?: { readonly options: object };
  readonly ulimits?: { readonly nofile: number };
  readonly read_only?: boolean;
}

type Compose = { readonly services: Readonly<Record<string, Service>> };

describe('the container files', () => {
  const compose: Compose = parse(packaged('compose.yaml'), { merge: true });

  it('set valid values of existing settings', () => {
    const secrets = temporaryDirectory();
    writeFileSync(join(secrets, 'signal-secret'), 'x'.repeat(32));
    writeFileSync(join(secrets, 'redis-url'), 'rediss://:secret@redis:6379');
    writeFileSync(join(secrets, 'redis-ca'), 'PEM');
    const { environment = {}, secrets: given } = compose.services['scoring-1'] ?? {};
    const here = Object.entries(environment).map(
      ([name, value]) => [name, value.replace('/run/secrets', secrets)] as const,
    );
    const config = readConfig({ ...Object.fromEntries(here), DATA_DIR: temporaryDirectory() });
    expect(given).to.deep.equal(['signal-secret', 'redis-url', 'redis-ca', 's3-credentials']);
    expect(config.redisUrl).to.equal('rediss://:secret@redis:6379');
    expect(config.trustedProxies).to.equal(1);
    const s3 = { bucket: 'client-scoring', prefix: 'archive/', pathStyle: true };
    expect(config.archiveS3).to.deep.include(s3);
    expect(config.erasureLedger).to.equal('/ledger/erased');
  });

  it('run two nodes, Redis with our settings and a password, an S3 server, and a proxy', () => {
    expect(Object.keys(compose.services)).to.deep.equal(['scoring-1', 'scoring-2', 'redis', 's3', 'haproxy']);
    const { command, secrets } = compose.services['redis'] ?? {};
    const settings = ['/etc/redis/redis.conf', '--include', `/run/secrets/${secrets?.[0]}`];
    expect(command?.slice(1, 4)).to.deep.equal(settings);
  });

  it("open only the proxy's port for callers, on this machine", () => {
    const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => `${name} ${port}`),
    );
    expect(published).to.deep.equal(['haproxy 127.0.0.1:8080:8080']);
  });

  it('name every image by its digest, beside a version that people read', () => {
    const images = Object.values(compose.services).flatMap(({ image = '' }) =>
      image.startsWith('client-scoring') ? [] : [image],
    );
    const bases = [...packaged('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, base]) => base ?? '');
    for (const image of [...images, ...bases])
      expect(image).to.match(/:(\d+\.\d+(\.\d+)?(-\w+)?|RELEASE\.[\dTZ-]+)@sha256:[0-9a-f]{64}$/);
  });

  it('bound the logs of each, and give the proxy the descriptors of its connections', () => {
    for (const [name, { logging }] of Object.entries(compose.services))
      expect(logging?.options, name).to.include.keys('max-size', 'max-file');
    const [, maxconn] = /maxconn (\d+)/.exec(packaged('packaging/haproxy.cfg')) ?? [];
    expect(compose.services['haproxy']?.ulimits?.nofile).to.be.above(2 * Number(maxconn));
  });

  it('limit the memory of each, and restart none because the store is away', () => {
    for (const [name, { mem_limit }] of Object.entries(compose.services))
      expect(mem_limit, name).to.match(/^\d+[mg]$/);
    expect(packaged('Dockerfile')).to.match(/^HEALTHCHECK (?:.|\n)*127\.0\.0\.1:8081\/livez/m);
  });

  it('leave room for what a node starts beside itself, in memory and on the disk', () => {
    const { volumes, mem_limit, read_only } = compose.services['scoring-1'] ?? {};
    // The node, shipping with its engine, and evidence with its engine: 220 + 155 + 512 + 1024 + 512 MB.
    expect([read_only, mem_limit]).to.deep.equal([true, '3g']);
    expect(volumes).to.include('/tmp');
    const pod = packaged('packaging/kubernetes/deployment.yaml');
    expect(pod).to.match(/limits: \{ memory: 3Gi \}/);
    expect(pod).to.match(/name: scratch, mountPath: \/tmp/);
  });

  it('take the rules from the folder beside them, and share no other', () => {
    const [one, other] = ['scoring-1', 'scoring-2'].map((name) => compose.services[name]?.volumes ?? []);
    expect(one?.filter((volume) => other?.includes(volume))).to.deep.equal(['./rules:/app/rules:ro', '/tmp']);
  });

  it('copy into the image what the service needs, and run it as nobody special', () => {
    const dockerfile = packaged('Dockerfile');
    expect(dockerfile).to.include('npm ci --omit=dev --ignore-scripts');
    const { optionalDependencies }: { optionalDependencies: object } = JSON.parse(packaged('package.json'));
    const runtimes = Object.keys(optionalDependencies).map((name) => `node_modules/${name}`);
    for (const runtime of runtimes) expect(dockerfile).to.include(runtime);
    expect(dockerfile).to.match(/^USER node$/m);
    const ignored = packaged('.dockerignore').split('\n');
    for (const [, sources] of dockerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm)) {
      for (const source of (sources ?? '').split(' ')) expect(ignored).to.include(`!${source}`);
    }
  });
});

describeWithServer('redis-server', 'Redis in compose.yaml', () => {
  it('is reached by nodes, and finds itself well, with what the steps before the first start make', async () => {
    const [folder, data, port] = [temporaryDirectory(), temporaryDirectory(), await freePort()];
    const secrets = join(folder, 'secrets');
    const text = packaged('compose.yaml');
    const steps = [...text.matchAll(/^# {3}(.*\b(?:redis|openssl)\b.*)$/gm)].map(([, step]) => step);
    const here = steps
      .join('\n')
      .replace('DNS:redis', 'IP:127.0.0.1')
      .replace('@redis:6379', `@127.0.0.1:${port}`);
    execFileSync('sh', ['-ec', here], { cwd: folder, stdio: 'pipe' });
    const { services }: Compose = parse(text, { merge: true });
    const { command = [], healthcheck } = services['redis'] ?? {};
    const placed = (word: string) =>
      word
        .replaceAll('/run/secrets', secrets)
        .replace('/etc/redis/redis.conf', packagedPath('packaging/redis.conf'))
        .replace(/^\/data$/, data)
        .replace('0.0.0.0', '127.0.0.1')
        .replace(/^6379$/, String(port));
    const [program = '', ...options] = command.map(placed);
    const server = own(spawn(program, options, { stdio: 'ignore' }));
    const check = placed(healthcheck?.test[1] ?? '')
      .replaceAll('$$', '$')
      .replace('redis-cli', `redis-cli -p ${port}`);
    await until('it is well', async () => spawnSync('sh', ['-c', check]).status === 0);
    const env = { REDIS_URL_FILE: join(secrets, 'redis-url'), REDIS_CA: join(secrets, 'redis-ca') };
    const config = readConfig({ ...env, SIGNAL_SECRET: 'x'.repeat(32), DATA_DIR: data });
    const store = await openStore(config, () => {});
    expect((await store.check()).map(({ failure }) => failure)).to.deep.equal([null]);
    await store.close();
    await end(server);
  });
});

describeWithServer('redis-server', 'redis.conf', () => {
  it('is accepted by redis-server', async () => {
    const settings = packaged('packaging/redis.conf').split('\n');
    for (const line of ['appendonly yes', 'appendfsync everysec', 'maxmemory-policy noeviction']) {
      expect(settings).to.include(line);
    }
    const directory = temporaryDirectory();
    const options = ['--port', '0', '--unixsocket', join(directory, 'redis.sock'), '--dir', directory];
    const server = own(spawn('redis-server', [packagedPath('packaging/redis.conf'), ...options]));
    let said = '';
    for (const pipe of [server.stdout, server.stderr])
      pipe?.on('data', (chunk) => {
        said += chunk;
        if (said.includes('accept connections')) server.kill('SIGKILL');
      });
    await once(server, 'close');
    expect(said).to.include('Server initialized');
    expect(said).not.to.include('FATAL CONFIG FILE ERROR');
  });
});
