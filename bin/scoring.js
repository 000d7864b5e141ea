#!/usr/bin/env node
// The command `scoring`, also where the Node that npm finds is too old: the commands are TypeScript, which Node 26 runs.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NODE_MAJOR_MIN = 26;
const ENVIRONMENT = 3;
const here = dirname(fileURLToPath(import.meta.url));

/** The Node that is running when it is new enough, otherwise the one that comes with the packages; or null. */
function suitableNode() {
  if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) return process.execPath;
  const require = createRequire(import.meta.url);
  const names = [`node-${process.platform}-${process.arch}`, `node-bin-${process.platform}-${process.arch}`];
  for (const name of names.map((each) => each.replace('win32', 'win'))) {
    try {
      const path = join(dirname(require.resolve(`${name}/package.json`)), 'bin', 'node');
      const found = [path, `${path}.exe`].find(existsSync);
      if (found !== undefined) return found;
    } catch {
      // Not the package for this machine.
    }
  }
  return null;
}

const node = suitableNode();
const command = join(here, '..', 'src', 'workbench', 'commands', 'scoring.ts');
if (node === process.execPath) {
  const { main } = await import(pathToFileURL(command).href);
  await main(process.argv.slice(2));
} else if (node === null) {
  console.error(`error: Node ${NODE_MAJOR_MIN} or newer is needed; this is ${process.version}.`);
  console.error('Install it, or install this package with its optional dependencies, which bring it along.');
  process.exitCode = ENVIRONMENT;
} else runOn(node);

function runOn(node) {
  const child = spawn(node, [command, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // A terminal sends SIGINT to both; the command ends by it, and this process with the command.
  process.on('SIGINT', () => {});
  child.on('error', () => {
    console.error(`error: ${node} does not run here, as on Alpine Linux (musl).`);
    console.error(`Install Node ${NODE_MAJOR_MIN}, then: rm -r node_modules/node-* node_modules/.bin/node`);
    process.exitCode = ENVIRONMENT;
  });
  child.on('exit', (code) => {
    process.exitCode = code ?? ENVIRONMENT;
  });
}
