import { cpSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { toClientNumberText, toPlatformName } from '#decision/payer/client-key.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import type { S3Place } from '#history/archive/s3/bucket.ts';
import { openShipper } from '#history/archive/ship/shipping.ts';
import { clientKey } from '../decision/payer/client-keys.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { startStandalone } from '../servers/redis.ts';
import { command } from '../servers/redis-command.ts';
import { s3Environment, s3Place, startS3 } from '../servers/s3.ts';
import { askUnlessStandstill } from '../servers/standstill.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import type { HeaderList } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { SIGNAL_SECRET } from '../service/running-service.ts';
import { spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { scoring } from '../workbench/commands/scoring.ts';

const DAY_MS = 24 * 3_600_000;
const SHOP = toPlatformName('shop');
const ANN = 'ann-who-is-erased';
const BOB = 'bob-who-stays';

/** The archive says by number who was erased, for copies elsewhere. */
const TOMBSTONES = /[/](erasures|staging)[/]/;

/** A store and an archive, and the places to back up. */
interface BackedUp {
  readonly env: HeaderList;
  readonly redisUrl: string | null;
  readonly archiveDir: string;
  readonly archiveS3: S3Place | null;
  /** Where the archive is stored. */
  readonly archiveFolder: string;
  save(): Promise<void>;
  putBack(): Promise<void>;
  /** A folder with every byte of the store. */
  bytes(): Promise<string>;
}

/** The forms in which a payer may be written down: the id, and the beginning of its hash, of which its number is made. */
function tracesOf(clientIdKey: string): readonly (readonly [string, Buffer])[] {
  const { hash } = clientKey(SHOP, clientIdKey);
  const first = Buffer.from(hash, 'base64url').subarray(0, 8);
  return [
    ['id', Buffer.from(clientIdKey)],
    ['hash', Buffer.from(hash.slice(0, 10))],
    ['hash as hex', Buffer.from(first.toString('hex'))],
    ['hash as bytes', first],
    ['number', Buffer.from(toClientNumberText(hash))],
    ['number as bytes', Buffer.from(first).reverse()],
  ];
}

/** Which traces of a payer the files below these folders hold, tables of the archive unpacked. */
async function tracesIn(clientIdKey: string, folders: readonly string[]): Promise<readonly string[]> {
  const duck = await QueryEngine.open({ threads: 1, memoryMiB: 256, temporaryFolder: temporaryDirectory() });
  const found: string[] = [];
  for (const path of folders.flatMap(filesBelow)) {
    if (TOMBSTONES.test(path)) continue;
    const bytes = [readFileSync(path)];
    if (bytes[0]?.subarray(0, 4).toString() === 'PAR1') {
      const rows = await duck.rows(`SELECT * FROM read_parquet('${path}', hive_partitioning = false)`);
      bytes.push(Buffer.from(rows.map((row) => Object.values(row).join('\n')).join('\n')));
    }
    for (const [name, trace] of tracesOf(clientIdKey))
      if (bytes.some((some) => some.includes(trace))) found.push(`${name} in ${path}`);
  }
  duck.close();
  return found;
}

function drill(make: (dataDir: string) => Promise<BackedUp>): void {
  it('brings no erased client back, in the store, its archive, its lists or its audit', async function () {
    this.timeout(300_000);
    const dataDir = temporaryDirectory();
    const archiveBackup = join(temporaryDirectory(), 'archive');
    const ledger = join(temporaryDirectory(), 'ledger');
    const store = await make(dataDir);
    const { archiveDir, archiveS3, archiveFolder } = store;
    const env = { ...store.env, ARCHIVE_SHIP: 'off', ERASURE_LEDGER: ledger };
    let log = '';
    const key = await issueKey({ dataDir, redisUrl: store.redisUrl ?? undefined });
    const running = async <T>(act: (shop: Tenant) => Promise<T>): Promise<T> => {
      const service = await spawnService(dataDir, env);
      try {
        return await act(new Tenant(service, key));
      } finally {
        await service.stop();
        log += service.stdout() + service.stderr();
      }
    };
    const ship = async () => {
      const place = { redisUrl: store.redisUrl, dataDir, archiveDir, archiveS3, archiveKeepMs: 400 * DAY_MS };
      const open = await openShipper({ ...place, decisionsHotMs: DAY_MS, rulesDir: 'rules' }, () => {});
      for (let did = ''; did !== 'nothing'; did = (await open.shipper.step()).did);
      await open.close();
    };
    const archived = async (clientIdKey: string) => {
      const sql = ['decisions', 'scores', 'outcomes', 'bindings', 'overrides']
        .map((table) => `SELECT client_id_key FROM ${table}`)
        .join(' UNION ALL ');
      const count = `SELECT count(*)::INT AS n FROM (${sql}) WHERE client_id_key = '${clientIdKey}'`;
      const asked = await scoring(['archive', 'query', count, '--format', 'csv'], {
        ...env,
        DATA_DIR: dataDir,
      });
      return Number(asked.stdout.trim().split('\n').at(-1));
    };

    await running(async (shop) => {
      for (const clientIdKey of [ANN, BOB]) await leaveTraces(shop, clientIdKey);
    });
    await ship();
    await running(async (shop) => {
      for (const kind of ['backtest', 'report']) await workOut(shop, kind);
      await lookFor(shop, ANN);
    });
    await store.save();
    cpSync(archiveFolder, archiveBackup, { recursive: true });
    const erased = await running((shop) =>
      askUnlessStandstill(() => shop.ask('DELETE', `client?clientIdKey=${ANN}`)),
    );
    expect(erased.status).to.equal(204);
    rmSync(archiveFolder, { recursive: true });
    cpSync(archiveBackup, archiveFolder, { recursive: true });
    await store.putBack();
    const everywhere = async () => [await store.bytes(), dataDir, archiveFolder];
    expect(await tracesIn(ANN, await everywhere())).to.have.length.above(3);
    expect(await archived(ANN)).to.be.above(3);

    const asked = await running((shop) =>
      askUnlessStandstill(() => shop.ask('GET', `client?clientIdKey=${ANN}`)),
    );
    expect(asked.status).to.equal(404);
    await ship();
    await running(() =>
      until('the cache has let go of what the archive has', async () => {
        return (await tracesIn(ANN, [archiveDir])).length === 0;
      }),
    );
    expect(await tracesIn(ANN, await everywhere())).to.deep.equal([]);
    expect(await tracesIn(BOB, await everywhere())).to.have.length.above(3);
    expect([await archived(ANN), (await archived(BOB)) > 3]).to.deep.equal([0, true]);
    for (const trace of [ANN, toClientNumberText(clientKey(SHOP, ANN).hash)])
      expect(log).to.not.include(trace);
    const audit = await scoring(['audit', '--json'], { ...env, DATA_DIR: dataDir });
    expect(audit.stdout).to.include('"reason":"erased before a backup was put back"');
    expect(audit.stdout).to.not.include(ANN);

    const returned = await running(async (shop) => {
      await askUnlessStandstill(() => shop.verdict({ clientIdKey: ANN, orderRef: 'new-order' }));
      return null;
    }).then(() => running((shop) => askUnlessStandstill(() => shop.ask('GET', `client?clientIdKey=${ANN}`))));
    expect(returned.status, 'who comes back afterwards is kept at the next start').to.equal(200);
  });
}

async function leaveTraces(shop: Tenant, clientIdKey: string): Promise<void> {
  const device = { clientHints: { jsOk: true }, fingerprint: `device of ${clientIdKey}`, ip: '198.51.100.7' };
  const orderRef = `${clientIdKey}-1`;
  const binding = { requisiteRef: 'requisite-7', acceptorKeys: ['acceptor-1'] };
  const override = { group: 'TRUSTED', reason: `knows ${clientIdKey}` };
  const asked: readonly (() => Promise<{ readonly status: number }>)[] = [
    () => shop.score({ clientIdKey, ...device }),
    () => shop.verdict({ clientIdKey, orderRef }, { 'Idempotency-Key': clientIdKey }),
    () => shop.ask('POST', 'outcomes', { clientIdKey, orderRef, outcome: 'PAID' }),
    () => shop.ask('PUT', `client/binding?clientIdKey=${clientIdKey}`, binding),
    () => shop.ask('PUT', `client/override?clientIdKey=${clientIdKey}`, override),
    () => shop.ask('PUT', `lists/known/entries?value=${clientIdKey}`, { reason: 'a regular' }),
    () => shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-2`, ...device }),
  ];
  await shop.ask('PUT', 'lists/known', { kind: 'client' });
  for (const ask of asked) expect((await askUnlessStandstill(ask)).status).to.be.within(200, 204);
}

/** Reads the data of a payer in every way, so that it is in the audit, searched and cached. */
async function lookFor(shop: Tenant, clientIdKey: string): Promise<void> {
  const client = `clientIdKey=${clientIdKey}`;
  const [decision] = await shop.decisions({ clientIdKey });
  for (const path of [
    `client?clientIdKey=${clientIdKey}`,
    `client/history?${client}`,
    `client/export?${client}`,
    `client/links?${client}`,
    `decisions?orderRef=${clientIdKey}-1`,
    `decisions/${decision?.decisionId}/explanation`,
  ])
    expect((await askUnlessStandstill(() => shop.ask('GET', path))).status, path).to.equal(200);
}

/** Works out evidence, whose result is kept. */
async function workOut(shop: Tenant, kind: string): Promise<void> {
  const body = { version: 'p2.v10' };
  const asked = await askUnlessStandstill(() =>
    shop.ask<{ readonly jobId: string }>('POST', 'evidence', { kind, ...body }),
  );
  const { jobId } = asked.body;
  await until(`the ${kind} is done`, async () => {
    const { body: told } = await shop.ask<{ readonly job?: { readonly state: string } }>(
      'GET',
      `evidence/${jobId}`,
    );
    expect(told.job?.state).to.not.equal('failed');
    return told.job?.state === 'done';
  });
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

describe('a restored backup on SQLite', () => {
  drill(async (dataDir) => {
    const saved = join(temporaryDirectory(), 'data');
    const archiveDir = temporaryDirectory();
    return {
      env: { ARCHIVE_DIR: archiveDir },
      redisUrl: null,
      archiveDir,
      archiveS3: null,
      archiveFolder: archiveDir,
      save: async () => cpSync(dataDir, saved, { recursive: true }),
      putBack: async () => {
        rmSync(dataDir, { recursive: true });
        cpSync(saved, dataDir, { recursive: true });
      },
      bytes: async () => dataDir,
    };
  });
});

describeWithServer('redis-server', 'a restored backup on Redis, with an archive in S3', () => {
  drill(async (dataDir) => {
    const [redis, s3] = [await startStandalone(), await startS3()];
    const port = redis.nodes[0]?.port ?? 0;
    const archiveDir = join(dataDir, 'archive-cache');
    return {
      env: { REDIS_URL: redis.url, SIGNAL_SECRET, ...s3Environment(s3.port, 'drill') },
      redisUrl: redis.url,
      archiveDir,
      archiveS3: s3Place(s3.port, 'drill'),
      archiveFolder: s3.folder,
      save: async () => {
        await command(port, ['EVAL', SAVE, '0']);
      },
      putBack: async () => {
        await command(port, ['EVAL', PUT_BACK, '0']);
      },
      bytes: async () => {
        await command(port, ['CONFIG', 'SET', 'rdbcompression', 'no']);
        await command(port, ['SAVE']);
        const reply = await command(port, ['CONFIG', 'GET', 'dir']);
        return Array.isArray(reply) ? String(reply[1]) : '';
      },
    };
  });
});

/** Copies every key into the second database. */
const SAVE = `
  for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 1) end
  return 1`;

/** Removes the copy, which is the backup and not the store. */
const PUT_BACK = `
  redis.call('FLUSHDB')
  redis.call('SELECT', 1)
  for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 0) end
  redis.call('FLUSHDB')
  redis.call('SELECT', 0)
  return 1`;
