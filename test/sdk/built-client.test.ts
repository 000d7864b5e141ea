import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import packageFile from '../../package.json' with { type: 'json' };
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { type RunningService, startService } from '../service/running-service.ts';

const ROOT = join(import.meta.dirname, '..', '..');

const CONSUMER = `
import { ScoringClient, UnknownKeyError, waitUntil } from 'client-scoring-service/client';
const [baseUrl, accessKey] = process.argv.slice(2);
const request = { sellPointKey: 's', clientIdKey: process.version, method: 'card', amountRequested: '1.00', orderRef: 'o' };
const client = new ScoringClient({ baseUrl, accessKey });
const { answer } = await client.verdict(request);
const next = await client.verdict(request);
const refused = await new ScoringClient({ baseUrl, accessKey: 'x' }).verdict(request).catch((error) => error);
console.log(answer.verdict, next.answer.verdict, waitUntil(next.answer) > new Date(), refused instanceof UnknownKeyError);
`;

const TYPED_CONSUMER = `
import { ScoringClient } from 'client-scoring-service/client';
const client = new ScoringClient({ baseUrl: '', accessKey: '' });
export async function seconds(): Promise<number> {
  const { answer } = await client.verdict({ sellPointKey: '', clientIdKey: '', method: '', amountRequested: '', orderRef: '' });
  return answer.verdict === 'WAIT' ? answer.waitSeconds : 0;
}
// @ts-expect-error an amount is a string
client.score({ sellPointKey: '', clientIdKey: '', selectedMethodKey: '', amountRequested: 25 });
`;

/** This Node, and on a machine that has one on its PATH, the oldest that the library supports. */
function nodes(): readonly string[] {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  const others = onPath.filter(
    (path) => existsSync(path) && /^v20\./.test(spawnSync(path, ['--version']).stdout?.toString() ?? ''),
  );
  return [process.execPath, ...others.slice(0, 1)];
}

describe('the built client', () => {
  let service: RunningService;
  let project: string;
  before(async function () {
    this.timeout(60_000);
    service = await startService();
    project = temporaryDirectory();
    const built = join(project, 'node_modules', 'client-scoring-service');
    const script = join(ROOT, 'scripts', 'build-client.ts');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, built]);
    expect(status, `${stdout}${stderr}`).to.equal(0);
  });
  after(() => service.stop());

  it('runs without any other package, on every Node at hand', async () => {
    writeFileSync(join(project, 'checkout.mjs'), CONSUMER);
    const { key } = await service.tenant();
    for (const node of nodes()) {
      const { stdout } = await promisify(execFile)(node, [
        join(project, 'checkout.mjs'),
        service.application.callerUrl,
        key,
      ]);
      expect(stdout, node).to.equal('GET_NEW WAIT true true\n');
    }
  });

  it('brings its types', () => {
    writeFileSync(join(project, 'typed.ts'), TYPED_CONSUMER);
    mkdirSync(join(project, 'node_modules', '@types'), { recursive: true });
    cpSync(join(ROOT, 'node_modules', '@types', 'node'), join(project, 'node_modules', '@types', 'node'), {
      recursive: true,
    });
    cpSync(join(ROOT, 'node_modules', 'undici-types'), join(project, 'node_modules', 'undici-types'), {
      recursive: true,
    });
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const { status, stdout } = spawnSync(process.execPath, [tsc, ...options, 'typed.ts'], { cwd: project });
    expect(stdout.toString()).to.equal('');
    expect(status).to.equal(0);
  });

  it("is what the package's own export names", () => {
    const { types, default: entry } = packageFile.exports['./client'];
    const built = readdirSync(join(project, 'node_modules', 'client-scoring-service'));
    expect([types, entry].map((path) => dirname(path))).to.deep.equal(['./dist/client', './dist/client']);
    expect(built).to.include.members(['client.js', 'client.d.ts', 'package.json']);
    const own: typeof packageFile = JSON.parse(
      readFileSync(join(project, 'node_modules', 'client-scoring-service', 'package.json'), 'utf8'),
    );
    expect(own).not.to.have.property('dependencies');
  });
});
