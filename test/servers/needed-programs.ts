import { spawnSync } from 'node:child_process';
import { installedChromium } from './chromium.ts';

const told = new Set<string>();

/** Programs that do not know --version. */
const VERSION_OPTION: Readonly<Record<string, string>> = {
  haproxy: '-v',
  kubectl: 'help',
  openssl: 'version',
};

/**
 * A suite that needs a program which `npm ci` does not install. Without the program the suite is skipped
 * with one loud line, or fails when REQUIRE_SERVERS=1, as in CI.
 */
export function describeWithServer(program: string, title: string, suite: (this: Mocha.Suite) => void): void {
  if (isInstalled(program)) {
    describe(title, suite);
  } else if (process.env['REQUIRE_SERVERS'] === '1') {
    describe(title, () => {
      it(`needs ${program}`, () => {
        throw new Error(`REQUIRE_SERVERS=1, but ${program} is not installed`);
      });
    });
  } else if (!hasServer(program)) {
    describe.skip(title, suite);
  }
}

/** Whether a program is there for tests that can also do without it; says so in one loud line when not. */
export function hasServer(program: string): boolean {
  return process.env['REQUIRE_SERVERS'] === '1' || hasProgram(program);
}

/** The same for a program that not even CI has to have: it is missed aloud, and nothing fails for it. */
export function hasProgram(program: string): boolean {
  if (isInstalled(program)) return true;
  if (!told.has(program))
    process.stderr.write(`SKIPPED: tests that need ${program}: ${program} is not installed\n`);
  told.add(program);
  return false;
}

export function isInstalled(program: string): boolean {
  if (program === 'chromium') return installedChromium() !== null;
  const { error, status } = spawnSync(program, [VERSION_OPTION[program] ?? '--version'], { stdio: 'ignore' });
  // wrk tells its version, and then fails.
  return error === undefined && (status === 0 || program === 'wrk');
}
