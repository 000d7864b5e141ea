import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { rawExchange, rawStatus } from '../checkout/http/raw-exchange.ts';
import { end, own } from '../processes/own-process.ts';
import { freePort } from '../servers/free-port.ts';
import { describeWithServer } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { call, type HeaderList, type Problem } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { packaged, packagedPath } from './packaged.ts';

/** An address of this machine that a listener on 127.0.0.1 alone does not have. */
const OTHER_LOOPBACK = '127.0.0.2';

/** What the image sets: the check of the proxy works with what is packaged, or not at all. */
const IMAGE_HOSTS: HeaderList = Object.fromEntries(
  [...packaged('Dockerfile').matchAll(/\b((?:PLATFORM_)?HOST)=(\S+)/g)].map(([, ...set]) => set),
);

/** Whether something was sent to a port that nobody has read yet; Linux tells. */
function hasUnread(port: number): boolean {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const connections = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return connections
    .map((line) => line.trim().split(/\s+/))
    .some(([, address, , state, queues]) => {
      const isEstablished = state === '01' && address?.endsWith(local);
      return isEstablished === true && queues?.endsWith(':00000000') === false;
    });
}

function fileOf(settings: string): string {
  const file = join(temporaryDirectory(), 'haproxy.cfg');
  writeFileSync(file, settings);
  return file;
}

/** The packaged settings, with other ports, the addresses of what runs here, and as few files as a tester may open. */
function settingsFor(
  port: number,
  nodes: readonly { readonly callers: number; readonly platform: number }[],
) {
  return nodes.reduce(
    (settings, { callers, platform }, index) =>
      settings.replace(
        new RegExp(`server scoring-${index + 1} scoring-${index + 1}:8080 check port 8081`),
        `server scoring-${index + 1} ${OTHER_LOOPBACK}:${callers} check port ${platform}`,
      ),
    packaged('packaging/haproxy.cfg')
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace('maxconn 20000', 'maxconn 100'),
  );
}

const SCORE_ON_ITS_OWN =
  'POST /v1/client/score HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nX-Request-Id: cart-8\r\n' +
  'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

function portOf(url: string): number {
  return Number(new URL(url).port);
}

describeWithServer('haproxy', 'haproxy.cfg', () => {
  it('is accepted by haproxy', () => {
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', packagedPath('packaging/haproxy.cfg')]);
    expect(status, stderr.toString()).to.equal(0);
  });
});

describeWithServer('haproxy', 'a caller behind the packaged proxy', () => {
  let proxy: ChildProcess;
  let service: ServiceProcess;
  let url: string;
  let shop: Tenant;

  const startNode = async (dataDir: string, ports: HeaderList) => {
    service = await spawnService(dataDir, { ...ports, ...IMAGE_HOSTS, TRUSTED_PROXIES: '1' });
  };
  const score = () => shop.post<Problem>('score', { clientIdKey: 'payer' });
  const isThere = () =>
    score().then(
      ({ status }) => status === 400,
      () => false,
    );

  before(async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir });
    await startNode(dataDir, {});
    const port = await freePort();
    const ports = { callers: portOf(service.callerUrl), platform: portOf(service.platformUrl) };
    // The second node is one that nobody started.
    const nobody = { callers: await freePort(), platform: await freePort() };
    proxy = own(spawn('haproxy', ['-f', fileOf(settingsFor(port, [ports, nobody]))], { stdio: 'ignore' }));
    url = `http://127.0.0.1:${port}`;
    shop = new Tenant({ callerUrl: url, platformUrl: service.platformUrl }, key);
    await until('the proxy answers', isThere);
  });
  after(async () => {
    await end(proxy);
    await end(service.child);
  });

  it('is never sent to a node that does not run', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => shop.score()));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200, 200]);
  });

  it('keeps its X-Request-Id, and gets one when it has none', async () => {
    const named = await shop.score({}, { 'X-Request-Id': 'cart-7' });
    expect(named.headers.get('X-Request-Id')).to.equal('cart-7');
    const unnamed = await shop.score();
    expect(unnamed.headers.get('X-Request-Id')).to.match(/^[0-9a-f-]{36}$/);
  });

  it('gets a problem for an unknown path', async () => {
    const { status, headers, body } = await call<Problem>('GET', `${url}/livez`, { 'X-Request-Id': 'r-1' });
    expect([status, headers.get('Content-Type')]).to.deep.equal([404, 'application/problem+json']);
    expect(body).to.deep.equal({
      title: 'not found',
      status: 404,
      code: 'not-found',
      retryable: false,
      requestId: 'r-1',
      detail: 'Callers have /v1/client/score, /v1/client/verdict and /openapi.json.',
    });
  });

  it('does not wait for a hanging node until the proxy gives it up', async () => {
    const asked = shop.score().catch(() => ({ status: 0 }));
    service.child.kill('SIGSTOP');
    const standing = await shop.score().catch(() => ({ status: 0 }));
    service.child.kill('SIGCONT');
    await asked;
    expect(standing.status).to.not.equal(504);
    await until('the node is taken back', isThere);
  });

  it('cannot end the problem early by its X-Request-Id', async () => {
    const { body } = await call<Problem>('GET', `${url}/livez`, { 'X-Request-Id': 'a","status":200,"b":"' });
    expect(body.status).to.equal(404);
    expect(body.requestId).to.match(/^[0-9a-f-]{36}$/);
  });

  it('gets 502 with Retry-After and a problem when the node dies over the first request of its connection', async () => {
    service.signal('SIGSTOP');
    const asked = rawExchange(url, SCORE_ON_ITS_OWN);
    await until('the proxy has sent it on', async () => hasUnread(portOf(service.callerUrl)));
    await end(service.child);
    const answer = await asked;
    expect(rawStatus(answer)).to.equal(502);
    expect(answer).to.match(/^retry-after: 1\r$/m);
    expect(answer).to.match(/^content-type: application\/problem\+json\r$/m);
    expect(answer).to.include(
      '{"title":"broken off","status":502,"code":"broken-off","detail":"The connection was dropped',
    );
    expect(answer).to.include('"requestId":"cart-8"}');
  });

  it('gets 503 with Retry-After and a problem while no node runs', async () => {
    const { status, headers, body } = await score();
    expect([status, headers.get('Retry-After')]).to.deep.equal([503, '1']);
    expect(headers.get('Content-Type')).to.equal('application/problem+json');
    expect(body).to.deep.equal({
      title: 'temporarily unavailable',
      status: 503,
      code: 'no-node',
      retryable: true,
      detail: 'No node of the service can be reached; nothing was decided or changed. Try again shortly.',
      requestId: headers.get('X-Request-Id'),
    });
  });
});
