import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { scoring } from '../scoring.ts';

const TEXTS = `SELECT unnest(['=cmd|'' /C calc''!A0', '+49 30', '-x', '@sum(1)', 'a "quoted", order', 'b=1', 'x;=1']) AS order_ref`;

describe('archive query', () => {
  const query = async (sql: string, format: string) => {
    const env = { DATA_DIR: temporaryDirectory(), ARCHIVE_DIR: temporaryDirectory() };
    const { exitCode, stdout, stderr } = await scoring(['archive', 'query', sql, '--format', format], env);
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    return stdout;
  };

  it('prints no text as CSV that a spreadsheet would run as a formula', async () => {
    expect((await query(TEXTS, 'csv')).trimEnd().split('\n')).to.deep.equal([
      'order_ref',
      "'=cmd|' /C calc'!A0",
      "'+49 30",
      "'-x",
      "'@sum(1)",
      '"a ""quoted"", order"',
      'b=1',
      '"x;=1"',
    ]);
  });

  it('leaves negative numbers as they are in CSV', async () => {
    expect(await query("SELECT -5 AS a, -0.25 AS b, TIMESTAMP '2026-11-21 10:00:00' AS c", 'csv')).to.equal(
      'a,b,c\n-5,-0.25,2026-11-21T10:00:00.000Z\n',
    );
  });

  it('prints every text unchanged as JSON', async () => {
    const rows: { order_ref: string }[] = JSON.parse(await query(TEXTS, 'json'));
    expect(rows.map(({ order_ref }) => order_ref)).to.deep.equal([
      "=cmd|' /C calc'!A0",
      '+49 30',
      '-x',
      '@sum(1)',
      'a "quoted", order',
      'b=1',
      'x;=1',
    ]);
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
