import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { removeDirectory, temporaryDirectory } from '../../servers/temporary-directory.ts';

describe('the sync of the log of SQLite', () => {
  it('works in a process that may open no more files', async () => {
    const directory = temporaryDirectory();
    const script = join(import.meta.dirname, 'without-free-files.ts');
    const withFewFiles = ['-c', 'ulimit -n 100 && exec "$0" "$1" "$2"', process.execPath, script, directory];
    const { stdout } = await promisify(execFile)('sh', withFewFiles);
    expect(stdout).to.equal('EMFILE, then 2 verdicts');
    removeDirectory(directory);
  });
});
