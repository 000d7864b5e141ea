import { expect } from 'chai';
import { openSqliteStore } from '../../src/state/sqlite/store.ts';
import { TEST_SALT } from '../client/client-keys.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { startService } from '../service/running-service.ts';
import { scoring } from './scoring.ts';

const dataDir = temporaryDirectory();

describe('the links command', () => {
  before(async () => {
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    const service = await startService({ store });
    const shop = await service.tenant('shop');
    // The command searches back from the present.
    service.clock.moveSeconds((Date.now() - service.clock.now()) / 1000);
    for (const clientIdKey of ['ann', 'bob', 'payer']) {
      await shop.score({ clientIdKey, fingerprint: 'shared', ip: '198.51.100.1' });
      await shop.verdict({ clientIdKey, orderRef: `${clientIdKey}-1` });
      await shop.outcome(clientIdKey, `${clientIdKey}-1`, clientIdKey === 'payer' ? 'PAID' : 'UNPAID');
    }
    await service.stop();
    await store.close();
  });

  const run = (...args: readonly string[]) =>
    scoring(['links', ...args, '--platform', 'shop'], { DATA_DIR: dataDir });

  it('shows who shares devices, and proposes those who did not pay', async () => {
    const { exitCode, stdout, stderr } = await run('ann');
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.filter((line) => /^(fingerprint|ip) /.test(line))).to.have.length(2);
    const rows = lines.filter((line) => /^(CLIENT|ann|bob|payer) /.test(line));
    expect(rows.map((line) => line.trimEnd())).to.deep.equal([
      'CLIENT  TIE     PAID  REVERSED  UNPAID  TURNED AWAY  UNKNOWN  PAID OF GRANTED  MONEY PAID/REVERSED/UNPAID  VERDICTS   BLOCK',
      'ann     self       0         0       1            0        0           0 of 1  0/0/25 EUR                  GET_NEW 1  proposed',
      'bob     device     0         0       0            1        0                -  -                           BLOCK 1    proposed',
      'payer   device     1         0       0            0        0           1 of 1  25/0/0 EUR                  BLOCK 1    -',
    ]);
    expect(lines.at(-1)).to.equal('A list of ann, bob refuses 2 clients, of whom none paid.');
  });

  it('says which payers a block of some of them would refuse', async () => {
    const { stdout } = await run('ann', '--block', 'bob', 'payer');
    expect(stdout.trimEnd().split('\n').at(-1)).to.equal(
      'A list of bob, payer refuses 2 clients, of whom 1 paid 1 order: 25 EUR.',
    );
  });

  it('prints what the API answers as JSON', async () => {
    const { clients, proposal } = JSON.parse((await run('ann', '--depth', '1', '--json')).stdout);
    expect(clients).to.have.length(3);
    expect(proposal.clients).to.deep.equal(['ann', 'bob']);
  });

  it('shows what was known at a time in the past', async () => {
    const { exitCode, stdout } = await run('ann', '--as-of', '2020-02-02');
    expect([exitCode, ...stdout.split('\n').slice(0, 2)]).to.deep.equal([
      0,
      'As known at 2020-02-02T00:00:00Z.',
      'Since 2019-12-04T00:00:00.000Z:',
    ]);
    expect(stdout).to.include('Nobody is proposed for a list.');
    expect(stdout).to.include('Nobody shares a device or an address with it.').and.not.include('DEVICE');
    expect(await run('ann', '--as-of', 'then')).to.deep.include({ exitCode: 2 });
  });

  it('has nothing to show of an unknown client', async () => {
    const stderr = 'Nothing is known of the client "nobody" of shop.\n';
    expect(await run('nobody')).to.deep.equal({ exitCode: 1, stdout: '', stderr });
  });

  it('refuses to block clients that it does not show, and limits out of range', async () => {
    for (const [option, value, why] of [
      ['--block', 'eve', '--block names "eve", who is not among the clients shown'],
      ['--depth', '3', '--depth must be a whole number from 1 to 2, not "3"'],
    ] as const)
      expect(await run('ann', option, value)).to.include({ exitCode: 2, stderr: `error: ${why}\n` });
  });
});
