import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { blocksOf } from '../guide-blocks.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { issueKey } from '../service/issued-key.ts';
import { spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { scoring } from '../workbench/commands/scoring.ts';
import { packaged, packagedPath } from './packaged.ts';

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

/** The shell commands under a heading of the operator's guide. */
function commandsUnder(heading: string): readonly string[] {
  const [, text = ''] = packaged('packaging/OPERATING.md').split(`\n### ${heading}\n`);
  return blocksOf(text.split(/\n##+ /)[0] ?? '').map(({ text: commands }) => commands);
}

describe("The operator's guide", () => {
  it('backs a SQLite store up while the service runs, and restores it', async () => {
    const folder = temporaryDirectory();
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir);
    symlinkSync(packagedPath('node_modules'), join(folder, 'node_modules'));
    const run = (commands = '') =>
      promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], { cwd: folder });
    const [backup, restore] = commandsUnder('SQLite');

    const before = await spawnService(dataDir);
    const shop = new Tenant(before, await issueKey({ dataDir }));
    await shop.verdict({ orderRef: 'in-the-backup' });
    await run(backup);
    await until('the archive is begun', async () => existsSync(join(dataDir, 'archive')));
    await shop.verdict({ clientIdKey: 'later', orderRef: 'after-the-backup' });
    await before.stop();
    const { exitCode, stderr } = await scoring(['restore', '--check', 'backup'], {}, folder);
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });

    await run(restore);
    const after = await spawnService(dataDir);
    const again = new Tenant(after, shop.key);
    const orders = await again.decisions({ orderRef: 'in-the-backup' });
    const later = await again.client('later');
    await after.stop();
    expect(orders).to.have.length(1);
    expect(later.status).to.equal(404);
  });
});
