import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import packageFile from '../package.json' with { type: 'json' };

/**
 * Builds JavaScript with types from `src/sdk`. Run it with `npm run build:client [-- FOLDER]`. The default folder is
 * dist/client. The folder is a package of its own without dependencies, so that `npm pack ./dist/client` gives a
 * caller no more than the client. The package is CommonJS, which ES modules can import by name, too. One copy then
 * serves both kinds of modules, and each error has a single class.
 */

const ROOT = join(import.meta.dirname, '..');
const [wanted = join(ROOT, 'dist', 'client')] = process.argv.slice(2);
const target = resolve(wanted);

/** Compiles into a new folder. Returns the compiler's exit code. */
function compileTo(folder: string): number {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const project = join(ROOT, 'tsconfig.client.json');
  const options = ['--project', project, '--outDir', folder];
  return spawnSync(process.execPath, [tsc, ...options], { stdio: 'inherit' }).status ?? 1;
}

/** Removes `.ts` from the imports of declarations, because not every compiler follows such imports. */
function nameJavaScriptInDeclarations(folder: string): void {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.d.ts'))) {
    const path = join(folder, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(/(from '\.\/[a-z-]+)\.ts'/g, "$1.js'"));
  }
}

/** Makes the folder a package: writes its package.json, its guide and the license. */
function describePackage(folder: string): void {
  const { version, license } = packageFile;
  const description =
    'Client of the Client Scoring Service: score and verdict for a checkout, and the platform API.';
  const about = {
    name: 'client-scoring-client',
    version,
    description,
    license,
    type: 'commonjs',
    main: './client.js',
    types: './client.d.ts',
    exports: { '.': { types: './client.d.ts', default: './client.js' } },
    sideEffects: false,
    engines: { node: '>=20.3' },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  cpSync(join(ROOT, 'src', 'sdk', 'README.md'), join(folder, 'README.md'));
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
}

/** Tells whether the folder may be emptied, because it is new, empty, or holds an earlier client. */
function mayBeEmptied(): boolean {
  if (!existsSync(target)) return true;
  const names = readdirSync(target);
  return names.length === 0 || names.includes('client.d.ts');
}

if (!mayBeEmptied()) {
  console.error(
    `error: ${target} holds something other than a built client, and a build would delete it; name another folder`,
  );
  process.exit(2);
}
mkdirSync(dirname(target), { recursive: true });
// The package is made beside the folder and moved there when it is complete. A build that is interrupted leaves no
// incomplete package there.
const made = `${target}.${process.pid}`;
mkdirSync(made);
const status = compileTo(made);
if (status === 0) {
  nameJavaScriptInDeclarations(made);
  describePackage(made);
  rmSync(target, { recursive: true, force: true });
  renameSync(made, target);
  console.log(`built the client library ${packageFile.version} into ${target}`);
} else {
  rmSync(made, { recursive: true });
}
process.exitCode = status;
