import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { until } from '../servers/until.ts';
import { end, isRunning, own } from './own-process.ts';

/** Starts a process that never ends by itself, makes a folder, prints both, and waits. */
const OWNER = `
  import { spawn } from 'node:child_process';
  import { own } from '${join(import.meta.dirname, 'own-process.ts')}';
  import { temporaryDirectory } from '${join(import.meta.dirname, '..', 'servers', 'temporary-directory.ts')}';
  const { pid } = own(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }));
  console.log(JSON.stringify({ pid, directory: temporaryDirectory() }));
  setInterval(() => {}, 1000);
`;

interface Owned {
  readonly pid: number;
  readonly directory: string;
}

async function startOwner() {
  const owner = own(
    spawn(process.execPath, ['--input-type=module', '-e', OWNER], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  const [line] = await once(owner.stdout.setEncoding('utf8'), 'data');
  const owned: Owned = JSON.parse(line);
  return { owner, owned };
}

function exists(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    return false;
  }
}

describe('what a test starts', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    it(`is gone after the process of the test was ended by ${signal}, and so are its folders`, async () => {
      const { owner, owned } = await startOwner();
      expect([exists(owned.pid), existsSync(owned.directory)]).to.deep.equal([true, true]);
      await end(owner, signal);
      await until('the process is gone', async () => !exists(owned.pid));
      await until('the folder is gone', async () => !existsSync(owned.directory));
    });
  }

  it('can be ended before, and is not running then', async () => {
    const child = own(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }));
    expect(isRunning(child)).to.equal(true);
    await end(child);
    expect(isRunning(child)).to.equal(false);
    await end(child);
  });
});
