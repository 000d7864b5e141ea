import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { openToOthers } from '../servers/open-to-others.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { call } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';

interface Line {
  readonly msg: string;
  readonly requestId?: string;
  readonly [name: string]: unknown;
}

describe('the log of a running service', () => {
  let service: ServiceProcess;
  let shop: Tenant;
  const dataDir = temporaryDirectory();

  const lines = (): readonly Line[] =>
    service
      .stderr()
      .split('\n')
      .slice(0, -1)
      .map((line): Line => JSON.parse(line));
  const line = async (fits: (line: Line) => boolean): Promise<Line> => {
    await until('the line is written', async () => lines().some(fits));
    return lines().find(fits) ?? expect.fail('no line');
  };
  const lineOfScore = async (requestId: string, traceparent: string): Promise<Line> => {
    await shop.score({}, { 'X-Request-Id': requestId, traceparent });
    return line((one) => one.requestId === requestId);
  };

  before(async () => {
    const key = await issueKey({ dataDir });
    service = await spawnService(dataDir);
    shop = new Tenant(service, key);
  });
  after(() => service?.stop());

  it('links a request to the trace of its caller', async () => {
    const [traceId, parentSpanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
    expect(await lineOfScore('traced', `00-${traceId}-${parentSpanId}-01`)).to.include({
      traceId,
      parentSpanId,
    });
  });

  it("says which key was refused, and hides the caller's address", async () => {
    const id = 'ab12'.repeat(3);
    const headers = { 'X-KA-Access-Key': `ka_${id}_${'x'.repeat(43)}` };
    await shop.score({}, { ...headers, 'X-Request-Id': 'refused-key' });
    const { status, triedKeyId, from } = await line((one) => one.requestId === 'refused-key');
    expect({ status, triedKeyId }).to.deep.equal({ status: 401, triedKeyId: id });
    expect(from).to.match(/^[\w-]{22}$/);
    await shop.score({}, { 'X-KA-Access-Key': 'payer@example.org', 'X-Request-Id': 'no-key' });
    expect(JSON.stringify(lines())).not.to.include('payer@example.org').and.not.to.include('127.0.0.1"');
  });

  it('leaves out a malformed trace', async () => {
    for (const [requestId, traceparent] of [
      ['malformed', 'payer@example.org'],
      ['no-trace', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
      ['no-span', `00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`],
      ['no-version', 'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ] as const) {
      const logged = await lineOfScore(requestId, traceparent);
      expect(logged, requestId).not.to.have.any.keys('traceId', 'parentSpanId');
    }
  });

  it('says why a request was answered with 503, in a sentence and without a stack', async () => {
    await shop.verdict({ clientIdKey: 'spoilt' });
    const db = new DatabaseSync(join(dataDir, 'scoring.sqlite'));
    db.exec("UPDATE clients SET state = 'spoilt'");
    db.close();
    const { status } = await shop.verdict({ clientIdKey: 'spoilt' }, { 'X-Request-Id': 'refused' });
    expect(status).to.equal(503);
    const refused = await line(({ requestId }) => requestId === 'refused');
    expect(refused).to.include({ msg: 'request failed', operation: 'verdict', status: 503 });
    expect(refused['why']).to.match(
      /^the stored state of the client cannot be read \(.+\); repair it with "state rebuild", or erase the client$/,
    );
    expect(JSON.stringify(refused)).not.to.include('    at ');
  });

  it('says which version decides, and who rolled it out', async () => {
    const following = { active: 'p2.v10', revision: 1, action: 'start', who: 'service' };
    expect(await line(({ msg }) => msg === 'following the rollout')).to.include(following);
  });

  it('has no lines for probes, until a signal turns them on and off again', async () => {
    const probe = (requestId: string) =>
      Promise.all(
        ['livez', 'readyz', 'metrics'].map((path) =>
          call('GET', `${service.platformUrl}/${path}`, { 'X-Request-Id': `${path}-${requestId}` }),
        ),
      );
    const turned = (level: string) => line(({ logLevel }) => logLevel === level);
    await probe('before');
    service.signal('SIGUSR2');
    await turned('debug');
    await probe('between');
    service.signal('SIGUSR2');
    await turned('info');
    await probe('after');
    await shop.score({}, { 'X-Request-Id': 'last' });
    await line(({ requestId }) => requestId === 'last');
    const probes = lines().filter(({ msg }) => msg === 'probe');
    const between = ['livez-between', 'metrics-between', 'readyz-between'];
    expect(probes.map(({ requestId }) => requestId).toSorted()).to.deep.equal(between);
    expect(lines().filter(({ operation }) => operation === 'livez').length).to.equal(1);
  });
});

describe('the output of the service', () => {
  it('contains no raw key, fingerprint, IP or User-Agent', async () => {
    const dataDir = temporaryDirectory();
    const key = await issueKey({ dataDir });
    const service = await spawnService(dataDir, { LOG_LEVEL: 'trace' });
    const shop = new Tenant(service, key);
    const secrets = {
      key: key.slice(16),
      unknownKey: 'q'.repeat(43),
      fingerprint: 'finger-print-5519',
      ip: '203.0.113.199',
      userAgent: 'SecretBrowser/55.19 HeadlessChrome',
    };
    const { fingerprint, ip, userAgent } = secrets;
    const clientIdKey = 'logged';
    await shop.score({ clientIdKey, fingerprint, ip, userAgent }, { 'User-Agent': userAgent });
    await shop.verdict({ clientIdKey, fingerprint, ip, userAgent }, { 'X-Forwarded-For': ip });
    await shop.verdict({ clientIdKey }, { 'Idempotency-Key': 'logged' });
    await new Tenant(service, `ka_0123456789ab_${secrets.unknownKey}`).score({ clientIdKey, ip });
    await shop.post('score', JSON.stringify({ fingerprint, ip, userAgent }).slice(0, -1));
    await shop.score({ clientIdKey, fingerprint: `${fingerprint}\ud800` });
    await shop.post('score', { fingerprint: [fingerprint], ip: { ip }, userAgent: 7 });
    const seen = {
      metrics: JSON.stringify(await call('GET', `${service.platformUrl}/metrics`, {})),
      decisions: JSON.stringify(await shop.decisions()),
      client: JSON.stringify((await shop.client(clientIdKey)).body),
    };
    expect(openToOthers(dataDir)).to.deep.equal([]);
    expect(await service.stop()).to.equal(0);
    expect(service.stderr()).to.include('"operation":"score"');
    expect(seen.decisions).to.include(clientIdKey);
    const told = { ...seen, stdout: service.stdout(), stderr: service.stderr() };
    for (const [where, text] of Object.entries(told)) {
      for (const [what, secret] of Object.entries(secrets)) {
        expect(text.includes(secret), `${what} in ${where}`).to.equal(false);
      }
    }
    for (const line of service.stderr().trimEnd().split('\n')) {
      const entry: { service?: string } = JSON.parse(line);
      expect(entry.service).to.equal('client-scoring');
    }
  });
});
