import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { readConfig } from '../src/config.ts';
import { describeWithServer, hasProgram } from './servers/needed-programs.ts';
import { temporaryDirectory } from './servers/temporary-directory.ts';
import { call } from './service/http-call.ts';
import { issueKey } from './service/issued-key.ts';
import { type ServiceProcess, spawnService } from './service/service-process.ts';
import { Tenant } from './service/tenant.ts';

const ROOT = join(import.meta.dirname, '..');

function text(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

interface AlertFile {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly summary: string; readonly description: string };
    }[];
  }[];
}

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly environment?: Readonly<Record<string, string>>; readonly command?: string[] }>
  >;
}

const ALERT_FILE: AlertFile = parse(text('packaging/alerts.yaml'));
const ALERTS = ALERT_FILE.groups.flatMap(({ rules }) => rules);
const DASHBOARD: Dashboard = JSON.parse(text('packaging/grafana-dashboard.json'));

/** The metrics that an expression asks for, `up` left out: Prometheus makes that one itself. */
function metricsIn(expression: string): readonly string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '').replaceAll(/\{[^}]*\}/g, '');
  return [...bare.matchAll(/\b(?:scoring|process|nodejs)_\w+/g)].map(([name]) => name);
}

/** `metric{label=` and `by (label)`: the labels that an expression asks for, but those of Prometheus. */
function labelsIn(expression: string): readonly string[] {
  const matched = [...expression.matchAll(/[{,]\s*(\w+)=~?"/g)].map(([, label]) => label ?? '');
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels]) =>
    (labels ?? '').split(',').map((label) => label.trim()),
  );
  return [...matched, ...grouped].filter((label) => !['job', 'instance'].includes(label));
}

/** What a running service shows after some traffic: the names with their labels. */
async function scrape(
  service: ServiceProcess,
  dataDir: string,
): Promise<{ names: Set<string>; labels: Set<string> }> {
  const shop = new Tenant(service, await issueKey({ dataDir }));
  await shop.score({ clientHints: { honeypotTriggered: true } });
  for (let n = 0; n < 3; n++)
    await shop.verdict({ orderRef: `order-${n}` }, { 'Idempotency-Key': 'k'.repeat(n + 1) });
  await shop.verdict({ orderRef: 'order-0' }, { 'Idempotency-Key': 'k' });
  await shop.outcome('payer-1', 'order-0', 'PAID');
  const { body } = await call<string>('GET', `${service.platformUrl}/metrics`, {});
  // A counter that has not counted yet shows its help and type only.
  const types = [...body.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  const names = types.flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  );
  const source = text('src/metrics.ts');
  const declared = [...source.matchAll(/\[((?:\s*'\w+',?)+\s*)\]/g)].flatMap(([, list]) =>
    [...(list ?? '').matchAll(/'(\w+)'/g)].map(([, label]) => label ?? ''),
  );
  return { names: new Set(names), labels: new Set([...declared, 'le']) };
}

describe('alerts and dashboard', () => {
  let service: ServiceProcess;
  let shown: { names: Set<string>; labels: Set<string> };
  before(async () => {
    const dataDir = temporaryDirectory();
    service = await spawnService(dataDir);
    shown = await scrape(service, dataDir);
  });
  after(() => service.stop());

  it('ask only for metrics that a running service shows', () => {
    const expressions = [
      ...ALERTS.map(({ alert, expr }) => ({ where: alert, expr })),
      ...DASHBOARD.panels.flatMap(({ title, targets }) =>
        targets.map(({ expr }) => ({ where: title, expr })),
      ),
    ];
    expect(expressions.length).to.be.above(25);
    const strangers = expressions.flatMap(({ where, expr }) => [
      ...metricsIn(expr)
        .filter((name) => !shown.names.has(name))
        .map((name) => `${where}: ${name}`),
      ...labelsIn(expr)
        .filter((label) => !shown.labels.has(label))
        .map((label) => `${where}: label ${label}`),
    ]);
    expect(strangers).to.deep.equal([]);
    const silent = expressions.filter(({ expr }) => metricsIn(expr).length === 0 && !/^up\{/.test(expr));
    expect(silent).to.deep.equal([]);
  });

  it('leave out no metric of the service', () => {
    const asked = new Set(
      DASHBOARD.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr))),
    );
    const own = [...shown.names].filter((name) => name.startsWith('scoring_') && !name.endsWith('_sum'));
    expect(own.filter((name) => !asked.has(name))).to.deep.equal([]);
  });

  it('see a metric that does not exist', () => {
    expect(metricsIn('sum by (le) (rate(scoring_nothing_total{operation="verdict"}[5m]))')).to.deep.equal([
      'scoring_nothing_total',
    ]);
    expect(labelsIn('sum by (le, rule) (rate(a{operation="verdict"}[5m]))')).to.deep.equal([
      'operation',
      'le',
      'rule',
    ]);
  });

  it('say what to do', () => {
    for (const { annotations } of ALERTS) {
      expect(annotations.summary).to.match(/\S/);
      expect(annotations.description).to.match(/\S.*\.$/);
    }
    expect(new Set(ALERTS.map(({ alert }) => alert)).size).to.equal(ALERTS.length);
    expect(new Set(DASHBOARD.panels.map(({ id }) => id)).size).to.equal(DASHBOARD.panels.length);
  });
});

describe('the container files', () => {
  const compose: Compose = parse(text('compose.yaml'), { merge: true });

  it('set what the service reads, to what it takes', () => {
    const { SIGNAL_SECRET_FILE, ...environment } = compose.services['scoring-1']?.environment ?? {};
    expect(SIGNAL_SECRET_FILE).to.equal('/run/secrets/signal-secret');
    const config = readConfig({ ...environment, SIGNAL_SECRET: 'secret', DATA_DIR: temporaryDirectory() });
    expect(config.redisUrl).to.equal('redis://redis:6379');
    expect(config.trustedProxies).to.equal(1);
  });

  it('run two nodes, Redis with our settings, and a proxy', () => {
    expect(Object.keys(compose.services)).to.deep.equal(['scoring-1', 'scoring-2', 'redis', 'haproxy']);
    expect(compose.services['redis']?.command).to.include('/etc/redis/redis.conf');
  });

  it('copy into the image what the service needs, and run it as nobody special', () => {
    const dockerfile = text('Dockerfile');
    expect(dockerfile).to.include('npm ci --omit=dev --ignore-scripts');
    const { optionalDependencies }: { optionalDependencies: object } = JSON.parse(text('package.json'));
    const runtimes = Object.keys(optionalDependencies).map((name) => `node_modules/${name}`);
    for (const runtime of runtimes) expect(dockerfile).to.include(runtime);
    expect(dockerfile).to.match(/^USER node$/m);
    const ignored = text('.dockerignore').split('\n');
    for (const [, sources] of dockerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm)) {
      for (const source of (sources ?? '').split(' ')) expect(ignored).to.include(`!${source}`);
    }
  });
});

describeWithServer('redis-server', 'redis.conf', () => {
  /** What redis-server says when it starts with a file of settings; it is ended after a second. */
  const startWith = (settings: string) => {
    const directory = temporaryDirectory();
    const options = ['--port', '0', '--unixsocket', join(directory, 'redis.sock'), '--dir', directory];
    const { stdout, stderr } = spawnSync('redis-server', [settings, ...options], { timeout: 1000 });
    return `${stdout}${stderr}`;
  };

  it('is taken by redis-server', () => {
    const settings = text('packaging/redis.conf').split('\n');
    for (const line of ['appendonly yes', 'appendfsync everysec', 'maxmemory-policy noeviction']) {
      expect(settings).to.include(line);
    }
    const said = startWith(join(ROOT, 'packaging/redis.conf'));
    expect(said).to.include('Server initialized');
    expect(said).not.to.include('FATAL CONFIG FILE ERROR');
  });

  it('would be refused with a setting that redis-server does not have', () => {
    const file = join(temporaryDirectory(), 'redis.conf');
    writeFileSync(file, 'appendonly sometimes\n');
    expect(startWith(file)).to.include('FATAL CONFIG FILE ERROR');
  });
});

describeWithServer('haproxy', 'haproxy.cfg', () => {
  it('is taken by haproxy', () => {
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', join(ROOT, 'packaging/haproxy.cfg')]);
    expect(status, stderr.toString()).to.equal(0);
  });

  it('would be refused with a word that haproxy does not know', () => {
    const file = join(temporaryDirectory(), 'haproxy.cfg');
    writeFileSync(file, text('packaging/haproxy.cfg').replace('balance leastconn', 'balance bestconn'));
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', file]);
    expect(status).to.equal(1);
    expect(stderr.toString()).to.include('balance only supports');
  });
});

describe('the systemd unit', () => {
  const lines = text('packaging/client-scoring.service').split('\n');
  const setting = (name: string) => lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);

  it('starts what the repository has, as a user of its own that may write only its state', () => {
    expect(setting('ExecStart')).to.equal('/opt/client-scoring/node_modules/.bin/node src/main.ts');
    expect(existsSync(join(ROOT, 'src/main.ts'))).to.equal(true);
    expect(setting('DynamicUser')).to.equal('yes');
    expect(setting('ProtectSystem')).to.equal('strict');
    expect(setting('Environment')).to.include(`DATA_DIR=/var/lib/${setting('StateDirectory')}`);
    for (const name of ['NoNewPrivileges', 'PrivateDevices', 'RestrictNamespaces', 'LockPersonality'])
      expect(setting(name), name).to.equal('yes');
  });

  it('lets a drain end before it kills', () => {
    const drainMs = Number(/DRAIN_MS = ([\d_]+)/.exec(text('src/application.ts'))?.[1]?.replace('_', ''));
    expect(Number(setting('TimeoutStopSec')) * 1000).to.be.above(drainMs);
  });
});

// Part of systemd itself: to install an init system for one figure would be too much for a machine that
// only runs tests, so REQUIRE_SERVERS does not ask for it. What the unit must say is held above.
if (hasProgram('systemd-analyze')) {
  describe('the systemd unit as systemd-analyze sees it', () => {
    it('is exposed little, as systemd-analyze sees it', () => {
      const unit = join(ROOT, 'packaging/client-scoring.service');
      const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit]);
      expect(stdout.toString()).to.match(/Overall exposure level for client-scoring\.service: [01]\.\d OK/);
    });
  });
}
