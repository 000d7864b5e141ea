import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { SqliteCheckpoints } from '../../../src/state/sqlite/checkpoints.ts';
import { removeDirectory, temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';

describe('the checkpoint thread of SQLite', () => {
  it('is started again when it has died', async () => {
    const directory = temporaryDirectory();
    const folder = join(directory, 'not there yet');
    const path = join(folder, 'scoring.sqlite');
    const checkpoints = new SqliteCheckpoints(path);
    await checkpoints.truncate();
    expect(existsSync(path)).to.equal(false);
    mkdirSync(folder);
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE erased (client TEXT)');
    expect(statSync(`${path}-wal`).size).to.be.above(0);
    await until('the log is empty', async () => {
      await checkpoints.truncate();
      return statSync(`${path}-wal`).size === 0;
    });
    await checkpoints.close();
    db.close();
    removeDirectory(directory);
  });
});
