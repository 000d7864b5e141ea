import { expect } from 'chai';
import { clientKey, platformName } from '../../../src/client/client-key.ts';
import { openSqliteStore } from '../../../src/state/sqlite/store.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { startService } from '../../service/running-service.ts';
import { scoring } from '../scoring.ts';

describe('state check and state repair', () => {
  const env = { DATA_DIR: temporaryDirectory(), ARCHIVE_DIR: 'off' };
  const { hash } = clientKey(platformName('shop'), 'payer-1');

  before(async () => {
    const store = openSqliteStore(env.DATA_DIR);
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

  it('show what cannot be read and why, change nothing without a reason, and mend with one', async () => {
    const check = await scoring(['state', 'check'], env);
    expect(check.exitCode).to.equal(1);
    expect(check.stdout).to.match(
      new RegExp(
        `client/${hash}  shop payer-1  client state has format 99; this version reads formats 1 to \\d+  state repair client/${hash} --reason TEXT\n1 of \\d+ stored texts cannot be read\\.\n$`,
      ),
    );
    const shown = await scoring(['state', 'repair', '--platform', 'shop', '--client', 'payer-1'], env);
    expect(shown.exitCode).to.equal(1);
    expect(shown.stdout).to.match(
      new RegExp(
        [
          `^client/${hash} \\(shop payer-1\\) cannot be read: client state has format 99; this version reads formats 1 to \\d+`,
          'It would be rebuilt from 2 recorded entries since \\S+Z\\.',
          'It has 1 decision, ladder level 0, 0 paid and 0 unpaid orders, not bound, BLOCKED by decision of .+\\.',
          'Nothing was changed\\. Give --reason TEXT to have it done\\.\n$',
        ].join('\n'),
      ),
    );
    const repaired = await scoring(['state', 'repair', `client/${hash}`, '--reason', 'disk failed'], env);
    expect([repaired.exitCode, repaired.stderr]).to.deep.equal([0, '']);
    expect(repaired.stdout).to.contain('It is rebuilt from 2 recorded entries since ');
    const audit = await scoring(['audit'], env);
    expect(audit.stdout).to.match(
      /client repaired {2}shop payer-1: \{"sha256":"[0-9a-f]{64}","bytes":4\} -> \{"sha256":"[0-9a-f]{64}","bytes":\d+\} {2}"disk failed"\n$/,
    );
    const after = await scoring(['state', 'check'], env);
    expect([after.exitCode, after.stdout]).to.deep.equal([0, 'All 3 stored texts can be read.\n']);
  });

  it('say what they may be asked', async () => {
    const [nothing, readable, rollout, blank] = await Promise.all([
      scoring(['state', 'repair'], env),
      scoring(['state', 'repair', 'client/nobody', '--reason', 'x'], env),
      scoring(['state', 'repair', 'register/rollout', '--reason', 'x'], env),
      scoring(['state', 'repair', 'client/nobody', '--reason', ' '], env),
    ]);
    expect([nothing.exitCode, nothing.stderr]).to.deep.equal([
      2,
      'error: say what to repair: a name that "state check" lists, or --platform and --client\n',
    ]);
    expect([readable.exitCode, readable.stderr]).to.deep.equal([
      1,
      'error: client/nobody needs no repair: there is no such text, or it can be read; "state check" lists what cannot\n',
    ]);
    expect([rollout.exitCode, rollout.stderr]).to.deep.equal([
      2,
      'error: "rules rollback --reason TEXT" repairs the rollout: from what the nodes decide with\n',
    ]);
    expect([blank.exitCode, blank.stderr]).to.deep.equal([
      2,
      'error: --reason must say why, in 1 to 1000 characters\n',
    ]);
  });
});
