import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import { createFirstRollout } from '#checkout/rollout/rollout.ts';
import { rememberRollout } from '#checkout/rollout/rollout-memory.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { HEAD_REGISTER } from '#history/archive/s3/bucket-home.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import { STORE_ACCEPTED_REGISTER } from '#state/documents.ts';
import type { InstallationIdentity } from '#state/known-installation.ts';
import { openStore } from '#state/open-store.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { SECRET_REGISTER } from '#workbench/upkeep/signal-secret.ts';
import { clientKey, TEST_SALT } from '../../decision/payer/client-keys.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { currentRules } from '../../service/current-rules.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { startService } from '../../service/running-service.ts';
import { scoring } from './scoring.ts';

describe('state check and state rebuild', () => {
  const env = { DATA_DIR: temporaryDirectory(), ARCHIVE_DIR: 'off' };
  const { hash } = clientKey(toPlatformName('shop'), 'payer-1');
  const rebuild = (client: string, reason: string) =>
    scoring(['state', 'rebuild', '--platform', 'shop', '--client', client, '--reason', reason], env);

  before(async () => {
    const store = openSqliteStore(env.DATA_DIR, { salt: TEST_SALT });
    const service = await startService({ store });
    const shop = await service.tenant('shop');
    await shop.verdict({ clientIdKey: 'payer-1' });
    await shop.override('payer-1', 'BLOCKED');
    await service.stop();
    const place = { kind: 'client', name: hash } as const;
    const found = await store.texts.read(place);
    await store.texts.replace(place, found?.stamp ?? '', '[99]');
    await store.close();
  });

  it('show unreadable data, why and what to do, and repair it', async () => {
    const check = await scoring(['state', 'check'], env);
    expect(check.exitCode).to.equal(1);
    expect(check.stdout).to.match(
      new RegExp(
        `client/${hash}  client state has format 99; this version reads format \\d+  state rebuild --platform shop --client payer-1 --reason TEXT\n1 of \\d+ stored texts cannot be read\\.\n$`,
      ),
    );
    const rebuilt = await rebuild('payer-1', 'disk failed');
    expect([rebuilt.exitCode, rebuilt.stderr]).to.deep.equal([0, '']);
    expect(rebuilt.stdout).to.match(
      /^It could not be read: client state has format 99; this version reads format \d+\nIt is rebuilt from 2 recorded entries\.\n$/,
    );
    const audit = await scoring(['audit'], env);
    expect(audit.stdout).to.match(
      /client rebuilt {2}shop payer-1: \{"sha256":"[0-9a-f]{64}","bytes":4\} -> \{"sha256":"[0-9a-f]{64}","bytes":\d+\} {2}"disk failed"\n$/,
    );
    const after = await scoring(['state', 'check'], env);
    expect(after.exitCode).to.equal(0);
    expect(after.stdout).to.match(/^Nothing is damaged: \d+ stored texts can be read\.\n$/);
  });

  it('say which arguments are allowed', async () => {
    const [readable, blank] = await Promise.all([rebuild('nobody', 'x'), rebuild('nobody', ' ')]);
    expect([readable.exitCode, readable.stderr]).to.deep.equal([
      1,
      'error: nobody has no state, or its state can be read; "state check" lists states that cannot\n',
    ]);
    expect([blank.exitCode, blank.stderr]).to.deep.equal([
      2,
      'error: --reason must say why, in 1 to 1000 characters\n',
    ]);
  });
});

describe('what a store notes once', () => {
  for (const [command, registers, action, absent] of [
    ['forget-secret', [SECRET_REGISTER], 'secret forgotten', 'no SIGNAL_SECRET is noted in this store'],
    [
      'forget-archive',
      [ARCHIVE_REGISTER, HEAD_REGISTER],
      'archive forgotten',
      'no archive is noted in this store',
    ],
  ] as const)
    it(`is forgotten by ${command} alone, for a reason that the audit has`, async () => {
      const env = { DATA_DIR: temporaryDirectory(), ARCHIVE_DIR: 'off' };
      const store = openSqliteStore(env.DATA_DIR, { salt: TEST_SALT });
      const noted = store.registers;
      for (const name of ['another', ...registers]) await noted.compareAndSet(name, null, 'noted');
      const forget = () => scoring(['state', command, '--reason', 'it is lost'], env);
      expect((await forget()).exitCode).to.equal(0);
      for (const name of registers) expect(await noted.read(name), name).to.equal(null);
      expect(await noted.read('another')).to.equal('noted');
      expect(await forget()).to.deep.equal({ exitCode: 1, stdout: '', stderr: `error: ${absent}\n` });
      const audit = await scoring(['audit'], env);
      expect(audit.stdout).to.match(new RegExp(`${action}.*"it is lost"\\n$`));
      await store.close();
    });
});

describe('state accept-empty', () => {
  const dataDir = temporaryDirectory();
  const env = { DATA_DIR: dataDir, ARCHIVE_DIR: 'off' };
  const place = { redisUrl: null, dataDir };
  const store = (also = {}) => openStore({ ...place, ...also }, () => {});
  const accept = () => scoring(['state', 'accept-empty', '--reason', 'the disk was lost'], env);
  let installation: InstallationIdentity;

  before(async () => {
    const lived = await store();
    ({ installation } = lived);
    const keys = new AccessKeys(lived.documents, Date.now);
    await keys.issue(toPlatformName('shop'), ['score'], KEY_LIFETIME_MS);
    await lived.close();
    const rollout = createFirstRollout(currentRules(), Date.now());
    rememberRollout(dataDir, { installation: installation.id, rollout: { ...rollout, revision: 7 } });
    for (const end of ['', '-wal', '-shm']) rmSync(join(dataDir, `scoring.sqlite${end}`), { force: true });
  });

  it('is what every other command and a start ask for when the store came back empty', async () => {
    const { exitCode, stderr } = await scoring(['keys', 'list'], env);
    const text = `the store sqlite ${join(dataDir, 'scoring.sqlite')} is empty, but ${join(dataDir, 'sqlite-installation.json')} says that it held an installation; restore the known store, or accept this one: "state accept-empty --reason TEXT"`;
    expect([exitCode, stderr]).to.deep.equal([3, `error: ${text}\n`]);
    expect(String(await store().catch(String))).to.equal(`AnotherStore: ${text}`);
  });

  it('goes on as the same installation, with its salt and rollout, and is in the audit', async () => {
    const { exitCode, stdout } = await accept();
    expect([exitCode, stdout]).to.deep.equal([
      0,
      `The store sqlite ${join(dataDir, 'scoring.sqlite')} is accepted as installation ${installation.id}. Nodes follow revision 8 of the rollout. Access keys that it lacks are refused from now on; issue new ones. Start nodes that have ended, and on SQLite the service, again.\n`,
    ]);
    const after = await store();
    expect(after.installation).to.deep.equal(installation);
    expect(await after.registers.read(STORE_ACCEPTED_REGISTER)).to.include('the disk was lost');
    await after.close();
    expect((await scoring(['audit'], env)).stdout).to.match(
      new RegExp(`store accepted.*${installation.id}.*"the disk was lost"`),
    );
  });

  it('needs a reason', async () => {
    const { exitCode } = await scoring(['state', 'accept-empty'], env);
    expect(exitCode).to.equal(2);
  });
});
