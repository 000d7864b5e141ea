import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The programs that integrators use, with the compilers that they want. They have a folder of their own below the
 * packages of the project, whose compiler is another: `node test/generators/install.ts`.
 */

const TARGET = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'generators');
const LOCK = 'package-lock.json';

/** The path of a file of the installed packages; installs them when they are not those of the lock file. */
export function installed(...path: readonly string[]): string {
  install();
  return join(TARGET, 'node_modules', ...path);
}

function install(): void {
  const wanted = readFileSync(join(import.meta.dirname, LOCK), 'utf8');
  const isThere = existsSync(join(TARGET, 'node_modules', '.package-lock.json'));
  if (isThere && readFileSync(join(TARGET, LOCK), 'utf8') === wanted) return;
  mkdirSync(TARGET, { recursive: true });
  for (const file of ['package.json', LOCK]) cpSync(join(import.meta.dirname, file), join(TARGET, file));
  const options = ['--no-audit', '--no-fund', '--ignore-scripts'];
  const { status, stderr } = spawnSync('npm', ['ci', ...options], { cwd: TARGET, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the generators cannot be installed: ${stderr}`);
}

if (import.meta.main) install();
