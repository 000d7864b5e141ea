import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import packageFile from '../package.json' with { type: 'json' };

/**
 * Makes JavaScript with types out of `src/sdk`: `npm run build:client [-- FOLDER]`, dist/client
 * when no folder is given. The folder is a package of its own without dependencies, so that
 * `npm pack ./dist/client` gives a caller no more than the client. It is CommonJS, which ES modules
 * import by name as well: one copy serves both, and an error has one class.
 */

const ROOT = join(import.meta.dirname, '..');
const [folder = join(ROOT, 'dist', 'client')] = process.argv.slice(2);
const target = resolve(folder);

const ENTRY = { './client': { types: './client.d.ts', default: './client.js' } };

/** Compiles into the folder, which is emptied first; gives the compiler's exit code. */
function compile(): number {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const project = join(ROOT, 'tsconfig.client.json');
  const options = ['--project', project, '--outDir', target];
  return spawnSync(process.execPath, [tsc, ...options], { stdio: 'inherit' }).status ?? 1;
}

/** The compiler leaves `.ts` in the imports of declarations; not every compiler follows those. */
function nameJavaScriptInDeclarations(): void {
  for (const name of readdirSync(target).filter((file) => file.endsWith('.d.ts'))) {
    const path = join(target, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(/(from '\.\/[a-z-]+)\.ts'/g, "$1.js'"));
  }
}

/** What makes a package of the folder: its package.json, its guide and the license. */
function describePackage(): void {
  const { name, version, license } = packageFile;
  const description =
    'Client of the Client Scoring Service: score and verdict for a checkout, and the platform API.';
  const about = {
    name,
    version,
    description,
    license,
    type: 'commonjs',
    exports: ENTRY,
    engines: { node: '>=20.3' },
  };
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  cpSync(join(ROOT, 'src', 'sdk', 'README.md'), join(target, 'README.md'));
  cpSync(join(ROOT, 'LICENSE'), join(target, 'LICENSE'));
}

/** Whether the folder may be emptied: it is new, empty, or holds an earlier client. */
function mayBeEmptied(): boolean {
  if (!existsSync(target)) return true;
  const names = readdirSync(target);
  return names.length === 0 || names.includes('client.d.ts');
}

if (!mayBeEmptied()) {
  console.error(
    `error: ${target} holds something else than a built client, and would be emptied; name another folder`,
  );
  process.exit(2);
}
const status = compile();
if (status === 0) {
  nameJavaScriptInDeclarations();
  describePackage();
  console.log(`client ${packageFile.version} is in ${target}`);
}
process.exitCode = status;
