import { expect } from 'chai';
import { Fleet, type NodeView } from '../../src/rollout/fleet.ts';
import { childIds } from '../processes/child-ids.ts';
import { freePort } from '../servers/free-port.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { askUnlessStandstill } from '../servers/standstill.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { call, type HeaderList } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { beginService, runService, type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { emptyRedisUrl } from '../stores/empty-redis.ts';
import { openPatiently } from '../stores/temporary-store.ts';

const WORKERS = 2;

/** Each request on a connection of its own, so that the workers share them. */
const CLOSE = { Connection: 'close' };

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describeWithServer('redis-server', 'a node of several workers', () => {
  let service: ServiceProcess;
  let shop: Tenant;
  let redisUrl: string;
  let env: HeaderList;

  const pid = () => service.child.pid ?? 0;
  const metric = async (name: string): Promise<number> => {
    const { body } = await call<string>('GET', `${service.platformUrl}/metrics`, CLOSE);
    const values = [...body.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))];
    return values.reduce((sum, [, value]) => sum + Number(value), 0);
  };
  const nodes = async (): Promise<readonly NodeView[]> => {
    const store = await openPatiently(redisUrl);
    try {
      return await new Fleet(store).nodes();
    } finally {
      await store.close();
    }
  };
  /** One after the other, because a cold worker on a busy machine refuses a burst. */
  const ask = async (round: string, count: number): Promise<readonly number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n++) {
      const name = `${round}-${n}`;
      const ask = () => shop.verdict({ clientIdKey: name, orderRef: name }, CLOSE);
      statuses.push((await askUnlessStandstill(ask)).status);
    }
    return statuses;
  };

  before(async () => {
    redisUrl = await emptyRedisUrl();
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir, redisUrl });
    env = {
      REDIS_URL: redisUrl,
      SIGNAL_SECRET: 'x'.repeat(32),
      WORKERS: String(WORKERS),
      ARCHIVE_DIR: 'off',
    };
    service = await spawnService(dataDir, env);
    shop = new Tenant(service, key);
  });
  after(() => service?.stop());

  it('is announced once, when all of them serve', () => {
    expect(service.stdout().match(/^Client Scoring Service: .*, 2 workers$/gm)).to.have.length(1);
    expect(childIds(pid()).length).to.equal(WORKERS);
  });

  it('answers on one port, and counts what all of them answered', async () => {
    const before = await metric('scoring_verdicts_total');
    expect(await ask('counted', 40)).to.deep.equal(Array.from({ length: 40 }, () => 200));
    expect((await metric('scoring_verdicts_total')) - before).to.equal(40);
    const { body } = await shop.ask<{ verdicts: { verdicts: { GET_NEW: number } }[] }>(
      'GET',
      'last-hour',
      undefined,
      CLOSE,
    );
    expect(body.verdicts.reduce((sum, { verdicts }) => sum + verdicts.GET_NEW, 0)).to.equal(40);
    expect(await metric('scoring_build_info')).to.equal(1);
  });

  it('is one node of the fleet, under the process that an operator sees', async () => {
    await until('it reports', async () => (await nodes()).length > 0);
    const reports = await nodes();
    expect(reports.map((report) => report.pid)).to.deep.equal([pid()]);
    expect(reports[0]?.versions.map(({ version }) => version)).to.include('p2.v10');
  });

  it('replaces a worker that is killed, and goes on answering and counting', async () => {
    const counted = await metric('scoring_verdicts_total');
    const [killed = 0] = childIds(pid());
    process.kill(killed, 'SIGKILL');
    await until('it is replaced', async () => {
      const children = childIds(pid());
      return children.length === WORKERS && !children.includes(killed);
    });
    await until('it is said', async () => service.stderr().includes('a worker ended and is replaced'));
    await until('both answer', async () => (await metric('scoring_workers')) === WORKERS);
    expect(await metric('scoring_verdicts_total')).to.equal(counted);
    expect(await ask('replaced', 10)).to.deep.equal(Array.from({ length: 10 }, () => 200));
    expect(await metric('scoring_verdicts_total')).to.equal(counted + 10);
    expect((await nodes()).map((report) => report.pid)).to.deep.equal([pid()]);
  });

  it('ends a worker that hangs, and replaces it', async () => {
    const [stopped = 0] = childIds(pid());
    const counted = await metric('scoring_verdicts_total');
    process.kill(stopped, 'SIGSTOP');
    await until('it is ended', async () => !runs(stopped));
    const said = `"pid":${stopped},"msg":"a worker hangs and is ended"`;
    await until('it is said', async () => service.stderr().includes(said));
    await until('another has its place', async () => childIds(pid()).length === WORKERS);
    await until('both answer', async () => (await metric('scoring_workers')) === WORKERS);
    expect(await metric('scoring_verdicts_total')).to.equal(counted);
  });

  it('drains as a whole, and leaves no process and no report behind', async () => {
    const children = childIds(pid());
    expect(await service.stop()).to.equal(0);
    expect(children.filter(runs)).to.deep.equal([]);
    expect(await nodes()).to.deep.equal([]);
  });

  it('ends with code 1, and says why, when one worker after the other dies at once', async () => {
    const another = await spawnService(temporaryDirectory(), env);
    const anothersPid = another.child.pid ?? 0;
    const [survivor = 0, first = 0] = childIds(anothersPid);
    const killed = new Set<number>();
    const follower = () => childIds(anothersPid).find((child) => child !== survivor && !killed.has(child));
    while (killed.size < 5) {
      await until('another follows', async () => follower() !== undefined);
      const next = follower() ?? first;
      killed.add(next);
      process.kill(next, 'SIGKILL');
    }
    expect(await another.exited).to.equal(1);
    const waits = [...another.stderr().matchAll(/"waitMs":(\d+),"msg":"a worker ended and is replaced"/g)];
    expect(waits.map(([, waitMs]) => waitMs)).to.deep.equal(['500', '1000', '2000', '4000']);
    expect(another.stderr()).to.match(
      /"deathsInARow":5,"exitCode":1,"msg":"workers die again and again within a minute: the node drains and ends"/,
    );
    expect(runs(survivor)).to.equal(false);
  });

  it('ends with 0 when it is stopped while its first worker is starting, and starts no other', async () => {
    const another = beginService(temporaryDirectory(), env);
    const anothersPid = another.child.pid ?? 0;
    await until('the first worker starts', async () => childIds(anothersPid).length === 1);
    const [first = 0] = childIds(anothersPid);
    another.child.kill('SIGTERM');
    expect(await another.exited).to.equal(0);
    expect([another.stdout(), runs(first)]).to.deep.equal(['', false]);
  });

  it('ends with 0 when it is stopped while its second worker is starting', async () => {
    const another = beginService(temporaryDirectory(), env);
    const anothersPid = another.child.pid ?? 0;
    await until('the second worker starts', async () => childIds(anothersPid).length === WORKERS);
    const children = childIds(anothersPid);
    another.child.kill('SIGTERM');
    expect(await another.exited).to.equal(0);
    expect(children.filter(runs)).to.deep.equal([]);
  });

  it('leaves no worker behind when its first process is killed', async () => {
    const another = await spawnService(temporaryDirectory(), env);
    const workers = childIds(another.child.pid ?? 0);
    another.signal('SIGKILL');
    await another.exited;
    await until('the workers end', async () => !workers.some(runs));
  });

  it('says once why it cannot start', async () => {
    const nobody = `redis://127.0.0.1:${await freePort()}`;
    const { exitCode, stderr } = await runService(temporaryDirectory(), { ...env, REDIS_URL: nobody });
    expect(exitCode).to.equal(3);
    expect(stderr.match(/Cannot start: Redis at .* cannot be reached/g)).to.have.length(1);
  });

  it('does not share a port with another program', async () => {
    const port = await freePort();
    const other = await spawnService(temporaryDirectory(), { PORT: String(port) });
    const { exitCode, stderr } = await runService(temporaryDirectory(), { ...env, PORT: String(port) });
    expect(exitCode).to.equal(3);
    expect(stderr).to.include(
      `Cannot start: port ${port} on 127.0.0.1 is taken by another process; stop it or set PORT to a free port`,
    );
    await other.stop();
  });
});
