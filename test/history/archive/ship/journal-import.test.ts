import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ClientKey, toClientNumberText } from '#decision/payer/client-key.ts';
import { Archive } from '#history/archive/archive.ts';
import { type AnyExportedEntry, importJournalAsArchive } from '#history/archive/ship/journal-file.ts';
import { TABLE_NAMES } from '#history/archive/tables.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { decisionFor, newClient, T0 } from '../../../state/clients.ts';
import { ArchivedStore } from '../archived-store.ts';

describe('an imported journal', () => {
  function verdictOf(client: ClientKey, seq: number): AnyExportedEntry {
    const { platform, clientIdKey, hash: clientHash } = client;
    const at = T0 + seq;
    const decision = decisionFor(client, seq, `order-${seq}`, at);
    return { kind: 'verdict', at, platform, clientIdKey, clientHash, decision };
  }

  function erasureOf({ platform, hash }: ClientKey): AnyExportedEntry {
    return { kind: 'erasure', at: T0 + 10, platform, clientNumber: toClientNumberText(hash) };
  }

  async function imported(lines: readonly object[]): Promise<Archive> {
    const path = join(temporaryDirectory(), 'journal.ndjson');
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const folder = temporaryDirectory();
    await importJournalAsArchive(path, folder, { threads: 1, memoryMiB: 256 });
    return new Archive(folder);
  }

  it('has the lines as the places of its rows, in segments of tables, platforms and months', async () => {
    const [ann, bob] = [newClient(), newClient()];
    const archive = await imported([verdictOf(ann, 1), verdictOf(bob, 1), verdictOf(ann, 2)]);
    const place = await ArchivedStore.open(undefined, archive.folder);
    const segments = archive.listSegments(archive.read(), { table: 'decisions' });
    expect(segments.map(({ platform }) => platform)).to.have.members([ann.platform, bob.platform]);
    expect(new Set(segments.map(({ day }) => day))).to.deep.equal(new Set(['2026-11']));
    const rows = await place.duck.rows(
      `SELECT order_ref, journal_partition::INT AS part, journal_ms::INT AS ms, journal_seq::INT AS line
        FROM ${archive.createRowsSql(segments)} WHERE client_id_key = '${ann.clientIdKey}' ORDER BY line`,
    );
    await place.close();
    expect(rows).to.deep.equal([
      { order_ref: 'order-1', part: 0, ms: 0, line: 1 },
      { order_ref: 'order-2', part: 0, ms: 0, line: 3 },
    ]);
  });

  it('lacks what a client did before it was erased', async () => {
    const [erased, other] = [newClient(), newClient()];
    const archive = await imported([
      verdictOf(erased, 1),
      verdictOf(other, 1),
      verdictOf(erased, 2),
      erasureOf(erased),
      verdictOf(erased, 1),
    ]);
    const rows = archive
      .listSegments(archive.read(), { table: 'decisions' })
      .map(({ platform, rows }) => [platform, rows]);
    expect(rows).to.have.deep.members([
      [erased.platform, 1],
      [other.platform, 1],
    ]);
    expect(archive.computeTotals().gapEntries).to.equal(0);
    expect(TABLE_NAMES.flatMap((table) => archive.listSegments(archive.read(), { table }))).to.have.length(2);
  });

  it('cannot have a path elsewhere as its platform', async () => {
    const line = { ...verdictOf(newClient(), 1), platform: '../elsewhere' };
    const failure = await imported([line]).catch(String);
    expect(failure).to.equal(
      'JournalFileError: the line is no journal entry: "platform" must be the name of a platform',
    );
  });
});
