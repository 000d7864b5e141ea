import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ArchivedStore } from '../../history/archive/archived-store.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { newClient, T0, verdict } from '../../state/clients.ts';
import { scoring } from './scoring.ts';

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
