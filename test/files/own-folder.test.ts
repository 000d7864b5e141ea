import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeOwnFolder } from '../../src/files/folders.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('a folder of our own', () => {
  it('is made with its parents, for its owner alone', () => {
    const above = join(temporaryDirectory(), 'a');
    makeOwnFolder(join(above, 'b'));
    expect([modeOf(above), modeOf(join(above, 'b'))]).to.deep.equal([0o700, 0o700]);
  });

  it('is left as it is where it exists', () => {
    const folder = join(temporaryDirectory(), 'shared');
    mkdirSync(folder, { mode: 0o755 });
    makeOwnFolder(folder);
    expect(modeOf(folder)).to.equal(0o755);
  });

  it('cannot be made below a file', () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    expect(() => makeOwnFolder(join(file, 'a', 'b'))).to.throw(
      `EEXIST: file already exists, mkdir '${file}'`,
    );
    expect(() => makeOwnFolder(file)).to.throw(`EEXIST: file already exists, mkdir '${file}'`);
  });

  it('fails at once in a file system that refuses new names', function () {
    if (!existsSync('/proc')) this.skip();
    expect(() => makeOwnFolder('/proc/nope')).to.throw(
      "ENOENT: no such file or directory, mkdir '/proc/nope'",
    );
    expect(() => makeOwnFolder('/proc/nope/below')).to.throw("mkdir '/proc/nope'");
  });
});
