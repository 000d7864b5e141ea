import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { installed as installedTool } from '../generators/install.ts';
import { blocksOf, section } from '../guide-blocks.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { serviceOfSuite } from '../service/running-service.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const CHECKOUT = `
const [baseUrl, accessKey] = process.argv.slice(2);
const request = { sellPointKey: 's', clientIdKey: process.version + __filename, method: 'card', amountRequested: '1.00', orderRef: 'o' };
async function main() {
  const client = new ScoringClient({ baseUrl, accessKey });
  const first = await client.verdict(request);
  const next = await client.verdict(request);
  const refused = await new ScoringClient({ baseUrl, accessKey: 'x' }).verdict(request).catch((error) => error);
  console.log(first.verdict, next.verdict, waitUntil(next) > new Date(), refused instanceof UnknownKeyError);
}
main();
`;
const NAMES = '{ ScoringClient, UnknownKeyError, waitUntil }';
const ES_MODULE = `import ${NAMES} from 'client-scoring-client';\nconst __filename = import.meta.url;${CHECKOUT}`;
const COMMON_JS = `const ${NAMES} = require('client-scoring-client');${CHECKOUT}`;

/** Uses what a project's own settings make hard: no DOM, no @types/node, exact optional members. */
const TYPED = `
import { PlatformClient, ScoringClient, type Verdict } from 'client-scoring-client';
const client = new ScoringClient({ baseUrl: 'http://x', accessKey: 'k', timeoutMs: undefined });
export async function seconds(currency: string | undefined): Promise<number> {
  const answer: Verdict = await client.verdict({ sellPointKey: '', clientIdKey: '', method: '', amountRequested: '', orderRef: '', toPayCurrency: currency,
  });
  if (answer.verdict === 'GET_SAME_STICKY') return answer.stickyRequisiteRef.length;
  return answer.verdict === 'WAIT' ? answer.waitSeconds : answer.decisionId.length;
}
// @ts-expect-error an amount is a string
client.score({ sellPointKey: '', clientIdKey: '', selectedMethodKey: '', amountRequested: 25 });
// @ts-expect-error only WAIT has seconds
export const never = (answer: Verdict) => answer.waitSeconds;
export const limit = (orderRef: string | undefined) =>
  new PlatformClient({ baseUrl: 'http://x', accessKey: 'k' }).decisions({ orderRef, limit: undefined });
`;

const OWN_SIGNAL_AND_FETCH = `
import { ScoringClient } from 'client-scoring-client';
const client = new ScoringClient({ baseUrl: 'http://x', accessKey: 'k', fetch: globalThis.fetch });
const request = { sellPointKey: '', clientIdKey: '', method: '', amountRequested: '', orderRef: '' };
client.verdict(request, { signal: AbortSignal.timeout(5) });
`;

const STRICT = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false'];

/** This Node and, where the PATH has it, the oldest that the library supports. */
function nodes(): readonly string[] {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  const others = onPath.filter(
    (path) => existsSync(path) && /^v20\./.test(spawnSync(path, ['--version']).stdout?.toString() ?? ''),
  );
  return [process.execPath, ...others.slice(0, 1)];
}

/** Packs the folder as npm would publish it and unpacks it where a project keeps its packages. */
function install(folder: string, project: string): string {
  const npm = spawnSync('npm', [
    'pack',
    '--silent',
    '--ignore-scripts',
    '--pack-destination',
    project,
    folder,
  ]);
  expect(npm.status, npm.stderr.toString()).to.equal(0);
  const target = join(project, 'node_modules', 'client-scoring-client');
  mkdirSync(target, { recursive: true });
  const tarball = join(project, npm.stdout.toString().trim());
  expect(spawnSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', target]).status).to.equal(0);
  return tarball;
}

describe('the built client', () => {
  let project: string;
  let installed: string;
  let tarball: string;
  const { service } = serviceOfSuite();
  before(async () => {
    project = temporaryDirectory();
    installed = join(project, 'node_modules', 'client-scoring-client');
    const built = join(temporaryDirectory(), 'client');
    const script = join(ROOT, 'scripts', 'build-client.ts');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, built]);
    expect(status, `${stdout}${stderr}`).to.equal(0);
    tarball = install(built, project);
  });

  /** The compiler's errors for the text as a file of the project. */
  function complaints(file: string, text: string, ...options: readonly string[]): string {
    mkdirSync(dirname(join(project, file)), { recursive: true });
    writeFileSync(join(project, file), text);
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    return spawnSync(process.execPath, [tsc, ...STRICT, ...options, file], {
      cwd: project,
    }).stdout.toString();
  }

  for (const { title, file, text } of [
    { title: 'an ES module', file: 'checkout.mjs', text: ES_MODULE },
    { title: 'CommonJS', file: 'checkout.cjs', text: COMMON_JS },
  ]) {
    it(`runs from ${title} without any other package, on every available Node`, async () => {
      writeFileSync(join(project, file), text);
      const { key } = await service.tenant();
      for (const node of nodes()) {
        const { stdout } = await promisify(execFile)(node, [
          join(project, file),
          service.application.callerUrl,
          key,
        ]);
        expect(stdout, node).to.equal('GET_NEW WAIT true true\n');
      }
    });
  }

  it('gives a verdict after the five commands of its guide', async () => {
    const folder = temporaryDirectory();
    cpSync(tarball, join(folder, basename(tarball)));
    const guide = readFileSync(join(installed, 'README.md'), 'utf8');
    const [block] = blocksOf(section(guide, 'Get it'));
    const { key } = await service.tenant('newcomers');
    const commands = (block?.text ?? '')
      .replace('http://127.0.0.1:8080', service.application.callerUrl)
      .replace('=KEY', `=${key}`);
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], {
      cwd: folder,
    });
    expect(stdout.trim().split('\n').at(-1)).to.equal('GET_NEW');
  });

  for (const { title, file, options } of [
    { title: 'an ES module', file: 'typed.mts', options: ['--module', 'nodenext', '--lib', 'es2022'] },
    { title: 'CommonJS', file: 'typed.cts', options: ['--module', 'node16', '--lib', 'es2020'] },
    { title: 'a bundler', file: 'typed.ts', options: ['--module', 'preserve', '--lib', 'es2022,dom'] },
  ]) {
    it(`has types for TypeScript in ${title}, without the types of Node`, () => {
      expect(complaints(file, TYPED, '--target', 'es2022', '--types', '', ...options)).to.equal('');
    });
  }

  for (const [module, resolution] of [
    ['commonjs', 'node'],
    ['node16', 'node16'],
  ] as const) {
    it(`is read by TypeScript 4.9 with the module resolution ${resolution}`, () => {
      writeFileSync(join(project, 'old.ts'), TYPED);
      const tsc = installedTool('typescript-4.9', 'bin', 'tsc');
      const options = ['--target', 'es2021', '--module', module, '--moduleResolution', resolution];
      const { stdout } = spawnSync(
        process.execPath,
        [tsc, ...STRICT, ...options, '--typeRoots', 'none', 'old.ts'],
        { cwd: project },
      );
      expect(stdout.toString()).to.equal('');
    });
  }

  it('passes publint and arethetypeswrong', () => {
    const publint = installedTool('publint', 'src', 'cli.js');
    const linted = spawnSync(process.execPath, [publint, '--strict', tarball]);
    expect(linted.stdout.toString()).to.include('All good!');
    const attw = installedTool('@arethetypeswrong', 'cli', 'dist', 'index.js');
    const { status, stdout } = spawnSync(process.execPath, [attw, tarball]);
    expect(status, stdout.toString()).to.equal(0);
  });

  it("accepts the project's own fetch and signals", () => {
    const types = join(project, 'node_modules', '@types', 'node');
    cpSync(join(ROOT, 'node_modules', '@types', 'node'), types, { recursive: true });
    const undici = join(project, 'node_modules', 'undici-types');
    cpSync(join(ROOT, 'node_modules', 'undici-types'), undici, { recursive: true });
    const options = ['--target', 'es2022', '--module', 'nodenext'];
    expect(
      complaints('own.mts', OWN_SIGNAL_AND_FETCH, ...options, '--lib', 'es2022', '--types', 'node'),
    ).to.equal('');
    expect(
      complaints('own.mts', OWN_SIGNAL_AND_FETCH, ...options, '--lib', 'es2022,dom', '--types', ''),
    ).to.equal('');
  });

  it('is never built over a folder with other files', () => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'diary.txt'), 'dear diary');
    const script = join(ROOT, 'scripts', 'build-client.ts');
    const { status, stderr } = spawnSync(process.execPath, [script, folder]);
    expect(status).to.equal(2);
    expect(stderr.toString()).to.match(/^error: .* holds something other than a built client/);
    expect(readdirSync(folder)).to.deep.equal(['diary.txt']);
  });

  it('is compiled code with its guide, its license and no dependencies', () => {
    const names = readdirSync(installed).filter((name) => !/\.(js|d\.ts)$/.test(name));
    expect(names.toSorted()).to.deep.equal(['LICENSE', 'README.md', 'package.json']);
    const own: object = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(own).to.have.property('type', 'commonjs');
    expect(own).to.not.have.any.keys('dependencies', 'scripts', 'private');
  });
});
