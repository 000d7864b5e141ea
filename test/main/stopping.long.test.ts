import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { rawStatus } from '../checkout/http/raw-exchange.ts';
import { freePort } from '../servers/free-port.ts';
import { usableMsSince, watchStandstills } from '../servers/standstill.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { until } from '../servers/until.ts';
import { call } from '../service/http-call.ts';
import { issueKey } from '../service/issued-key.ts';
import { verdictBody } from '../service/request-bodies.ts';
import { spawnService } from '../service/service-process.ts';
import { Tenant } from '../service/tenant.ts';
import { scoring } from '../workbench/commands/scoring.ts';

/** A service, and a platform that asks it. */
async function started(env: Readonly<Record<string, string>> = {}, dataDir = temporaryDirectory()) {
  const key = await issueKey({ dataDir });
  const service = await spawnService(dataDir, env);
  return { key, service, shop: new Tenant(service, key) };
}

describe('stopping the service', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`on ${signal} answers what is under way, logs the newest entry of the audit, and ends with 0`, async () => {
      const dataDir = temporaryDirectory();
      const { key, service, shop } = await started({}, dataDir);
      const requests = (round: string) =>
        Array.from({ length: 12 }, (_, index) =>
          shop.verdict({ clientIdKey: `payer-${index % 5}`, orderRef: `${round}-${index}` }),
        );
      // Opens the connections, so that the next round starts at once.
      await Promise.all(requests('before'));
      const underWay = requests('under-way');
      await underWay[0];
      service.signal(signal);
      const answers = await Promise.allSettled(underWay);
      expect(await service.exited).to.equal(0);
      const [, known = ''] = /"known":"(\d+:[0-9a-f]{64})"/.exec(service.stderr()) ?? [];
      const verified = await scoring(['audit', 'verify', '--known', known], { DATA_DIR: dataDir });
      expect(verified.exitCode).to.equal(0);
      const answered = answers.filter((answer) => answer.status === 'fulfilled');
      expect(answered.map(({ value }) => value.status)).to.deep.equal(Array.from({ length: 12 }, () => 200));

      const again = await spawnService(dataDir);
      const decisions = await new Tenant(again, key).decisions({ limit: '500' });
      expect(decisions.length).to.equal(24);
      await again.stop();
    });
  }

  it('on a Ctrl-C at npm start, which reaches it twice, ends with 0 and leaves nothing behind', async () => {
    const platformPort = await freePort();
    const npm = spawn('npm', ['start'], {
      cwd: join(import.meta.dirname, '..', '..'),
      detached: true,
      stdio: 'ignore',
      env: {
        ...process.env,
        DATA_DIR: temporaryDirectory(),
        HOST: '127.0.0.1',
        PORT: '0',
        PLATFORM_PORT: String(platformPort),
        DRAIN_GRACE: '0',
      },
    });
    const isReady = () =>
      call('GET', `http://127.0.0.1:${platformPort}/readyz`, {}).then(
        ({ status }) => status === 200,
        () => false,
      );
    const group = -(npm.pid ?? expect.fail('npm did not start'));
    try {
      await until('the service is ready', isReady, 60_000);
      process.kill(group, 'SIGINT');
      const [exitCode] = await once(npm, 'exit');
      expect(exitCode).to.equal(0);
      await until('no process of its group is left', async () => !isAlive(group));
    } finally {
      if (isAlive(group)) process.kill(group, 'SIGKILL');
    }
  });

  it('waits for the rest of a request whose beginning it has', async () => {
    const { key, service } = await started();
    const text = JSON.stringify(verdictBody());
    const socket = connect(Number(new URL(service.callerUrl).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.write(
      `POST /v1/client/verdict HTTP/1.1\r\nHost: localhost\r\nX-KA-Access-Key: ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text.slice(0, 10)}`,
    );
    await delay(200);
    service.signal('SIGTERM');
    await delay(600);
    socket.write(text.slice(10));
    await once(socket, 'close');
    expect(rawStatus(answer)).to.equal(200);
    expect(answer).to.include('"verdict":"GET_NEW"');
    expect(await service.exited).to.equal(0);
  });

  it('keeps serving for DRAIN_GRACE after SIGTERM while it is not ready', async () => {
    const { service, shop } = await started({ DRAIN_GRACE: '5s' });
    const readiness = () => call('GET', `${service.platformUrl}/readyz`, {});
    expect((await readiness()).status).to.equal(200);
    const askedToStopMs = performance.now();
    service.signal('SIGTERM');
    await until('it is not ready', async () => (await readiness()).status === 503);
    const away = { status: 'not ready', why: 'the service is shutting down' };
    expect((await readiness()).body).to.deep.equal(away);
    expect((await shop.verdict()).status).to.equal(200);
    expect(await service.exited).to.equal(0);
    expect(performance.now() - askedToStopMs).to.be.at.least(5000);
  });

  it('skips DRAIN_GRACE for a person at the keyboard', async () => {
    const service = await spawnService(temporaryDirectory(), { DRAIN_GRACE: '1d' });
    service.signal('SIGINT');
    expect(await service.exited).to.equal(0);
  });

  it('ends soon although a caller keeps asking on an open connection', async () => {
    const { service, shop: asking } = await started();
    let stopped = false;
    const keepAsking = async (clientIdKey: string) => {
      while (!stopped) await asking.score({ clientIdKey });
    };
    const callers = ['a', 'b', 'c', 'd'].map((name) => keepAsking(name).catch(() => null));
    await delay(200);
    watchStandstills();
    const askedToStopMs = performance.now();
    expect(await service.stop()).to.equal(0);
    expect(usableMsSince(askedToStopMs)).to.be.below(5000);
    stopped = true;
    await Promise.all(callers);
  });
});

/** Of a process, or of a group of them by its negative number. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
