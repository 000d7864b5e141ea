import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

type Locked = { readonly hasInstallScript?: true; readonly engines?: { readonly node?: string } };
type LockFile = { readonly packages: Readonly<Record<string, Locked>> };

/** A folder in which `node` is a script of these lines. */
function folderWithNode(...lines: readonly string[]): string {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'node'), lines.join('\n'));
  chmodSync(join(folder, 'node'), 0o755);
  return folder;
}

async function startWith(folder: string): Promise<unknown> {
  return run('/bin/sh', [join(ROOT, 'bin', 'node.sh')], { env: { PATH: folder } }).then(
    () => expect.fail('it started'),
    (error: unknown) => error,
  );
}

const ADVICE =
  'With glibc, npm ci brings one along. Elsewhere, as on Alpine Linux, install Node 26, then: rm -r node_modules/node-* node_modules/.bin/node\n';

describe('Installing and starting', () => {
  it('needs no script of a package, and none that asks for more than Node 20', () => {
    const { packages }: LockFile = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const others = Object.entries(packages).filter(([name]) => name !== '');
    const namesOf = (some: typeof others) => some.map(([name]) => name);
    const wantsMore = (range: string) => /^\D*2[2-9]/.test(range) && !/\b20\b/.test(range);
    // esbuild finds its program by itself when its script did not run, which test/workbench/console/routes.test.ts shows.
    expect(namesOf(others.filter(([, { hasInstallScript }]) => hasInstallScript))).to.deep.equal([
      'node_modules/esbuild',
    ]);
    expect(namesOf(others.filter(([, { engines }]) => wantsMore(engines?.node ?? '')))).to.deep.equal([]);
  });

  for (const [title, lines, here] of [
    ['under an older Node', ['#!/bin/sh', 'echo v24.9.0'], 'v24.9.0'],
    ['where no Node can run', ['#!/no/such/loader'], 'none that runs'],
  ] as const)
    it(`${title} ends with what to do`, async () => {
      const stderr = `error: Node 26 or newer is needed; here is ${here}.\n${ADVICE}`;
      expect(await startWith(folderWithNode(...lines))).to.include({ code: 3, stderr });
    });

  it('explains it to a caller of scoring where the Node of the packages cannot run', async () => {
    const folder = temporaryDirectory();
    const bundled = join(folder, 'node_modules', `node-${process.platform}-${process.arch}`);
    const own = join(bundled, 'bin', 'node');
    mkdirSync(join(bundled, 'bin'), { recursive: true });
    writeFileSync(join(bundled, 'package.json'), '{}');
    writeFileSync(own, '#!/no/such/loader\n', { mode: 0o755 });
    mkdirSync(join(folder, 'bin'));
    const command = join(folder, 'bin', 'scoring.js');
    copyFileSync(join(ROOT, 'bin', 'scoring.js'), command);
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const older = join(folder, 'older.cjs');
    writeFileSync(older, "Object.defineProperty(process, 'versions', { value: { node: '20.0.0' } });");
    const error = await run(process.execPath, ['--require', older, command, 'keys']).catch(
      (caught: unknown) => caught,
    );
    expect(error).to.include({
      code: 3,
      stderr: `error: ${own} does not run here, as on Alpine Linux (musl).\nInstall Node 26, then: rm -r node_modules/node-* node_modules/.bin/node\n`,
    });
  });
});
