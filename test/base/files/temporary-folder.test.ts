import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeOwnFolder } from '#base/files/folders.ts';
import { withTemporaryFolder } from '#base/files/temporary-folder.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';

const MODULE = new URL('../../../src/base/files/temporary-folder.ts', import.meta.url).href;

/** Sends a signal to a program with two nested temporary folders; tells how it ended. */
async function endedBy(signal: NodeJS.Signals, beginning = '') {
  const program = `${beginning}
    import { withTemporaryFolder } from ${JSON.stringify(MODULE)};
    const { promise, resolve } = Promise.withResolvers();
    setTimeout(resolve, 60_000);
    globalThis.end = resolve;
    await withTemporaryFolder('outer-', (outer) =>
      withTemporaryFolder('inner-', async (inner) => {
        process.stdout.write(outer + ' ' + inner);
        await promise;
      }));
    process.exit();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  const [folders] = await once(child.stdout, 'data');
  const paths = String(folders).split(' ');
  const before = paths.map((path) => existsSync(path));
  child.kill(signal);
  const [code, killedBy] = await once(child, 'exit');
  return { before, after: paths.map((path) => existsSync(path)), code, killedBy };
}

describe('a temporary folder', () => {
  it('is there during the work and gone after it, also when the work fails', async () => {
    const folders: string[] = [];
    const failure = await withTemporaryFolder('scoring-test-', async (folder) => {
      folders.push(folder);
      mkdirSync(join(folder, 'below'));
      writeFileSync(join(folder, 'below', 'file'), '');
      throw new Error('the work failed');
    }).catch(String);
    expect(failure).to.equal('Error: the work failed');
    expect(folders.map((folder) => existsSync(folder))).to.deep.equal([false]);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`is removed when ${signal} ends the process, which ends as usual`, async () => {
      expect(await endedBy(signal)).to.deep.equal({
        before: [true, true],
        after: [false, false],
        code: null,
        killedBy: signal,
      });
    });

  it('leaves the signal to another listener, and is removed after the work', async () => {
    const listener = "process.on('SIGINT', () => globalThis.end());";
    expect(await endedBy('SIGINT', listener)).to.deep.equal({
      before: [true, true],
      after: [false, false],
      code: 0,
      killedBy: null,
    });
  });
});

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
