import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { temporaryDirectory } from '../servers/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);
const NATIVE_HASH =
  /("node_modules\/@duckdb\/node-bindings-[^"]+": \{\s+"version": "[^"]+",\s+"integrity": )"[^"]+"/g;

/** The native packages of DuckDB that `npm ci` brings under this lock file. */
async function nativePackages(lock: string): Promise<readonly string[]> {
  const folder = temporaryDirectory();
  for (const name of ['package.json', '.npmrc']) copyFileSync(join(ROOT, name), join(folder, name));
  writeFileSync(join(folder, 'package-lock.json'), lock);
  await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd: folder,
  }).catch(() => {});
  const installed = join(folder, 'node_modules', '@duckdb');
  return existsSync(installed)
    ? readdirSync(installed).filter((name) => name.startsWith('node-bindings-'))
    : [];
}

describe('npm ci', function () {
  this.timeout(240_000);

  it('brings the engine of the archive by its hash in the lock file, and by nothing else', async () => {
    const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
    const forged = lock.replaceAll(NATIVE_HASH, `$1"sha512-${'A'.repeat(86)}=="`);
    expect(await nativePackages(lock)).to.have.lengthOf(1);
    expect(await nativePackages(forged)).to.deep.equal([]);
  });
});
