import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { QueryRefused, QueryTooSlow } from '#history/archive/query-engine.ts';
import { exportQuery, queryArchive } from '#history/archive/read/query.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { newClient, T0, verdict } from '../../../state/clients.ts';
import { ArchivedStore } from '../archived-store.ts';

const LIMITS = { rowsMax: 100, timeoutMs: 30_000, memoryMiB: 256 };

describe('a query over the archive', () => {
  let place: ArchivedStore;
  before(async () => {
    place = await ArchivedStore.open();
    const client = newClient();
    for (let count = 1; count <= 3; count += 1)
      await verdict(place.store, client, `order-${count}`, T0 + count * 1000);
    await place.shipAll();
  });
  after(() => place?.close());

  const ask = async (sql: string, limits = LIMITS) =>
    (await queryArchive(place.archive.folder, sql, limits)).answer;

  it('gives columns and rows', async () => {
    const { columns, rows, more } = await ask('SELECT order_ref, seq FROM decisions ORDER BY seq');
    expect(columns).to.deep.equal(['order_ref', 'seq']);
    expect(rows).to.deep.equal([
      ['order-1', 1n],
      ['order-2', 2n],
      ['order-3', 3n],
    ]);
    expect(more).to.equal(false);
  });

  it('has orders with their outcomes', async () => {
    const { rows } = await ask(
      'SELECT order_ref, decisions, granted, status FROM orders ORDER BY order_ref LIMIT 1',
    );
    expect(rows).to.deep.equal([['order-1', 1n, true, 'UNKNOWN']]);
    const { answer: empty } = await queryArchive(temporaryDirectory(), 'SELECT * FROM orders', LIMITS);
    expect(empty.rows).to.deep.equal([]);
  });

  it('finds the columns of an empty table', async () => {
    expect((await ask('SELECT * FROM overrides')).rows).to.deep.equal([]);
  });

  it('says when there are more rows than it gives', async () => {
    const { rows, more } = await ask('SELECT seq FROM decisions', { ...LIMITS, rowsMax: 2 });
    expect([rows.length, more]).to.deep.equal([2, true]);
  });

  it('shows the day and the facts by name', async () => {
    const { rows } = await ask('SELECT decided_at, fact_paidCount FROM decisions WHERE seq = 1');
    expect(rows).to.deep.equal([[new Date(T0 + 1000), 0n]]);
  });

  for (const sql of [
    'SELECT 1; SELECT 2',
    "ATTACH 'x.db'",
    'CREATE TABLE t AS SELECT 1',
    'SET lock_configuration = false',
    'INSTALL httpfs',
    'LOAD httpfs',
    'CALL pragma_version()',
  ]) {
    it(`refuses ${sql}`, async () => {
      expect(await ask(sql).catch((error: unknown) => error)).to.be.instanceOf(QueryRefused);
    });
  }

  it('changes no table', async () => {
    const answer = await ask('DELETE FROM decisions').catch((error: unknown) => error);
    expect(answer).to.be.instanceOf(Error);
    expect((await ask('SELECT seq FROM decisions')).rows).to.have.length(3);
  });

  for (const sql of [
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT getenv('HOME')",
    "SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')",
    "FROM '/etc/hostname.csv'",
    "COPY decisions TO '/tmp/decisions.csv'",
    "EXPORT DATABASE '/tmp/decisions'",
    "SELECT * FROM read_blob('/etc/hostname')",
    "SELECT * FROM read_json('/etc/hostname')",
    "SELECT * FROM sniff_csv('/etc/hostname')",
    "SELECT * FROM parquet_schema('/etc/hostname')",
    "SELECT * FROM glob('*')",
    "SELECT * FROM query('FROM read_text(''/etc/hostname'')')",
    "SELECT * FROM summary((FROM read_text('/etc/hostname')))",
    'SELECT * FROM duckdb_secrets()',
    'SELECT * FROM duckdb_extensions()',
  ]) {
    it(`does not let ${sql} out of the archive`, async () => {
      const answer = await ask(sql).catch((error: unknown) => error);
      expect(String(answer)).to.match(
        /Permission Error: Cannot access|Scalar Function with name getenv does not exist/,
      );
    });
  }

  it('does not leave the archive by a path through its own folder', async () => {
    const { folder } = place.archive;
    const beside = join(folder, '..', 'beside.txt');
    writeFileSync(beside, 'secret');
    for (const path of [join(folder, '..', 'beside.txt'), `${folder}/../beside.txt`, `${folder}-other/x`]) {
      const answer = await ask(`SELECT * FROM read_text('${path}')`).catch((error: unknown) => error);
      expect(String(answer)).to.match(/Permission Error: Cannot access file/);
    }
    const output = join(temporaryDirectory(), 'answer.parquet');
    const copied = exportQuery(folder, `SELECT * FROM read_text('${beside}')`, output, LIMITS);
    expect(String(await copied.catch((error: unknown) => error))).to.match(/Permission Error: Cannot access/);
    rmSync(beside);
  });

  it('ends when it takes too long', async () => {
    const slow =
      'SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 11';
    const error = await ask(slow, { ...LIMITS, timeoutMs: 200 }).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(QueryTooSlow);
    expect(String(error)).to.include('the query took longer than 0.2 s');
  });

  it('is written to a Parquet file', async () => {
    const output = join(temporaryDirectory(), 'answer.parquet');
    await exportQuery(place.archive.folder, 'SELECT order_ref FROM decisions', output, LIMITS);
    expect(readFileSync(output).subarray(0, 4).toString()).to.equal('PAR1');
  });
});
