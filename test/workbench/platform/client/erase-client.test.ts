import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { startService } from '../../../service/running-service.ts';

describe('erasing a payer', () => {
  it('says what is left on the disk while another process reads the SQLite file, and nothing when nothing is', async () => {
    const directory = temporaryDirectory();
    const store = openSqliteStore(directory);
    const service = await startService({ store });
    const shop = await service.tenant();
    for (const clientIdKey of ['read-meanwhile', 'alone']) await shop.verdict({ clientIdKey });
    const reader = new DatabaseSync(`${directory}/scoring.sqlite`);
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM clients').get();
    const left = await shop.ask('DELETE', 'client?clientIdKey=read-meanwhile');
    expect(left.status).to.equal(202);
    expect(Object(left.body).traces).to.match(
      /^The payer is erased, but the write-ahead log of SQLite still holds bytes/,
    );
    reader.exec('COMMIT');
    reader.close();
    const { status, body } = await shop.ask('DELETE', 'client?clientIdKey=alone');
    expect([status, body]).to.deep.equal([204, '']);
    await service.stop();
    await store.close();
  });
});
