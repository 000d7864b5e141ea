import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startNode } from '../processes/node-process.ts';
import { freePort } from '../servers/free-port.ts';
import { hasProgram } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';

const EXAMPLES = join(import.meta.dirname, '..', '..', 'scripts', 'examples');
const PROGRAMS = [
  { program: process.execPath, file: 'checkout.ts' },
  ...(hasProgram('python3') ? [{ program: 'python3', file: 'checkout.py' }] : []),
];
/** How often the service decides before its first answer gets through. */
const LOST_ANSWERS = 3;

/** A proxy that drops the first answers to verdicts once they were decided. */
async function lossyNetwork(service: ServiceProcess) {
  let lost = 0;
  const server = createServer(async (req, res) => {
    const body = await text(req);
    const headers = ['content-type', 'x-ka-access-key', 'idempotency-key'].flatMap((name) =>
      (req.headersDistinct[name] ?? []).map((value): [string, string] => [name, value]),
    );
    const answer = await fetch(service.callerUrl + req.url, { method: 'POST', headers, body });
    const said = await answer.text();
    if (req.url === '/v1/client/verdict' && lost < LOST_ANSWERS) {
      lost += 1;
      req.socket.destroy();
    } else res.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(said);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    lost: () => lost,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe('an example of a checkout', () => {
  let service: ServiceProcess;
  let withoutService: Promise<{ code: number; stdout: string; stderr: string } | null>;
  /** All run at once, because each has a wait. */
  let runs: ReadonlyMap<string, Promise<{ readonly stdout: string; readonly lost: number }>>;
  before(async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir }, 'sandbox');
    service = await spawnService(dataDir);
    const run = async (program: string, file: string) => {
      const network = await lossyNetwork(service);
      const urls = ['--url', network.url, '--platform-url', service.platformUrl];
      const options = [join(EXAMPLES, file), ...urls, '--key', key, '--owner-key', key];
      const { stdout } = await promisify(execFile)(program, options);
      network.close();
      return { stdout, lost: network.lost() };
    };
    runs = new Map(PROGRAMS.map(({ program, file }) => [file, run(program, file)]));
    // On the discard port nothing listens.
    const nowhere = ['--url', 'http://127.0.0.1:9', '--key', key, '--owner-key', key];
    withoutService = promisify(execFile)('python3', [join(EXAMPLES, 'checkout.py'), ...nowhere]).then(
      () => null,
      (failure: { code: number; stdout: string; stderr: string }) => failure,
    );
    await Promise.allSettled([...runs.values(), withoutService]);
  });
  after(() => service.stop());

  if (hasProgram('python3'))
    it('goes on without a score and not without a verdict when nobody answers: checkout.py', async () => {
      const { code, stdout = '', stderr } = (await withoutService) ?? {};
      expect(code).to.equal(1);
      expect(stdout).to.match(/^ {2}no score \(.*\); the payment is offered all the same\n/);
      expect(stderr).to.match(/^no answer \(.*\); without a verdict no requisite is shown\n$/);
    });

  for (const { file } of PROGRAMS) {
    it(`takes one step for each press when answers are lost: ${file}`, async () => {
      const { stdout = '', lost } = (await runs.get(file)) ?? {};
      const verdicts = [...stdout.matchAll(/^verdict for (\S+): (\w+)/gm)].map(
        ([, order, said]) => `${order} ${said}`,
      );
      expect(verdicts, stdout).to.deep.equal(['order-1 GET_NEW', 'order-2 WAIT', 'order-2 GET_NEW']);
      expect(stdout).to.match(/^outcome recorded/m);
      expect(lost).to.equal(LOST_ANSWERS);
    });
  }

  it('says how it is used', () => {
    const { stdout, status } = spawnSync(process.execPath, [join(EXAMPLES, 'checkout.ts'), '--help']);
    expect(status).to.equal(0);
    expect(stdout.toString()).to.match(/^npm run -s example -- --key KEY --owner-key OWNER_KEY/);
  });

  for (const options of [[], ['--key', 'ka_1'], ['--owner-key', 'ka_1']])
    it(`says how it is used to whoever gives ${options[0] === undefined ? 'no key' : `only ${options[0]}`}`, () => {
      const { stderr, status } = spawnSync(process.execPath, [join(EXAMPLES, 'checkout.ts'), ...options]);
      expect(status).to.equal(2);
      expect(stderr.toString()).to.match(/^npm run -s example -- --key KEY --owner-key OWNER_KEY/);
    });
});

describe('npm run demo', () => {
  it('serves four weeks of a shop to the four people whose keys it prints, and leaves nothing behind', async () => {
    const [port, platformPort, folder] = [await freePort(), await freePort(), temporaryDirectory()];
    const env = { ...process.env, PORT: String(port), PLATFORM_PORT: String(platformPort), TMPDIR: folder };
    const demo = startNode(['scripts/demo.ts'], { env: { ...env, REDIS_URL: 'redis://127.0.0.1:1' } });
    await until(
      'it says what to look at',
      async () => demo.stdout().includes('Ctrl-C ends the demo'),
      240_000,
    );
    const keys = new Map(
      [...demo.stdout().matchAll(/^ {2}(\w+) +(ka_\S+)$/gm)].map(([, who, key]) => [who, key]),
    );
    expect([...keys.keys()]).to.deep.equal(['support', 'analyst', 'operator', 'lead']);
    expect(demo.stdout()).to.include(
      `Open http://127.0.0.1:${platformPort}/ and sign in with one of these keys:`,
    );
    const place = { callerUrl: `http://127.0.0.1:${port}`, platformUrl: `http://127.0.0.1:${platformPort}` };
    const as = (who: string) => new Tenant(place, keys.get(who) ?? '');
    expect((await as('support').ask('GET', 'decisions?limit=1')).status).to.equal(200);
    expect((await as('analyst').ask('GET', 'rules/drafts/p2.v14')).status).to.equal(200);
    const { body: rules } = await as('operator').ask<{ rollout: { history: { action: string }[] } }>(
      'GET',
      'rules',
    );
    expect(rules.rollout.history.map(({ action }) => action)).to.deep.equal([
      ...['start', 'shadow', 'canary', 'active', 'canary', 'rollback', 'shadow', 'canary'],
    ]);
    const month = await as('lead').ask<{
      exploration: { all: number[]; values: { value: string; decisions: number[] }[] };
    }>('GET', 'explore?span=month');
    const { all, values } = month.body.exploration;
    expect(values.map(({ value }) => value)).to.have.members(['GET_NEW', 'GET_SAME_STICKY', 'WAIT', 'BLOCK']);
    expect(all.filter((verdicts) => verdicts > 0).length).to.be.at.least(54);
    demo.child.kill('SIGINT');
    expect(await demo.exited).to.equal(0);
    expect(readdirSync(folder).filter((name) => name.startsWith('client-scoring-demo'))).to.deep.equal([]);
  }).timeout(300_000);
});
