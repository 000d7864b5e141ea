import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openShipper } from '../../src/archive/ship/open-shipper.ts';
import { clientNumber, platformName } from '../../src/client/client-key.ts';
import { scoring } from '../cli/scoring.ts';
import { clientKey } from '../client/client-keys.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { startStandalone } from '../servers/redis.ts';
import { command } from '../servers/redis-command.ts';
import { askUnlessStandstill } from '../servers/standstill.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import type { HeaderList } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { SIGNAL_SECRET } from '../service/running-service.ts';
import { spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';

const DAY_MS = 24 * 3_600_000;
const SHOP = platformName('shop');
const ANN = 'ann-who-is-erased';
const BOB = 'bob-who-stays';

/** The archive tells by number that somebody was erased, for whoever keeps a copy elsewhere. */
const TOMBSTONES = /[/](erasures|staging)[/]/;

/** What a backup of the store is made of, and what every byte of it says. */
interface BackedUp {
  readonly env: HeaderList;
  readonly redisUrl: string | null;
  save(): Promise<void>;
  putBack(): Promise<void>;
  text(): Promise<string>;
}

/** Everything that leads to a payer, as it may be written down. */
function tracesOf(clientIdKey: string): readonly string[] {
  const { hash } = clientKey(SHOP, clientIdKey);
  return [clientIdKey, hash.slice(0, 12), clientNumber(hash)];
}

function drill(make: (dataDir: string) => Promise<BackedUp>): void {
  it('brings nobody back who was erased since, from the store, its archive, its lists or its audit', async function () {
    this.timeout(300_000);
    const dataDir = temporaryDirectory();
    const archiveDir = temporaryDirectory();
    const archiveBackup = join(temporaryDirectory(), 'archive');
    const ledger = join(temporaryDirectory(), 'ledger');
    const store = await make(dataDir);
    const env = { ...store.env, ARCHIVE_DIR: archiveDir, ARCHIVE_SHIP: 'off', ERASURE_LEDGER: ledger };
    const key = await issueKey({ dataDir, redisUrl: store.redisUrl ?? undefined });
    const running = async <T>(act: (shop: Tenant) => Promise<T>): Promise<T> => {
      const service = await spawnService(dataDir, env);
      try {
        return await act(new Tenant(service, key));
      } finally {
        await service.stop();
      }
    };
    const ship = async () => {
      const place = { redisUrl: store.redisUrl, dataDir, archiveDir, archiveKeepMs: 400 * DAY_MS };
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
    await store.save();
    cpSync(archiveDir, archiveBackup, { recursive: true });
    const erased = await running((shop) => askUnlessStandstill(() => shop.ask('DELETE', `clients/${ANN}`)));
    expect(erased.status).to.equal(204);
    rmSync(archiveDir, { recursive: true });
    cpSync(archiveBackup, archiveDir, { recursive: true });
    await store.putBack();
    const before = await store.text();
    for (const trace of tracesOf(ANN).slice(0, 2)) expect(before).to.include(trace);
    expect(await archived(ANN)).to.be.above(3);

    const asked = await running((shop) => askUnlessStandstill(() => shop.ask('GET', `clients/${ANN}`)));
    expect(asked.status).to.equal(404);
    await ship();
    const after = await store.text();
    for (const trace of tracesOf(ANN)) expect(after.includes(trace), trace).to.equal(false);
    for (const trace of tracesOf(BOB).slice(0, 2)) expect(after.includes(trace), trace).to.equal(true);
    expect([await archived(ANN), (await archived(BOB)) > 3]).to.deep.equal([0, true]);
    expectNoFileAbout(ANN, archiveDir);
    const audit = await scoring(['audit', '--json'], { ...env, DATA_DIR: dataDir });
    expect(audit.stdout).to.include('"reason":"erased before a backup was put back"');
    expect(audit.stdout).to.not.include(ANN);

    const returned = await running(async (shop) => {
      await askUnlessStandstill(() => shop.verdict({ clientIdKey: ANN, orderRef: 'new-order' }));
      return null;
    }).then(() => running((shop) => askUnlessStandstill(() => shop.ask('GET', `clients/${ANN}`))));
    expect(returned.status, 'who comes back afterwards is kept at the next start').to.equal(200);
  });
}

function expectNoFileAbout(clientIdKey: string, archiveDir: string): void {
  const number = clientNumber(clientKey(SHOP, clientIdKey).hash);
  for (const path of filesBelow(archiveDir))
    for (const trace of tracesOf(clientIdKey))
      if (trace !== number || !TOMBSTONES.test(path))
        expect(readFileSync(path, 'latin1').includes(trace), `${trace} in ${path}`).to.equal(false);
}

async function leaveTraces(shop: Tenant, clientIdKey: string): Promise<void> {
  const device = { clientHints: { jsOk: true }, fingerprint: `device of ${clientIdKey}`, ip: '198.51.100.7' };
  const orderRef = `${clientIdKey}-1`;
  const binding = { requisiteRef: 'requisite-7', acceptorKeys: ['acceptor-1'] };
  const override = { group: 'TRUSTED', reason: `knows ${clientIdKey}`, by: 'desk' };
  const asked: readonly (() => Promise<{ readonly status: number }>)[] = [
    () => shop.score({ clientIdKey, ...device }),
    () => shop.verdict({ clientIdKey, orderRef }, { 'Idempotency-Key': clientIdKey }),
    () => shop.ask('POST', 'outcomes', { clientIdKey, orderRef, outcome: 'PAID' }),
    () => shop.ask('PUT', `clients/${clientIdKey}/binding`, binding),
    () => shop.ask('PUT', `clients/${clientIdKey}/override`, override),
    () => shop.ask('PUT', `lists/known/entries/${clientIdKey}`, { kind: 'client', reason: 'a regular' }),
    () => shop.ask('GET', `clients/${clientIdKey}`),
  ];
  for (const ask of asked) expect((await askUnlessStandstill(ask)).status).to.be.within(200, 204);
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

describe('a backup that is put back on SQLite', () => {
  drill(async (dataDir) => {
    const saved = join(temporaryDirectory(), 'data');
    return {
      env: {},
      redisUrl: null,
      save: async () => cpSync(dataDir, saved, { recursive: true }),
      putBack: async () => {
        rmSync(dataDir, { recursive: true });
        cpSync(saved, dataDir, { recursive: true });
      },
      text: async () =>
        filesBelow(dataDir)
          .filter((path) => existsSync(path))
          .map((path) => readFileSync(path, 'latin1'))
          .join('\n'),
    };
  });
});

describeWithServer('redis-server', 'a backup that is put back on Redis', () => {
  drill(async () => {
    const redis = await startStandalone();
    const port = redis.nodes[0]?.port ?? 0;
    const texts = async (...args: readonly string[]): Promise<readonly string[]> => {
      const reply = await command(port, args);
      return Array.isArray(reply) ? reply.map(String) : [];
    };
    return {
      env: { REDIS_URL: redis.url, SIGNAL_SECRET },
      redisUrl: redis.url,
      save: async () => {
        await command(port, ['EVAL', SAVE, '0']);
      },
      putBack: async () => {
        await command(port, ['EVAL', PUT_BACK, '0']);
      },
      text: async () => (await texts('EVAL', TEXT, '0')).join('\n'),
    };
  });
});

/** Copies every key into the second database. */
const SAVE = `
  for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 1) end
  return 1`;

const PUT_BACK = `
  redis.call('FLUSHDB')
  redis.call('SELECT', 1)
  for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 0) end
  redis.call('SELECT', 0)
  return 1`;

/** Every key with all that it holds. */
const TEXT = `
  local read = {
    string = function(key) return { redis.call('GET', key) } end,
    hash = function(key) return redis.call('HGETALL', key) end,
    set = function(key) return redis.call('SMEMBERS', key) end,
    zset = function(key) return redis.call('ZRANGE', key, 0, -1) end,
    list = function(key) return redis.call('LRANGE', key, 0, -1) end,
    stream = function(key) return { cjson.encode(redis.call('XRANGE', key, '-', '+')) } end,
  }
  local texts = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    texts[#texts + 1] = key
    for _, text in ipairs(read[redis.call('TYPE', key).ok](key)) do texts[#texts + 1] = tostring(text) end
  end
  return texts`;
