import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import packageFile from '../package.json' with { type: 'json' };

/**
 * Makes JavaScript with types out of `src/sdk`: `npm run build:client [-- FOLDER]`, dist/client
 * when no folder is given. The folder is a package of its own without dependencies, so that
 * `npm pack ./dist/client` gives a caller no more than the client.
 */

const ROOT = join(import.meta.dirname, '..');
const [folder = join(ROOT, 'dist', 'client')] = process.argv.slice(2);
const target = resolve(folder);

const ENTRY = { './client': { types: './client.d.ts', default: './client.js' } };

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const { status } = spawnSync(
  process.execPath,
  [tsc, '--project', join(ROOT, 'tsconfig.client.json'), '--outDir', target],
  { stdio: 'inherit' },
);
if (status === 0) {
  const { name, version, description, license } = packageFile;
  const about = {
    name,
    version,
    description,
    license,
    type: 'module',
    exports: ENTRY,
    engines: { node: '>=20.3' },
  };
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  console.log(`client ${version} is in ${target}`);
}
process.exitCode = status ?? 1;
