import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { startNode } from '../../processes/node-process.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { spawnService } from '../../service/service-process.ts';
import { SCORING, scoring } from './scoring.ts';

const SCORE = ['--platform', 'shop', '--operations', 'score'];

describe('keys', () => {
  let env: { DATA_DIR: string };
  beforeEach(() => {
    env = { DATA_DIR: temporaryDirectory() };
  });

  const issue = (...args: string[]) => scoring(['keys', 'issue', ...args, '--json'], env);

  it('are issued with an owner, and are audited with the user of the command', async () => {
    const issued = await issue('--platform', 'shop', '--operations', 'rules,erase', '--owner', 'risk-team');
    expect(issued.exitCode).to.equal(0);
    const { id, key, expiresAt: _, ...rest } = JSON.parse(issued.stdout);
    expect(key).to.match(/^ka_/);
    expect(rest).to.deep.equal({ platform: 'shop', operations: ['erase', 'rules'] });
    await scoring(['keys', 'revoke', id], env);
    const { stdout } = await scoring(['audit', '--json'], env);
    const entries = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const who = `user ${userInfo().username} on ${hostname()}`;
    expect(entries.map((entry) => [entry.who, entry.action, entry.platform, entry.subject])).to.deep.equal([
      [who, 'key issued', 'shop', id],
      [who, 'key revoked', 'shop', id],
    ]);
    expect(entries[1].before).to.include({ status: 'live', owner: 'risk-team' });
    expect(entries[1].after).to.include({ status: 'revoked' });
    expect(stdout).not.to.contain(key.slice(20));
    const shown = await scoring(['audit'], env);
    expect(shown.stdout.split('\n')[0]).to.contain(`${who}  key issued  shop ${id}: nothing -> {"id":`);
  });

  it('end after a year or at a given time, and never for the installation on request alone', async () => {
    const daysOf = async (...args: string[]) => {
      const { expiresAt } = JSON.parse((await issue(...args)).stdout);
      return expiresAt === null ? null : Math.round((Date.parse(expiresAt) - Date.now()) / (24 * 3600_000));
    };
    const ofAll = ['--platform', '*', '--operations', 'rules:read', '--expires', 'never'];
    const days = [await daysOf(...SCORE), await daysOf(...SCORE, '--expires', '90d'), await daysOf(...ofAll)];
    expect(days).to.deep.equal([365, 90, null]);
    const refused = async (expires: string) => {
      const { exitCode, stderr } = await issue(...SCORE, '--expires', expires);
      return [exitCode, stderr.split('\n')[0]];
    };
    expect([await refused('never'), await refused('20000d')]).to.deep.equal([
      [
        2,
        'error: a key of shop cannot live for ever: at most 3650 days are allowed; only keys of "*" may live for ever',
      ],
      [
        2,
        'error: a key of shop cannot live for 20000 days: at most 3650 days are allowed; only keys of "*" may live for ever',
      ],
    ]);
    const { stdout } = await scoring(['keys', 'list'], env);
    expect(stdout.split('\n').find((line) => line.includes('rules:read'))).to.match(/NEVER$/);
  });

  it('are issued as soon as another process unlocks the SQLite file, and the wait is explained', async () => {
    await scoring(['keys', 'list'], env);
    const other = new DatabaseSync(join(env.DATA_DIR, 'scoring.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    const { PATH } = process.env;
    const command = startNode([SCORING, 'keys', 'issue', ...SCORE, '--json'], { env: { PATH, ...env } });
    await until('it says that it waits', async () => command.stderr() !== '');
    other.exec('ROLLBACK');
    other.close();
    expect(await command.exited).to.equal(0);
    expect(command.stderr()).to.equal(
      'Another process keeps the SQLite file locked; waiting for it, up to 5 s in all.\n',
    );
    expect(JSON.parse(command.stdout())).to.include({ platform: 'shop' });
  });
});

describe('a store', () => {
  it('made by a service finds the demo key, which expires within a day and is audited', async () => {
    const dataDir = temporaryDirectory();
    const service = await spawnService(dataDir, { ARCHIVE_DIR: 'off' });
    // It serves before it prints its greeting.
    await until('the key is shown', async () => service.stdout().includes('It expires in 24 hours.'));
    const { stdout } = await scoring(['keys', 'list', '--json'], { DATA_DIR: dataDir });
    const audit = await scoring(['audit', '--json'], { DATA_DIR: dataDir });
    await service.stop();
    const [key, ...others] = JSON.parse(stdout);
    expect(others).to.deep.equal([]);
    expect(key).to.include({ platform: 'demo', status: 'live' });
    expect(Date.parse(key.expiresAt) - Date.parse(key.issuedAt)).to.equal(24 * 3600_000);
    const noted = audit.stdout.split('\n').filter((line) => line.includes('"key issued"'));
    expect(noted.map((line) => JSON.parse(line).who)).to.deep.equal(['service']);
  });
});
