import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readExactClock } from '#base/clock.ts';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { createStoreClock } from '#state/clock-offset.ts';
import type { Store } from '#state/store.ts';
import { Audit } from '#workbench/access/audit.ts';
import { clientKey } from '../../decision/payer/client-keys.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';
import { removeDirectory, temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { currentRules } from '../../service/current-rules.ts';
import { issueKey } from '../../service/issued-key.ts';
import { SIGNAL_SECRET } from '../../service/running-service.ts';
import { type ServiceProcess, spawnService } from '../../service/service-process.ts';
import { Tenant } from '../../service/tenant.ts';
import { emptyRedisUrl } from '../../stores/empty-redis.ts';
import { openPatiently } from '../../stores/temporary-store.ts';
import { scoring } from '../../workbench/commands/scoring.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The right time, also while Date.now() is ahead. */
const rightClock = () => Math.floor(readExactClock());

describeWithServer('redis-server', 'a node with a wrong clock', () => {
  let url: string;
  let right: Store;
  const opened: Store[] = [];
  const openAhead = async (aheadMs: number) => {
    const store = await openPatiently(url, { clock: () => readExactClock() + aheadMs });
    opened.push(store);
    return store;
  };
  beforeEach(async () => {
    url = await emptyRedisUrl();
    right = await openAhead(0);
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });

  it('15 s ahead still sees the heartbeats of the others', async () => {
    const { version, digest } = currentRules();
    const report = {
      nodeId: 'a',
      host: 'h',
      pid: 1,
      startedAt: 0,
      seenAt: 0,
      revision: 1,
      active: { version, digest },
      versions: [],
      refused: [],
      trouble: null,
      hasStaleLists: false,
    };
    await new Fleet(right).report(report);
    await ahead(15_000, async () => {
      expect(await new Fleet(right).listNodes()).to.deep.equal([report]);
    });
    expect(await new Fleet(right).listNodes()).to.deep.equal([report]);
  });

  it("200 days ahead deletes no one's access key, and keys that it issues live as long as they should", async () => {
    const skewed = await openAhead(200 * DAY_MS);
    const keys = new AccessKeys(right.documents, rightClock);
    const { key } = await keys.issue(toPlatformName('shop'), ['score'], 90 * DAY_MS);
    const clock = createStoreClock(() => readExactClock() + 200 * DAY_MS, skewed);
    await ahead(200 * DAY_MS, async () => {
      const theirs = new AccessKeys(skewed.documents, clock);
      expect(await theirs.authenticate(key)).not.to.equal(null);
      const issued = await theirs.issue(toPlatformName('shop'), ['verdict'], DAY_MS);
      expect(Date.parse(issued.record.expiresAt ?? '') - rightClock()).to.be.within(DAY_MS - 5000, DAY_MS);
    });
    expect(await new AccessKeys(right.documents, rightClock).authenticate(key)).not.to.equal(null);
    expect(await keys.list()).to.have.length(2);
  });

  it('200 days ahead forgets no name of a document that another node is writing', async () => {
    await ahead(200 * DAY_MS, async () => {
      await right.documents.list('nodes');
      await right.documents.set('nodes', 'a', { id: 1 }, 60_000);
      expect(await right.documents.list('nodes')).to.deep.equal([{ id: 1 }]);
    });
  });
});

describeWithServer('redis-server', 'a process whose clock is 10 minutes ahead', () => {
  const directory = temporaryDirectory();
  const services: ServiceProcess[] = [];
  after(async () => {
    for (const service of services) await service.stop();
    removeDirectory(directory);
  });

  it("dates a command's changes by the store's clock, too", async () => {
    const redisUrl = await emptyRedisUrl();
    const DATA_DIR = join(directory, 'command');
    const env = { REDIS_URL: redisUrl, DATA_DIR, NODE_OPTIONS: skewedBy(directory, 10 * MINUTE_MS) };
    const before = rightClock();
    const issue = 'keys issue --platform shop --operations score --expires 1h --json';
    const issued = await scoring(issue.split(' '), env);
    expect([issued.exitCode, issued.stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(issued.stdout).platform).to.equal('shop');
    const store = await openPatiently(redisUrl);
    const [entry] = (await new Audit(store.auditLog, rightClock).read(null, 1)).entries;
    await store.close();
    expect(entry?.at).to.be.within(before - MINUTE_MS, rightClock() + MINUTE_MS);
    expect(Date.parse(JSON.parse(issued.stdout).expiresAt)).to.be.below(rightClock() + 61 * MINUTE_MS);
  });

  it('skips no wait, dates nothing ahead of the store, and warns in log, readyz and metrics', async () => {
    const redisUrl = await emptyRedisUrl();
    const dataDir = join(directory, 'data');
    const key = await issueKey({ dataDir, redisUrl });
    const env = { REDIS_URL: redisUrl, SIGNAL_SECRET };
    const right = await spawnService(dataDir, env);
    const wrong = await spawnService(dataDir, { ...env, NODE_OPTIONS: skewedBy(directory, 10 * MINUTE_MS) });
    services.push(right, wrong);
    const [here, there] = [new Tenant(right, key), new Tenant(wrong, key)];
    // On a busy machine the first answers of Redis may be late for a process that has just begun.
    for (const node of [here, there])
      await until('a node answers', async () => (await node.score({ clientIdKey: 'other' })).status === 200);

    expect((await here.verdict()).body.verdict).to.equal('GET_NEW');
    const first = (await here.verdict()).body;
    expect([first.verdict, first.waitSeconds]).to.deep.equal(['WAIT', 30]);
    // Ten minutes later by its own clock; the wait of 30 s is not over by the store's.
    const second = (await there.verdict()).body;
    expect(second.verdict).to.equal('WAIT');
    expect(second.waitSeconds).to.be.above(30);
    const store = await openPatiently(redisUrl);
    const { state, stamp } = await store.load(clientKey(toPlatformName('shop'), 'payer-1'));
    await store.close();
    expect(state.lastAt).to.be.at.most(stamp.storeTimeMs);
    expect(stamp.storeTimeMs - state.lastAt).to.be.below(30_000);

    const readyz = await fetch(`${wrong.platformUrl}/readyz`);
    const { status, why } = JSON.parse(await readyz.text());
    expect(status).to.equal('ready');
    expect(why).to.match(
      /^The clock of this node is 600\.0 s ahead of that of Redis at \S+; the store's clock decides\./,
    );
    const metrics = await (await fetch(`${wrong.platformUrl}/metrics`)).text();
    expect(metrics).to.match(/^scoring_store_clock_offset_seconds -(600|599\.99)/m);
    expect(metrics).to.include('scoring_store_warnings{kind="clock"} 1\n');
    const told = 'The clock of this node is 600.0 s ahead of';
    await until('the log says so', async () => wrong.stderr().includes(told));
    expect(right.stderr()).not.to.include('The clock of this node');
  });
});

/** Runs something while Date.now() of this process is ahead, which libraries use. */
async function ahead(ms: number, run: () => Promise<void>): Promise<void> {
  const { now } = Date;
  Date.now = () => now() + ms;
  try {
    await run();
  } finally {
    Date.now = now;
  }
}

/** NODE_OPTIONS that set the clock of a process ahead from its start. */
function skewedBy(directory: string, ms: number): string {
  const file = join(directory, 'skew.mjs');
  writeFileSync(
    file,
    `const { now } = Date;
Date.now = () => now() + ${ms};
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + ${ms} });
`,
  );
  return `--import=${file}`;
}
