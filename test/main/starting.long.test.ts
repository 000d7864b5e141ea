import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { type OpenStoreOptions, openStore } from '#state/open-store.ts';
import { freePort } from '../servers/free-port.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { startStandalone } from '../servers/redis.ts';
import { MEMORY_ONLY } from '../servers/redis-process.ts';
import { askUnlessStandstill } from '../servers/standstill.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { RULES_FOLDER } from '../service/current-rules.ts';
import { call } from '../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../service/key-lifetime.ts';
import { SIGNAL_SECRET } from '../service/running-service.ts';
import { beginService, runService, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { describeOnSharedStates } from '../stores/shared-state.ts';
import { scoring } from '../workbench/commands/scoring.ts';

const STARTED =
  /^Client Scoring Service: callers http:\/\/127\.0\.0\.1:\d+, platform http:\/\/127\.0\.0\.1:\d+, store sqlite \/\S+\/scoring\.sqlite, rules p2\.v10 sha256:[0-9a-f]{64}\n/;

const DEMO_KEY = /ka_[0-9a-f]{12}_[A-Za-z0-9_-]{43}/;

/** A folder of rule sets with a copy of the current one, for tests to break. */
function copiedRules(): string {
  const rulesDir = temporaryDirectory();
  cpSync(RULES_FOLDER, join(rulesDir, 'p2.v10'), { recursive: true });
  return rulesDir;
}

describeWithServer('redis-server', 'starting on a shared store', () => {
  /** For Linux an address of this machine, for the service any other address. */
  const shared = (url: string) => url.replace('127.0.0.1', '0.0.0.0');
  const output = async (env: Readonly<Record<string, string>>) => {
    const service = await spawnService(temporaryDirectory(), { SIGNAL_SECRET: 's'.repeat(32), ...env });
    const said = () => service.stdout() + service.stderr();
    await until('it has said all', async () => /[Tt]here (is|was) no access key/.test(said()));
    await service.stop();
    return said();
  };

  it('shows no demo key where others reach the service, and says how to issue one', async () => {
    const redis = await startStandalone();
    const told = await output({ HOST: '0.0.0.0', REDIS_URL: shared(redis.url) });
    expect(told).not.to.match(DEMO_KEY);
    expect(told).to.include(
      'there is no access key yet; issue one: npm run -s scoring -- keys issue --platform NAME --operations score,verdict',
    );
    const inProduction = { HOST: '127.0.0.1', NODE_ENV: 'production' };
    expect(await output(inProduction), 'logs of production are kept').not.to.match(DEMO_KEY);
    // No key was issued silently either: a service for this machine alone still finds none.
    expect(await output({ HOST: '127.0.0.1', REDIS_URL: shared(redis.url) })).to.match(DEMO_KEY);
    await redis.stop();
  });
});

describeOnSharedStates('starting with an unreadable access key', (share) => {
  it('serves all the same, and says so in the log', async () => {
    const { dataDir, env, key } = await share();
    await damageOneKey({ dataDir, redisUrl: env['REDIS_URL'] ?? null });
    const service = await spawnService(dataDir, env);
    const said = 'could not look up whether there is an access key';
    await until('it says so', async () => service.stderr().includes(said));
    const { status } = await askUnlessStandstill(() => new Tenant(service, key).score());
    expect(status).to.equal(200);
    expect(service.stdout()).not.to.match(DEMO_KEY);
    expect(await service.stop()).to.equal(0);
  });
});

/** The id of an unused key. */
async function damageOneKey(place: OpenStoreOptions): Promise<void> {
  const patience = { limitMs: 10_000, onLongWait: () => {} };
  const store = await openStore({ ...place, patience }, () => {});
  const { record } = await new AccessKeys(store.documents, Date.now).issue(
    toPlatformName('other'),
    ['score'],
    KEY_LIFETIME_MS,
  );
  const document = { kind: 'document', name: `access-keys/${record.id}` } as const;
  const found = await store.texts.read(document);
  expect(await store.texts.replace(document, found?.stamp ?? '', '{"value":')).to.equal(true);
  await store.close();
}

describe('starting the service', () => {
  it('says on one line what is running, and shows a demo key on the first start only', async () => {
    const dataDir = temporaryDirectory();
    const first = await spawnService(dataDir);
    await until('the calls to try are printed', async () => first.stdout().includes('order-1'));
    expect(first.stdout()).to.match(STARTED);
    expect(first.stdout()).to.include(
      'There was no access key yet, so one was issued for the platform "demo". It is shown only now:',
    );
    const key = DEMO_KEY.exec(first.stdout())?.[0] ?? '';
    const demo = new Tenant(first, key);
    expect((await demo.score()).status).to.equal(200);
    expect((await demo.verdict()).body.ruleVersion).to.equal('p2.v10');
    // It signs in to the console, where the printed address leads; it may change nothing.
    expect(first.stdout()).to.include(`See why it was answered so at ${first.platformUrl}/#/find`);
    expect((await demo.ask('GET', 'session')).status).to.equal(200);
    expect((await demo.ask('GET', 'decisions')).status).to.equal(200);
    expect((await demo.ask('GET', 'lists')).status).to.equal(403);
    expect(await first.stop()).to.equal(0);

    const second = await spawnService(dataDir);
    expect((await new Tenant(second, key).verdict()).body.verdict).to.equal('WAIT');
    expect(await second.stop()).to.equal(0);
    expect(second.stdout()).to.match(STARTED);
    expect(second.stdout()).not.to.match(DEMO_KEY);
  });

  it('shows no demo key in a store that came back empty and was accepted', async () => {
    const dataDir = temporaryDirectory();
    const env = { ARCHIVE_DIR: 'off' };
    await (await spawnService(dataDir, env)).stop();
    for (const end of ['', '-wal', '-shm']) rmSync(join(dataDir, `scoring.sqlite${end}`), { force: true });
    const refused = await runService(dataDir, env);
    expect(refused.exitCode).to.equal(3);
    expect(refused.stderr).to.include('Cannot start: the store sqlite');
    const accept = ['state', 'accept-empty', '--reason', 'the disk was lost'];
    expect((await scoring(accept, { ...env, DATA_DIR: dataDir })).exitCode).to.equal(0);
    const service = await spawnService(dataDir, env);
    await until('it says that there is no key', async () =>
      service.stderr().includes('there is no access key yet; issue one'),
    );
    expect(await service.stop()).to.equal(0);
    expect(service.stdout()).not.to.match(DEMO_KEY);
  });

  it('shows calls to try that work as they are printed', async () => {
    const service = await spawnService(temporaryDirectory(), { BASE_PATH: '/pay' });
    await until('the calls to try are printed', async () => service.stdout().includes('order-1'));
    const calls = [...service.stdout().matchAll(/curl -s (\S+) -H '(.*?): (.*?)' -H '.*?' -d '(.*?)'/g)];
    expect(calls).to.have.length(2);
    for (const [, url = '', header = '', key = '', body = ''] of calls) {
      expect(url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/pay\/v1\/client\/(score|verdict)$/);
      expect((await call('POST', url, { [header]: key }, body)).status).to.equal(200);
    }
    await service.stop();
  });

  /** A service whose start waits for its store until that can be used. */
  async function waitsFor(env: Readonly<Record<string, string>>, dataDir: string, free: () => void) {
    const service = beginService(dataDir, { ARCHIVE_DIR: 'off', ...env });
    await until('it waits', async () =>
      service.stderr().includes('waiting for the store before the service starts'),
    );
    free();
    await until('it serves', async () => service.stdout().includes('Client Scoring Service: callers '));
    service.child.kill('SIGTERM');
    expect(await service.exited).to.equal(0);
  }

  it('waits for a SQLite file that another process keeps locked', async () => {
    const dataDir = temporaryDirectory();
    expect((await scoring(['keys', 'list'], { DATA_DIR: dataDir })).exitCode).to.equal(0);
    const other = new DatabaseSync(join(dataDir, 'scoring.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    await waitsFor({}, dataDir, () => other.close());
  });

  describeWithServer('redis-server', 'with a Redis that does not answer for a while', () => {
    it('waits for it', async () => {
      const redis = await startStandalone();
      const [server] = redis.nodes;
      server?.suspend();
      await waitsFor({ REDIS_URL: redis.url, SIGNAL_SECRET }, temporaryDirectory(), () => server?.resume());
      await redis.stop();
    });
  });

  describe('refused with exit code 3', () => {
    const refused = async (env: Readonly<Record<string, string>>, dataDir = temporaryDirectory()) => {
      const { exitCode, stdout, stderr } = await runService(dataDir, env);
      expect(exitCode).to.equal(3);
      expect(stdout).to.equal('');
      expect(stderr, 'a message, not a stack').not.to.match(/^\s+at /m);
      expect(stderr).to.match(/^Cannot start: /);
      return stderr;
    };

    describeWithServer('redis-server', 'with a Redis', () => {
      it('that takes no writes, with its own words why', async () => {
        const redis = await startStandalone([...MEMORY_ONLY, '--min-replicas-to-write', '1']);
        const told = await refused({ REDIS_URL: redis.url }).finally(() => redis.stop());
        expect(told).to.match(
          /^Cannot start: Redis at 127\.0\.0\.1:\d+ could not answer: NOREPLICAS Not enough good replicas to write/,
        );
      });
    });

    it('for a port that is taken, and leaves nothing running', async () => {
      const port = await freePort();
      const other = createServer().listen(port, '127.0.0.1');
      await once(other, 'listening');
      for (const setting of ['PORT', 'PLATFORM_PORT']) {
        const dataDir = temporaryDirectory();
        expect(await refused({ [setting]: String(port) }, dataDir)).to.equal(
          `Cannot start: port ${port} on 127.0.0.1 is taken by another process; stop it or set ${setting} to a free port\n`,
        );
        const env = { DATA_DIR: dataDir, REDIS_URL: '' };
        const { stdout } = await scoring(['rules', 'status'], env);
        expect(stdout).to.equal('No node has ever started on this store.\n');
        expect((await scoring(['audit'], env)).stdout).to.equal('');
      }
      other.close();
    });

    it('for a RULES_DIR that is no folder', async () => {
      const rulesDir = join(temporaryDirectory(), 'rules');
      expect(await refused({ RULES_DIR: rulesDir })).to.equal(
        `Cannot start: RULES_DIR is ${rulesDir}, where there is no folder; set it to the folder of rule sets\n`,
      );
    });

    it('for a HOST of another machine', async () => {
      expect(await refused({ HOST: '192.0.2.1' })).to.equal(
        'Cannot start: 192.0.2.1 is not an address of this machine; set HOST to one that is\n',
      );
    });

    it('for bad rules, with file, line and column', async () => {
      const rulesDir = copiedRules();
      rmSync(join(rulesDir, 'p2.v10', 'release.json'));
      const path = join(rulesDir, 'p2.v10', 'verdicts.yaml');
      const text = readFileSync(path, 'utf8').replace('fact: waitServed', 'fact: waitServd');
      writeFileSync(path, text);
      const line = text.split('\n').findIndex((content) => content.includes('waitServd')) + 1;
      const column = (text.split('\n')[line - 1]?.indexOf('waitServd') ?? 0) + 1;
      const stderr = await refused({ RULES_DIR: rulesDir });
      expect(stderr).to.include(`p2.v10/verdicts.yaml:${line}:${column} `);
      expect(stderr).to.include('did you mean "waitServed"?');
    });

    it('for another SIGNAL_SECRET than that of the store, unless it is being changed', async () => {
      const dataDir = temporaryDirectory();
      const changed = `${SIGNAL_SECRET}, and changed`;
      expect(await (await spawnService(dataDir, { SIGNAL_SECRET })).stop()).to.equal(0);
      expect(await refused({ SIGNAL_SECRET: changed }, dataDir)).to.match(
        /^Cannot start: SIGNAL_SECRET is not the one with which the fingerprints and IPs of this store were hashed, .*\n$/,
      );
      const forgotten = await scoring(['state', 'forget-secret', '--reason', 'lost'], { DATA_DIR: dataDir });
      expect(forgotten.stdout).to.match(/^The next node that starts notes its own SIGNAL_SECRET\./);
      expect(await (await spawnService(dataDir, { SIGNAL_SECRET })).stop()).to.equal(0);
      const env = { SIGNAL_SECRET: changed, SIGNAL_SECRET_PREVIOUS: SIGNAL_SECRET };
      expect(await (await spawnService(dataDir, env)).stop()).to.equal(0);
    });

    it('for a DATA_DIR that cannot be written, or a file that is not an SQLite database', async () => {
      const dataDir = temporaryDirectory();
      writeFileSync(join(dataDir, 'scoring.sqlite'), 'something else entirely\n'.repeat(100));
      expect(await refused({}, dataDir)).to.include('cannot be used: file is not a database');
      expect(await refused({}, join(dataDir, 'scoring.sqlite', 'data'))).to.match(
        /^Cannot start: the SQLite file \S+ cannot be used: .*; check DATA_DIR and its permissions\n$/,
      );
    });

    it('for a REDIS_URL where nobody answers, within seconds', async () => {
      expect(await refused({ REDIS_URL: 'redis://127.0.0.1:1' })).to.include('127.0.0.1:1');
    });
  });
});
