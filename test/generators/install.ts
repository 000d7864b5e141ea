import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Programs of the tests that want another compiler or a newer Node than the project: those that integrators use, and a server
 * that speaks S3. They have a folder of their own below the packages of the project: `node test/generators/install.ts`.
 */

const TARGET = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'generators');
const LOCK = 'package-lock.json';
const LOCKED = `${TARGET}.lock`;
const LOOK_MS = 200;
const LEFT_BEHIND_MS = 300_000;

/** The path of a file of the installed packages; installs them when they are not those of the lock file. */
export function installed(...path: readonly string[]): string {
  install();
  return join(TARGET, 'node_modules', ...path);
}

function install(): void {
  const wanted = readFileSync(join(import.meta.dirname, LOCK), 'utf8');
  if (isInstalled(wanted)) return;
  mkdirSync(join(TARGET, '..'), { recursive: true });
  // Of several processes that need them at once one installs them.
  while (!isLocked()) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
    if (isInstalled(wanted)) return;
  }
  try {
    installNow();
  } finally {
    rmSync(LOCKED, { recursive: true, force: true });
  }
}

function isInstalled(wanted: string): boolean {
  const isThere = existsSync(join(TARGET, 'node_modules', '.package-lock.json')) && !existsSync(LOCKED);
  return isThere && readFileSync(join(TARGET, LOCK), 'utf8') === wanted;
}

/** Takes the lock, also one that a process left behind. */
function isLocked(): boolean {
  try {
    mkdirSync(LOCKED);
    return true;
  } catch {
    const { mtimeMs = Date.now() } = statSync(LOCKED, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > LEFT_BEHIND_MS) rmSync(LOCKED, { recursive: true, force: true });
    return false;
  }
}

function installNow(): void {
  mkdirSync(TARGET, { recursive: true });
  for (const file of ['package.json', LOCK]) cpSync(join(import.meta.dirname, file), join(TARGET, file));
  const options = ['--no-audit', '--no-fund', '--ignore-scripts'];
  const { status, stderr } = spawnSync('npm', ['ci', ...options], { cwd: TARGET, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the generators cannot be installed: ${stderr}`);
}

if (import.meta.main) install();
