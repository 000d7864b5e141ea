import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ArchivedStore } from '../../archive/archived-store.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { newClient, T0, verdict } from '../../state/clients.ts';
import { scoring } from '../scoring.ts';

describe('archive verify', () => {
  let place: ArchivedStore;
  beforeEach(async () => {
    place = await ArchivedStore.open();
  });
  afterEach(() => place.close());

  const verified = () =>
    scoring(['archive', 'verify'], { ARCHIVE_DIR: place.archive.folder, DATA_DIR: temporaryDirectory() });

  it('finds nothing wrong with an archive that holds nothing yet', async () => {
    const stdout = '0 decisions: 0 reproduced, 0 not reproduced.\n';
    expect(await verified()).to.deep.equal({ exitCode: 0, stdout, stderr: '' });
  });

  it('says which file of the archive is missing or damaged, without a stack', async () => {
    await verdict(place.store, newClient(), 'order-1', T0);
    await place.shipper().step();
    const salt = join(place.archive.folder, 'client-salt');
    rmSync(salt);
    const missing = `error: ${salt} is missing; a node that ships to this archive puts it back, and so does copying it from a backup\n`;
    expect(await verified()).to.deep.equal({ exitCode: 3, stdout: '', stderr: missing });
    const log = join(place.archive.folder, 'log');
    for (const name of readdirSync(log)) writeFileSync(join(log, name), 'not ours');
    const { exitCode, stderr } = await verified();
    expect(exitCode).to.equal(3);
    expect(stderr).to.match(/^error: \S+ is not readable.*\n$/);
  });
});

const TEXTS = `SELECT unnest(['=cmd|'' /C calc''!A0', '+49 30', '-x', '@sum(1)', 'a "quoted", order', 'b=1', 'x;=1']) AS order_ref`;

describe('archive query', () => {
  const query = async (sql: string, format: string) => {
    const env = { DATA_DIR: temporaryDirectory(), ARCHIVE_DIR: temporaryDirectory() };
    const { exitCode, stdout, stderr } = await scoring(['archive', 'query', sql, '--format', format], env);
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    return stdout;
  };

  it('prints no text as CSV that a spreadsheet would run as a formula', async () => {
    const cells = [
      "'=cmd|' /C calc'!A0",
      "'+49 30",
      "'-x",
      "'@sum(1)",
      '"a ""quoted"", order"',
      'b=1',
      '"x;=1"',
    ];
    expect(await query(TEXTS, 'csv')).to.equal(`order_ref\n${cells.join('\n')}\n`);
  });

  it('leaves negative numbers as they are in CSV', async () => {
    expect(await query("SELECT -5 AS a, -0.25 AS b, TIMESTAMP '2026-11-21 10:00:00' AS c", 'csv')).to.equal(
      'a,b,c\n-5,-0.25,2026-11-21T10:00:00.000Z\n',
    );
  });

  it('prints every text unchanged as JSON', async () => {
    const rows: { order_ref: string }[] = JSON.parse(await query(TEXTS, 'json'));
    const texts = ["=cmd|' /C calc'!A0", '+49 30', '-x', '@sum(1)', 'a "quoted", order', 'b=1', 'x;=1'];
    expect(rows.map(({ order_ref }) => order_ref)).to.deep.equal(texts);
  });
});

describe('an archive command on something other than an archive', () => {
  it("gives the system's message without a stack, and the exit code for the environment", async () => {
    const file = join(temporaryDirectory(), 'archive');
    writeFileSync(file, 'no folder');
    const env = { DATA_DIR: temporaryDirectory(), ARCHIVE_DIR: file };
    await scoring(['keys', 'list'], env);
    const { exitCode, stdout, stderr } = await scoring(['archive', 'status'], env);
    expect([exitCode, stdout]).to.deep.equal([3, '']);
    expect(stderr).to.match(/^error: ENOTDIR: not a directory, scandir '\S+'\n$/);
  });
});
