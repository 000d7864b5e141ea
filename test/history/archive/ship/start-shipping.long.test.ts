import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Archive } from '#history/archive/archive.ts';
import { createNewTroubleTest, type Shipping, startShipping } from '#history/archive/ship/start-shipping.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { childIds } from '../../../processes/child-ids.ts';
import { startNode } from '../../../processes/node-process.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { until } from '../../../servers/until.ts';
import { RULES_FOLDER } from '../../../service/current-rules.ts';
import { spawnService } from '../../../service/service-process.ts';
import { newClient, verdict } from '../../../state/clients.ts';
import { SCORING } from '../../../workbench/commands/scoring.ts';

/** Fields of `/proc/PID/task/TID/stat` stand behind the name in brackets; the 19th of all is the nice value. */
const NICE = 16;

/** The nice value of each thread of a process. */
function niceValues(id: number): readonly number[] {
  const tasks = `/proc/${id}/task`;
  return readdirSync(tasks).map((thread) => {
    const fields =
      readFileSync(join(tasks, thread, 'stat'), 'utf8')
        .split(') ')
        .at(-1)
        ?.split(' ') ?? [];
    return Number(fields[NICE]);
  });
}

interface UnderTest {
  readonly shipping: Shipping;
  readonly troubles: readonly string[];
  readonly archiveDir: string;
  /** The processes that it has started and that have not ended. */
  readonly processes: () => readonly number[];
}

async function shippingSomewhere(): Promise<UnderTest> {
  const dataDir = temporaryDirectory();
  const before = new Set(childIds(process.pid));
  const node = shippingNode(dataDir);
  await until('it holds the lease', async () => node.shipping.report().leads);
  const processes = () => childIds(process.pid).filter((id) => !before.has(id));
  return { ...node, processes };
}

/** A node that would ship, as one of several on one store. */
function shippingNode(dataDir: string): Omit<UnderTest, 'processes'> {
  const archiveDir = join(dataDir, 'archive');
  const store = openSqliteStore(dataDir, {});
  const troubles: string[] = [];
  const shipping = startShipping(
    {
      dataDir,
      redisUrl: null,
      archiveDir,
      archiveKeepMs: 86_400_000,
      decisionsHotMs: 86_400_000,
      rulesDir: RULES_FOLDER,
    },
    { store, archive: new Archive(archiveDir), clock: Date.now },
    (message) => troubles.push(message),
  );
  return { shipping, troubles, archiveDir };
}

describe('a failure of shipping', () => {
  const failed = (trouble: string | null) => ({ leads: false, trouble });
  const full = (name: string) => failed(`ENOSPC: no space left on device, open '/archive/staging/${name}'`);
  const away = (path: string) => failed(`s3://years: ${path}.parquet cannot be written: 503 SlowDown`);
  const [one, other] = [
    'decisions/platform=shop/day=2026-11-21/243bab55-6c8d-4cea-8652-62590dd1b81c',
    'scores/platform=kiosk/day=2026-11-22/8ba882b9-33fa-4a34-a222-688827a43def',
  ];

  it('is logged once whatever the name of its file, in a folder and in S3', () => {
    const isNews = createNewTroubleTest();
    const reports = [full('a'), full('b'), away(one), away(other), full('a')];
    expect(reports.map(isNews)).to.deep.equal([true, false, true, false, true]);
  });

  it('is logged once although another node tries in between, and again after shipping has worked', () => {
    const isNews = createNewTroubleTest();
    const reports = [away(one), failed(null), away(other), { leads: true, trouble: null }, away(one)];
    expect(reports.map(isNews)).to.deep.equal([true, false, false, false, true]);
  });
});

describe('shipping beside the service', function () {
  this.timeout(60_000);

  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  it('is a process whose threads all have a lower priority than those that answer callers', async function () {
    // There is no difference to see where this test has a low priority already.
    if (getPriority() !== 0) return this.skip();
    const { shipping, processes } = await shippingSomewhere();
    expect(new Set(processes().flatMap(niceValues))).to.deep.equal(
      new Set([constants.priority.PRIORITY_BELOW_NORMAL]),
    );
    await shipping.stop();
  });

  it('ends on request without an error', async () => {
    const { shipping, processes, troubles } = await shippingSomewhere();
    expect(processes()).to.have.length(1);
    await shipping.stop();
    expect([...processes(), ...troubles]).to.deep.equal([]);
  });

  it('has no process on a node while another ships, and one once that has ended', async () => {
    const dataDir = temporaryDirectory();
    const before = new Set(childIds(process.pid));
    const processes = () => childIds(process.pid).filter((id) => !before.has(id));
    const nodes = [shippingNode(dataDir), shippingNode(dataDir)];
    const leads = () => nodes.filter(({ shipping }) => shipping.report().leads);
    await until('one ships', async () => leads().length === 1);
    expect(processes()).to.have.length(1);
    const [first] = leads();
    await first?.shipping.stop();
    await until('the other ships', async () => leads().some((node) => node !== first), 60_000);
    expect(processes()).to.have.length(1);
    await Promise.all(nodes.map(({ shipping }) => shipping.stop()));
    expect([...processes(), ...nodes.flatMap(({ troubles }) => troubles)]).to.deep.equal([]);
  });

  it('says why nothing is shipped while the folder cannot be read, and continues afterwards', async () => {
    const { shipping, troubles, archiveDir } = await shippingSomewhere();
    renameSync(archiveDir, `${archiveDir}-away`);
    writeFileSync(archiveDir, 'no folder');
    await until('it says so', async () => troubles.length > 0);
    expect(troubles.join('\n')).to.match(
      /^decisions are not shipped to the archive: (EEXIST: file already exists|ENOTDIR: not a directory), /,
    );
    expect(shipping.report().leads).to.equal(false);
    rmSync(archiveDir);
    renameSync(`${archiveDir}-away`, archiveDir);
    await until('it ships again', async () => shipping.report().leads);
    expect(troubles).to.have.length(1);
    await shipping.stop();
  });

  it('is restarted when it died, and says so', async () => {
    const { shipping, processes, troubles } = await shippingSomewhere();
    const [first] = processes();
    process.kill(first ?? 0, 'SIGKILL');
    await until('another one ships', async () => processes().some((id) => id !== first));
    await shipping.stop();
    expect(processes()).to.deep.equal([]);
    expect(troubles).to.deep.equal([
      'shipping to the archive is started again: its process ended with SIGKILL',
    ]);
  });
});

describe('a service with ARCHIVE_SHIP=off', function () {
  this.timeout(120_000);

  it('leaves the journal to "archive ship", and shows how far that is behind', async () => {
    const dataDir = temporaryDirectory();
    const service = await spawnService(dataDir, { ARCHIVE_SHIP: 'off' });
    const gauges = async () => {
      const text = await (await fetch(`${service.platformUrl}/metrics`)).text();
      const shown = [...text.matchAll(/^scoring_(?:archive|journal)_(\w+)(?:\{.*\})? (\S+)$/gm)];
      return Object.fromEntries(shown.map(([, name = '', value]) => [name, Number(value)]));
    };
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    await verdict(store, newClient(), 'order', Date.now() - 60_000);
    expect(Object.keys(await gauges())).to.have.members([
      'lag_seconds',
      'segments',
      'bytes',
      'gap_entries',
      'set_aside_entries',
      'entries',
    ]);
    expect((await gauges())['lag_seconds']).to.be.at.least(60);
    const shipper = startNode([SCORING, 'archive', 'ship'], { env: { DATA_DIR: dataDir, REDIS_URL: '' } });
    await until('it is shipped', async () => (await gauges())['lag_seconds'] === 0, 60_000);
    expect((await gauges())['segments']).to.equal(1);
    expect(new Archive(join(dataDir, 'archive')).computeTotals().segments).to.equal(1);
    shipper.child.kill('SIGTERM');
    await shipper.exited;
    await service.stop();
    await store.close();
  });
});
