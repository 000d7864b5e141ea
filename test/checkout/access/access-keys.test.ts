import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  AccessKeys,
  GRANTABLE_OPERATIONS,
  getKeyStatus,
  INSTALLATION_PLATFORM,
  isGranted,
  KeyRefused,
} from '#checkout/access/access-keys.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import { type Documents, STORE_ACCEPTED_REGISTER } from '#state/documents.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { MovableClock } from '../../service/movable-clock.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const shop = toPlatformName('shop');
const FORM = /^ka_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/;
const DAY_MS = 24 * 3600_000;

describeOnStores('access keys', (store) => {
  let clock: MovableClock;
  let keys: AccessKeys;
  let laterMs: number;
  /** The monotonic clock of a process, which the test moves, too. */
  const monotonicMs = () => performance.now() + laterMs;
  beforeEach(() => {
    clock = new MovableClock();
    laterMs = 0;
    keys = new AccessKeys(store().documents, clock.now, monotonicMs);
  });

  it('always have one form, and are never the same', async () => {
    const issued = await Promise.all(
      Array.from({ length: 20 }, () => keys.issue(shop, ['score'], KEY_LIFETIME_MS)),
    );
    for (const { key, record } of issued) {
      expect(key).to.match(FORM);
      expect(key).to.have.length(59);
      expect(key.slice(3, 15)).to.equal(record.id);
    }
    expect(new Set(issued.map(({ key }) => key)).size).to.equal(20);
  });

  it('live for ten years at most, and for ever for the installation alone', async () => {
    const refusal = (platform: PlatformName, lifetimeMs: number | null) =>
      keys.issue(platform, ['lists'], lifetimeMs).then(
        ({ record }) => record.expiresAt,
        (error: unknown) => (error instanceof KeyRefused ? error.message : error),
      );
    expect(await refusal(shop, 3650 * DAY_MS)).to.equal('2035-12-30T00:00:00.000Z');
    expect(await refusal(shop, 20_000 * DAY_MS)).to.equal(
      'a key of shop cannot live for 20000 days: at most 3650 days are allowed; only keys of "*" may live for ever',
    );
    expect(await refusal(shop, null)).to.equal(
      'a key of shop cannot live for ever: at most 3650 days are allowed; only keys of "*" may live for ever',
    );
    expect(await refusal(INSTALLATION_PLATFORM, null)).to.equal(null);
    expect(await refusal(INSTALLATION_PLATFORM, 3651 * DAY_MS)).to.equal(
      'a key of * cannot live for 3651 days: at most 3650 days are allowed',
    );
  });

  it('are kept by the same limits, whoever made their records', async () => {
    const { record } = keys.createKey(shop, ['score'], DAY_MS);
    for (const expiresAt of [null, '2081-01-01T00:00:00.000Z'])
      expect(await keys.storeKey({ ...record, expiresAt }).catch((error: unknown) => error)).to.be.instanceOf(
        KeyRefused,
      );
    expect(await keys.find(record.id)).to.equal(null);
  });

  it('are at most two hundred live ones of a platform', async () => {
    const crowd = toPlatformName('crowd');
    const first = await keys.issue(crowd, ['score'], DAY_MS);
    for (let more = 1; more < 200; more += 1) await keys.issue(crowd, ['score'], DAY_MS);
    const refused = await keys.issue(crowd, ['score'], DAY_MS).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(KeyRefused);
    expect(String(refused)).to.include(
      'crowd has 200 live keys, and at most 200 are allowed; revoke keys that are no longer used',
    );
    await keys.revoke(first.record.id);
    expect((await keys.issue(crowd, ['score'], DAY_MS)).record.platform).to.equal('crowd');
    expect((await keys.issue(shop, ['score'], DAY_MS)).record.platform).to.equal('shop');
  });

  it('carry their platform and operations', async () => {
    const { key } = await keys.issue(shop, ['verdict', 'score', 'verdict'], KEY_LIFETIME_MS);
    expect(await keys.authenticate(key)).to.deep.include({
      platform: 'shop',
      operations: ['score', 'verdict'],
      issuedAt: '2026-01-01T00:00:00.000Z',
      expiresAt: '2027-01-01T00:00:00.000Z',
      revokedAt: null,
    });
  });

  it('of one platform never roll out versions, and those of the installation read no client', async () => {
    const { key, record } = await keys.issue(shop, GRANTABLE_OPERATIONS, KEY_LIFETIME_MS);
    expect(record.operations).to.deep.equal(GRANTABLE_OPERATIONS.filter((one) => one !== 'operate'));
    const operator = await keys.issue(INSTALLATION_PLATFORM, GRANTABLE_OPERATIONS, null);
    expect(operator.record.operations).to.deep.equal([
      'lists:read',
      'lists',
      'rules:read',
      'rules',
      'operate',
      'keys',
      'audit',
      'approve',
    ]);
    // Like a record that somebody wrote by hand.
    await store().documents.set('access-keys', record.id, { ...record, operations: GRANTABLE_OPERATIONS });
    const known = await keys.authenticate(key);
    expect(
      known === null ? null : GRANTABLE_OPERATIONS.filter((one) => !isGranted(known, one)),
    ).to.deep.equal(['operate']);
  });

  it('that may change something may read it, but not the other way round', async () => {
    const reading = await keys.issue(shop, ['clients:read', 'lists:read', 'rules:read'], KEY_LIFETIME_MS);
    const changing = await keys.issue(shop, ['clients', 'lists', 'rules'], KEY_LIFETIME_MS);
    const granted = ({ record }: typeof reading) =>
      GRANTABLE_OPERATIONS.filter((one) => isGranted(record, one));
    expect(granted(reading)).to.deep.equal(['clients:read', 'lists:read', 'rules:read']);
    expect(granted(changing)).to.deep.equal([
      'clients:read',
      'clients',
      'lists:read',
      'lists',
      'rules:read',
      'rules',
    ]);
  });

  it('name their owner, if one was given', async () => {
    expect((await keys.issue(shop, ['score'], KEY_LIFETIME_MS, 'risk-team')).record.owner).to.equal(
      'risk-team',
    );
    expect((await keys.issue(shop, ['score'], KEY_LIFETIME_MS)).record).not.to.have.property('owner');
  });

  it('are checked to the last character', async () => {
    const { key, record } = await keys.issue(shop, GRANTABLE_OPERATIONS, KEY_LIFETIME_MS);
    const wrong = [
      '',
      record.id,
      record.sha256,
      `${key} `,
      key.slice(0, -1),
      `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`,
      key.replace('ka_', 'KA_'),
      `ka_${record.id}_${record.sha256.slice(0, 43)}`,
    ];
    for (const text of wrong) expect(await keys.authenticate(text), text).to.equal(null);
    expect(await keys.authenticate(key)).not.to.equal(null);
  });

  it('end when they expire, to the millisecond', async () => {
    const { key, record } = await keys.issue(shop, ['score'], DAY_MS);
    expect(record.expiresAt).to.equal('2026-01-02T00:00:00.000Z');
    clock.moveSeconds(24 * 3600 - 0.001);
    expect(await keys.authenticate(key)).not.to.equal(null);
    clock.moveSeconds(0.001);
    expect(await keys.authenticate(key)).to.equal(null);
  });

  it('revoked elsewhere are refused within a second', async () => {
    const elsewhere = new AccessKeys(store().documents, clock.now);
    const { key, record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    expect(await keys.authenticate(key)).not.to.equal(null);
    await elsewhere.revoke(record.id);
    expect(await elsewhere.authenticate(key)).to.equal(null);
    laterMs += 1000;
    expect(await keys.authenticate(key)).to.equal(null);
  });

  it('are accepted for a minute without the store when they were known, and otherwise refused', async () => {
    let isAway = false;
    const { documents } = store();
    const sometimes: Documents = {
      get: (collection, name) =>
        isAway ? Promise.reject(new StoreUnavailable('away')) : documents.get(collection, name),
      set: (collection, name, value, ttlMs) => documents.set(collection, name, value, ttlMs),
      delete: (collection, name) => documents.delete(collection, name),
      list: (collection) => documents.list(collection),
      findRecentVersion: (collection) => (isAway ? null : documents.findRecentVersion(collection)),
    };
    const node = new AccessKeys(sometimes, clock.now, monotonicMs);
    const { key, record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    const other = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    expect((await node.authenticate(key))?.id).to.equal(record.id);
    isAway = true;
    laterMs += 600;
    expect((await node.authenticate(key))?.id).to.equal(record.id);
    const failure = await node.authenticate(other.key).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(StoreUnavailable);
    await keys.revoke(record.id);
    isAway = false;
    laterMs += 600;
    expect(await node.authenticate(key)).to.equal(null);
  });

  it('are each read once while none of them changes, and again after a change', async () => {
    const { documents } = store();
    let reads = 0;
    let version = 'before';
    const followed: Documents = {
      ...documents,
      get: (collection, name) => {
        reads++;
        return documents.get(collection, name);
      },
      findRecentVersion: () => ({ version, asOfMs: monotonicMs() }),
    };
    const node = new AccessKeys(followed, clock.now, monotonicMs);
    const issued = await Promise.all(
      Array.from({ length: 5 }, () => keys.issue(shop, ['score'], KEY_LIFETIME_MS)),
    );
    const authenticateAll = () => Promise.all(issued.map(({ key }) => node.authenticate(key)));
    await authenticateAll();
    laterMs += 600;
    await authenticateAll();
    expect(reads).to.equal(5);
    await keys.revoke(issued[0]?.record.id ?? '');
    version = 'after';
    laterMs += 600;
    expect((await authenticateAll()).filter((record) => record === null)).to.have.length(1);
    expect(reads).to.equal(10);
  });

  it('are refused within a second also when the nodes could not be notified', async () => {
    const { documents } = store();
    const node = new AccessKeys({ ...documents, findRecentVersion: () => null }, clock.now, monotonicMs);
    const { key, record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    expect(await node.authenticate(key)).not.to.equal(null);
    await keys.revoke(record.id);
    laterMs += 1000;
    expect(await node.authenticate(key)).to.equal(null);
  });

  it('issued elsewhere are known at once', async () => {
    const elsewhere = new AccessKeys(store().documents, clock.now);
    const { key } = await elsewhere.issue(shop, ['score'], KEY_LIFETIME_MS);
    expect(await keys.authenticate(key)).not.to.equal(null);
  });

  it('stay in the list after their end, with the reason', async () => {
    const platform = toPlatformName('listed');
    const [live, expired, revoked] = await Promise.all([
      keys.issue(platform, ['score'], KEY_LIFETIME_MS),
      keys.issue(platform, ['score'], 1000),
      keys.issue(platform, ['score'], KEY_LIFETIME_MS),
    ]);
    await keys.revoke(revoked.record.id);
    clock.moveSeconds(10);
    const listed = (await keys.list()).filter((record) => record.platform === platform);
    const status = new Map(listed.map((record) => [record.id, getKeyStatus(record, clock.now())]));
    expect(status.get(live.record.id)).to.equal('live');
    expect(status.get(expired.record.id)).to.equal('expired');
    expect(status.get(revoked.record.id)).to.equal('revoked');
  });

  it('keep the time of the first revocation', async () => {
    const { record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    const first = await keys.revoke(record.id);
    clock.moveSeconds(60);
    expect(await keys.revoke(record.id)).to.deep.equal(first);
    expect(await keys.revoke('000000000000')).to.equal(null);
  });
});

describe('the record of an access key', () => {
  it('has nothing of the secret in any file of the store', async () => {
    const directory = temporaryDirectory();
    const store = openSqliteStore(directory, { salt: TEST_SALT });
    const keys = new AccessKeys(store.documents, Date.now);
    const { key, record } = await keys.issue(shop, GRANTABLE_OPERATIONS, KEY_LIFETIME_MS);
    await keys.authenticate(key);
    await keys.revoke(record.id);
    const contents = () =>
      readdirSync(directory).map((file) => readFileSync(join(directory, file)).toString('latin1'));
    const whileOpen = contents();
    await store.close();
    for (const text of [...whileOpen, ...contents()]) {
      expect(text).not.to.include(key.slice(16));
      expect(text).not.to.include(key.slice(16, 36));
    }
    expect(contents().join('')).to.include(record.sha256);
  });
});

describeOnStores('an access key that the store has lost', (store) => {
  let clock: MovableClock;
  let laterMs: number;
  let lost: string[];
  let keys: AccessKeys;
  const monotonicMs = () => performance.now() + laterMs;
  const forget = (id: string) => store().documents.delete('access-keys', id);
  const tried = async (key: string) => {
    laterMs += 1000;
    return keys.authenticate(key).catch(String);
  };
  const refused = (id: string) =>
    `KeyLostByStore: the access key ${id} of shop was live when it was last read, but the store no longer holds it`;
  beforeEach(() => {
    clock = new MovableClock();
    laterMs = 0;
    lost = [];
    keys = new AccessKeys(store().documents, clock.now, monotonicMs, ({ id }) => lost.push(id));
  });

  it('is not refused as unknown, whoever asks how often, and is told of once', async () => {
    const { key, record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    await keys.authenticate(key);
    await forget(record.id);
    expect(await tried(key)).to.equal(refused(record.id));
    expect(await keys.authenticate(key).catch(String)).to.equal(refused(record.id));
    expect(await tried(key)).to.equal(refused(record.id));
    expect(await keys.findLive(record.id).catch(String)).to.equal(refused(record.id));
    expect([lost, keys.listLost()]).to.deep.equal([[record.id], [{ id: record.id, platform: 'shop' }]]);
  });

  it('is known also when this process only listed it', async () => {
    const { key, record } = await new AccessKeys(store().documents, clock.now).issue(
      shop,
      ['score'],
      KEY_LIFETIME_MS,
    );
    await keys.list();
    await forget(record.id);
    expect(await tried(key)).to.equal(refused(record.id));
  });

  it('is accepted again once it is back', async () => {
    const { key, record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    await keys.authenticate(key);
    await forget(record.id);
    await tried(key);
    await keys.storeKey(record);
    expect(await tried(key)).to.deep.include({ id: record.id });
    expect(keys.listLost()).to.deep.equal([]);
  });

  it('keeps every other text of a key unknown', async () => {
    const { key, record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    await keys.authenticate(key);
    await forget(record.id);
    expect(await tried(`${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)).to.equal(null);
    expect(await tried(`ka_000000000000_${'A'.repeat(43)}`)).to.equal(null);
    expect(lost).to.deep.equal([]);
  });

  it('is unknown once it has expired, or was revoked before it was lost', async () => {
    const expiring = await keys.issue(shop, ['score'], 60_000);
    const revoked = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    for (const { key } of [expiring, revoked]) await keys.authenticate(key);
    await keys.revoke(revoked.record.id);
    expect(await tried(revoked.key)).to.equal(null);
    for (const { record } of [expiring, revoked]) await forget(record.id);
    clock.moveSeconds(61);
    expect([await tried(expiring.key), await tried(revoked.key)]).to.deep.equal([null, null]);
  });

  it('is unknown once somebody has accepted the store as it is', async () => {
    const { documents, registers } = store();
    await until('the versions are known', async () => documents.findRecentVersion('accepted') !== null);
    const { key, record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    await keys.authenticate(key);
    await forget(record.id);
    expect(await tried(key)).to.equal(refused(record.id));
    const before = await registers.read(STORE_ACCEPTED_REGISTER);
    await registers.compareAndSet(STORE_ACCEPTED_REGISTER, before, crypto.randomUUID());
    await until('the acceptance is known', async () => (await tried(key)) === null);
    expect(keys.listLost()).to.deep.equal([]);
  });

  it('is not shown any more when nobody has tried it for ten minutes', async () => {
    const { key, record } = await keys.issue(shop, ['score'], KEY_LIFETIME_MS);
    await keys.authenticate(key);
    await forget(record.id);
    await tried(key);
    laterMs += 10 * 60_000 + 1;
    expect(keys.listLost()).to.deep.equal([]);
  });
});
