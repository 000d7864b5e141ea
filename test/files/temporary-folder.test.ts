import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { withTemporaryFolder } from '../../src/files/folders.ts';

const MODULE = new URL('../../src/files/folders.ts', import.meta.url).href;

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
