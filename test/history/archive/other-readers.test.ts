import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { newClient, paymentOf, verdict } from '../../state/clients.ts';
import { ArchivedStore } from './archived-store.ts';

/** What a team reads out of a segment without anything of this project. */
interface SegmentRow {
  readonly order_ref: unknown;
  readonly seq: unknown;
  readonly verdict: unknown;
  readonly rule_version: unknown;
  readonly decided_at: unknown;
  readonly fact_paidCount: unknown;
}

describe('a segment of the archive', () => {
  let place: ArchivedStore;
  let wanted: readonly SegmentRow[];
  let segment: string;

  before(async () => {
    place = await ArchivedStore.open();
    const client = newClient();
    for (const orderRef of ['order-1', 'order-2', 'order-3']) await verdict(place.store, client, orderRef);
    await place.store.commit(paymentOf(client, await place.store.load(client), 'order-1'));
    const decisions = await place.store.decisionsOfClient(client, 10);
    wanted = decisions.map(({ orderRef, seq, verdict, ruleVersion, at, facts }) => ({
      order_ref: orderRef,
      seq,
      verdict,
      rule_version: ruleVersion,
      decided_at: at,
      fact_paidCount: facts['paidCount'],
    }));
    await place.shipAll();
    const folder = join(place.archive.folder, 'decisions');
    const files = readdirSync(folder, { recursive: true }).map(String);
    segment = join(folder, files.find((file) => file.endsWith('.parquet')) ?? expect.fail('no segment'));
  });
  after(() => place?.close());

  it('is read by a Parquet reader that is not DuckDB', async () => {
    const file = await asyncBufferFromFile(segment);
    const rows = await parquetReadObjects({
      file,
      compressors: { ZSTD: (page) => zstdDecompressSync(page) },
    });
    expect(rows.map(told)).to.have.deep.members([...wanted]);
  });

  it('is read by DuckDB as it comes from its package', async () => {
    const connection = await (await DuckDBInstance.create()).connect();
    const reader = await connection.runAndReadAll(
      `SELECT order_ref, seq, verdict, rule_version, epoch_ms(decided_at) AS decided_at, fact_paidCount FROM '${segment}'`,
    );
    expect(reader.getRowObjects().map(told)).to.have.deep.members([...wanted]);
    connection.closeSync();
  });
});

/** Readers differ in how they hand over whole numbers and times. */
function told(row: Readonly<Record<string, unknown>>): SegmentRow {
  const { order_ref, seq, verdict, rule_version, decided_at, fact_paidCount } = row;
  return {
    order_ref,
    seq: Number(seq),
    verdict,
    rule_version,
    decided_at: Number(decided_at),
    fact_paidCount: Number(fact_paidCount),
  };
}
