import { expect } from 'chai';
import { parse } from 'yaml';
import { readConfig } from '../../src/config.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { packaged } from './packaged.ts';

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly environment?: Readonly<Record<string, string>>;
        readonly command?: string[];
        readonly volumes?: readonly string[];
        readonly mem_limit?: string;
        readonly read_only?: boolean;
      }
    >
  >;
}

describe('the container files', () => {
  const compose: Compose = parse(packaged('compose.yaml'), { merge: true });

  it('set what the service reads, to what it takes', () => {
    const { SIGNAL_SECRET_FILE, ...environment } = compose.services['scoring-1']?.environment ?? {};
    expect(SIGNAL_SECRET_FILE).to.equal('/run/secrets/signal-secret');
    const config = readConfig({
      ...environment,
      SIGNAL_SECRET: 'x'.repeat(32),
      DATA_DIR: temporaryDirectory(),
    });
    expect(config.redisUrl).to.equal('redis://redis:6379');
    expect(config.trustedProxies).to.equal(1);
  });

  it('run two nodes, Redis with our settings, and a proxy', () => {
    expect(Object.keys(compose.services)).to.deep.equal(['scoring-1', 'scoring-2', 'redis', 'haproxy']);
    expect(compose.services['redis']?.command).to.include('/etc/redis/redis.conf');
  });

  it('bound the memory of each, and let none be restarted because the store is away', () => {
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

  it('take the rules from the folder beside them, and archive to one folder', () => {
    for (const name of ['scoring-1', 'scoring-2']) {
      const { volumes, environment } = compose.services[name] ?? {};
      expect(volumes).to.include('./rules:/app/rules:ro');
      expect(volumes).to.include(`archive:${environment?.['ARCHIVE_DIR']}`);
    }
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
