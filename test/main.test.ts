import { once } from 'node:events';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Decision } from '../src/decision/decision.ts';
import { temporaryDirectory } from './servers/temporary-directory.ts';
import { RULES_FOLDER } from './service/current-rules.ts';
import { type Answer, call } from './service/http-call.ts';
import { issueKey } from './service/issued-key.ts';
import { rawStatus } from './service/raw-exchange.ts';
import { verdictBody } from './service/request-bodies.ts';
import { runService, type ServiceProcess, spawnService } from './service/service-process.ts';
import { Tenant } from './service/tenant.ts';
import { sharedStates } from './stores/shared-state.ts';

const STARTED =
  /^Client Scoring Service: callers http:\/\/127\.0\.0\.1:\d+, platform http:\/\/127\.0\.0\.1:\d+, store sqlite \/\S+\/scoring\.sqlite, rules p2\.v10 sha256:[0-9a-f]{64}\n/;

const DEMO_KEY = /ka_[0-9a-f]{12}_[A-Za-z0-9_-]{43}/;

/** A folder of rule sets with a copy of the current one, to be spoilt. */
function copiedRules(): string {
  const rulesDir = temporaryDirectory();
  cpSync(RULES_FOLDER, join(rulesDir, 'p2.v10'), { recursive: true });
  return rulesDir;
}

describe('starting the service', () => {
  it('says on one line what is running, and shows a demo key on the first start only', async () => {
    const dataDir = temporaryDirectory();
    const first = await spawnService(dataDir);
    for (let tries = 0; tries < 100 && !first.stdout().includes('order-1'); tries++) await delay(20);
    expect(first.stdout()).to.match(STARTED);
    expect(first.stdout()).to.include(
      'There was no access key yet, so one was issued for the platform "demo". It is shown only now:',
    );
    const key = DEMO_KEY.exec(first.stdout())?.[0] ?? '';
    const demo = new Tenant(first, key);
    expect((await demo.score()).status).to.equal(200);
    expect((await demo.verdict()).body.ruleVersion).to.equal('p2.v10');
    expect((await demo.ask('GET', 'decisions')).status).to.equal(403);
    expect(await first.stop()).to.equal(0);

    const second = await spawnService(dataDir);
    expect((await new Tenant(second, key).verdict()).body.verdict).to.equal('WAIT');
    expect(await second.stop()).to.equal(0);
    expect(second.stdout()).to.match(STARTED);
    expect(second.stdout()).not.to.match(DEMO_KEY);
  });

  it('shows calls to try that work as they are printed', async () => {
    const service = await spawnService(temporaryDirectory(), { BASE_PATH: '/pay' });
    for (let tries = 0; tries < 100 && !service.stdout().includes('order-1'); tries++) await delay(20);
    const calls = [...service.stdout().matchAll(/curl -s (\S+) -H '(.*?): (.*?)' -H '.*?' -d '(.*?)'/g)];
    expect(calls).to.have.length(2);
    for (const [, url = '', header = '', key = '', body = ''] of calls) {
      expect(url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/pay\/v1\/client\/(score|verdict)$/);
      expect((await call('POST', url, { [header]: key }, body)).status).to.equal(200);
    }
    await service.stop();
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

    it('for a PORT that is none', async () => {
      expect(await refused({ PORT: 'http' })).to.equal(
        'Cannot start: PORT must be a whole number from 0 to 65535, not "http"\n',
      );
    });

    describe('for a port that is taken', () => {
      let other: Server;
      let port: number;
      before(async () => {
        other = createServer().listen(0, '127.0.0.1');
        await once(other, 'listening');
        const address = other.address();
        port = typeof address === 'object' && address !== null ? address.port : 0;
      });
      after(() => other.close());

      for (const setting of ['PORT', 'PLATFORM_PORT']) {
        it(setting, async () => {
          expect(await refused({ [setting]: String(port) })).to.equal(
            `Cannot start: port ${port} on 127.0.0.1 is taken by another process; stop it or set ${setting} to a free port\n`,
          );
        });
      }
    });

    it('for a HOST of another machine', async () => {
      expect(await refused({ HOST: '192.0.2.1' })).to.equal(
        'Cannot start: 192.0.2.1 is not an address of this machine; set HOST to one that is\n',
      );
    });

    it('for a RULE_VERSION that is not there', async () => {
      expect(await refused({ RULE_VERSION: 'p9.v9' })).to.include('p9.v9');
    });

    it('for rules that are not sound, with file, line and column', async () => {
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

    it('for a released version that was changed', async () => {
      const rulesDir = copiedRules();
      const path = join(rulesDir, 'p2.v10', 'ladder.yaml');
      writeFileSync(path, readFileSync(path, 'utf8').replace('30s', '20s'));
      const stderr = await refused({ RULES_DIR: rulesDir, RULE_VERSION: 'p2.v10' });
      expect(stderr).to.include('ladder.yaml');
      expect(stderr).to.include('the file was changed after the release');
      expect(stderr).to.include('rules new <version> --from p2.v10');
    });

    it('for a draft', async () => {
      const rulesDir = copiedRules();
      rmSync(join(rulesDir, 'p2.v10', 'release.json'));
      const stderr = await refused({ RULES_DIR: rulesDir, RULE_VERSION: 'p2.v10' });
      expect(stderr).to.include('p2.v10 is a draft');
      expect(stderr).to.include('rules release p2.v10');
    });

    it('for a RULES_DIR that is not there', async () => {
      expect(await refused({ RULES_DIR: '/nowhere/rules' })).to.include('/nowhere/rules');
    });

    it('for a DATA_DIR that cannot be written', async () => {
      const file = join(temporaryDirectory(), 'a-file');
      writeFileSync(file, '');
      const dataDir = join(file, 'data');
      expect(await refused({}, dataDir)).to.equal(
        `Cannot start: DATA_DIR is ${dataDir}, where the file signal-secret cannot be kept; make the folder writable or set another DATA_DIR\n`,
      );
      expect(await refused({ SIGNAL_SECRET: 'given' }, dataDir)).to.match(
        /^Cannot start: the SQLite file \S+ cannot be used: .*; check DATA_DIR and its permissions\n$/,
      );
    });

    it('for a file that is no SQLite database', async () => {
      const dataDir = temporaryDirectory();
      writeFileSync(join(dataDir, 'scoring.sqlite'), 'something else entirely\n'.repeat(100));
      expect(await refused({}, dataDir)).to.include('cannot be used: file is not a database');
    });

    it('for a REDIS_URL where nobody answers, within seconds', async () => {
      const stderr = await refused({ REDIS_URL: 'redis://127.0.0.1:1' });
      expect(stderr).to.include('127.0.0.1:1');
    });
  });
});

describe('stopping the service', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`on ${signal} answers what is under way, then ends with 0`, async () => {
      const dataDir = temporaryDirectory();
      const key = await issueKey({ dataDir });
      const service = await spawnService(dataDir);
      const shop = new Tenant(service, key);
      const requests = (round: string) =>
        Array.from({ length: 12 }, (_, index) =>
          shop.verdict({ clientIdKey: `payer-${index % 5}`, orderRef: `${round}-${index}` }),
        );
      // Opens the connections, so that the next round is on its way at once.
      await Promise.all(requests('before'));
      const underWay = requests('under-way');
      await underWay[0];
      service.signal(signal);
      const answers = await Promise.allSettled(underWay);
      expect(await service.exited).to.equal(0);
      const answered = answers.filter((answer) => answer.status === 'fulfilled');
      expect(answered.map(({ value }) => value.status)).to.deep.equal(Array.from({ length: 12 }, () => 200));

      const again = await spawnService(dataDir);
      const decisions = await new Tenant(again, key).decisions({ limit: '500' });
      expect(decisions.length).to.equal(24);
      await again.stop();
    });
  }

  it('waits for the rest of a request whose beginning it has', async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir });
    const service = await spawnService(dataDir);
    const text = JSON.stringify(verdictBody());
    const socket = connect(Number(new URL(service.callerUrl).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.write(
      `POST /v1/client/verdict HTTP/1.1\r\nHost: localhost\r\nX-KA-Access-Key: ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text.slice(0, 10)}`,
    );
    await delay(200);
    service.signal('SIGTERM');
    await delay(600);
    socket.write(text.slice(10));
    await once(socket, 'close');
    expect(rawStatus(answer)).to.equal(200);
    expect(answer).to.include('"verdict":"GET_NEW"');
    expect(await service.exited).to.equal(0);
  });

  it('ends soon although a caller keeps asking on an open connection', async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir });
    const service = await spawnService(dataDir);
    const asking = new Tenant(service, key);
    let stopped = false;
    const keepAsking = async (clientIdKey: string) => {
      while (!stopped) await asking.score({ clientIdKey });
    };
    const callers = ['a', 'b', 'c', 'd'].map((name) => keepAsking(name).catch(() => null));
    await delay(200);
    const askedToStopMs = performance.now();
    expect(await service.stop()).to.equal(0);
    expect(performance.now() - askedToStopMs).to.be.below(5000);
    stopped = true;
    await Promise.all(callers);
  });
});

for (const { name, make } of sharedStates) {
  describe(`two processes on ${name}`, () => {
    it('take one step for each of 50 parallel verdicts of one client', async () => {
      const { dataDir, env, key } = await make();
      const processes = await Promise.all([spawnService(dataDir, env), spawnService(dataDir, env)]);
      const tenants = processes.map((service) => new Tenant(service, key));
      const clientIdKey = 'shared';
      const answers = await Promise.all(
        Array.from({ length: 25 }, (_, index) =>
          tenants.map((tenant, at) => tenant.verdict({ clientIdKey, orderRef: `order-${index}-${at}` })),
        ).flat(),
      );
      expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: 50 }, () => 200));
      const [tenant] = tenants;
      const decisions = (await tenant?.decisions({ clientIdKey }))?.toReversed() ?? [];
      expect(decisions.map(({ seq }) => seq)).to.deep.equal(Array.from({ length: 50 }, (_, n) => n + 1));
      expect(new Set(decisions.map(({ orderRef }) => orderRef)).size).to.equal(50);
      for (const [index, { ladderBefore }] of decisions.entries()) {
        if (index > 0) expect(ladderBefore).to.deep.equal(decisions[index - 1]?.ladderAfter);
      }
      await Promise.all(processes.map((service) => service.stop()));
    }).timeout(30_000);
  });

  describe(`a service on ${name} that is killed`, () => {
    const ROUNDS = 20;
    const LOAD_MS = 700;
    const CALLERS = 8;

    /** What callers were told before the service went away: orders with a 200, by client. */
    type Acknowledged = Map<string, string[]>;

    const load = async (service: ServiceProcess, key: string, round: number, acknowledged: Acknowledged) => {
      const shop = new Tenant(service, key);
      let killed = false;
      const caller = async (number: number) => {
        const clientIdKey = `payer-${number % 4}`;
        for (let order = 0; !killed; order++) {
          const orderRef = `${round}-${number}-${order}`;
          const answer: Answer | null = await shop.verdict({ clientIdKey, orderRef }).catch(() => null);
          if (answer === null) return;
          if (answer.status === 200) acknowledged.get(clientIdKey)?.push(orderRef);
        }
      };
      const callers = Array.from({ length: CALLERS }, (_, number) => caller(number));
      await delay(LOAD_MS);
      service.signal('SIGKILL');
      await service.exited;
      killed = true;
      await Promise.all(callers);
    };

    const allDecisions = async (shop: Tenant, orders: readonly string[]): Promise<readonly Decision[]> => {
      const found: Decision[] = [];
      for (let from = 0; from < orders.length; from += 20) {
        const lists = await Promise.all(
          orders.slice(from, from + 20).map((orderRef) => shop.decisions({ orderRef })),
        );
        found.push(...lists.flat());
      }
      return found;
    };

    it(`${ROUNDS} times in the middle of its work loses no verdict that it gave`, async () => {
      const { dataDir, env, key } = await make();
      const quiet = { ...env, LOG_LEVEL: 'silent' };
      const acknowledged: Acknowledged = new Map(
        Array.from({ length: 4 }, (_, number) => [`payer-${number}`, []]),
      );
      for (let round = 0; round < ROUNDS; round++) {
        await load(await spawnService(dataDir, quiet), key, round, acknowledged);
      }
      const service = await spawnService(dataDir, quiet);
      const shop = new Tenant(service, key);
      for (const [clientIdKey, orders] of acknowledged) {
        expect(orders.length, 'the load was real').to.be.above(ROUNDS);
        const found = new Set((await allDecisions(shop, orders)).map(({ orderRef }) => orderRef));
        expect(
          orders.filter((orderRef) => !found.has(orderRef)),
          'acknowledged but not recorded',
        ).to.deep.equal([]);
        const { decisionCount } = (await shop.client(clientIdKey)).body;
        expect(decisionCount).to.be.at.least(orders.length);
        expect(decisionCount, 'at most what was under way at each kill').to.be.at.most(
          orders.length + ROUNDS * CALLERS,
        );
      }
      await service.stop();
    }).timeout(90_000);
  });
}

describe('what the service tells about itself', () => {
  it('holds no raw key, fingerprint, IP or User-Agent', async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir });
    const service = await spawnService(dataDir, { LOG_LEVEL: 'trace' });
    const shop = new Tenant(service, key);
    const secrets = {
      key: key.slice(16),
      unknownKey: 'q'.repeat(43),
      fingerprint: 'finger-print-5519',
      ip: '203.0.113.199',
      userAgent: 'SecretBrowser/55.19 HeadlessChrome',
    };
    const { fingerprint, ip, userAgent } = secrets;
    const clientIdKey = 'logged';
    await shop.score({ clientIdKey, fingerprint, ip, userAgent }, { 'User-Agent': userAgent });
    await shop.verdict({ clientIdKey, fingerprint, ip, userAgent }, { 'X-Forwarded-For': ip });
    await shop.verdict({ clientIdKey }, { 'Idempotency-Key': 'logged' });
    await new Tenant(service, `ka_0123456789ab_${secrets.unknownKey}`).score({ clientIdKey, ip });
    await shop.post('score', JSON.stringify({ fingerprint, ip, userAgent }).slice(0, -1));
    await shop.score({ clientIdKey, fingerprint: `${fingerprint}\ud800` });
    await shop.post('score', { fingerprint: [fingerprint], ip: { ip }, userAgent: 7 });
    const seen = {
      metrics: JSON.stringify(await call('GET', `${service.platformUrl}/metrics`, {})),
      decisions: JSON.stringify(await shop.decisions()),
      client: JSON.stringify((await shop.client(clientIdKey)).body),
    };
    expect(await service.stop()).to.equal(0);
    expect(service.stderr()).to.include('"operation":"score"');
    expect(seen.decisions).to.include(clientIdKey);
    const told = { ...seen, stdout: service.stdout(), stderr: service.stderr() };
    for (const [where, text] of Object.entries(told)) {
      for (const [what, secret] of Object.entries(secrets)) {
        expect(text.includes(secret), `${what} in ${where}`).to.equal(false);
      }
    }
    for (const line of service.stderr().trimEnd().split('\n')) {
      const entry: { service?: string } = JSON.parse(line);
      expect(entry.service).to.equal('client-scoring');
    }
  });
});
