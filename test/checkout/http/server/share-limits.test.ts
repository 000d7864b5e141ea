import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { createLog } from '#base/log.ts';
import { createErrorMiddleware } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { ListenerShares } from '#workbench/platform/listener-shares.ts';
import { listening } from '../../../servers/listening.ts';
import { until } from '../../../servers/until.ts';
import { call, type Problem } from '../../../service/http-call.ts';
import { serviceOfSuite } from '../../../service/running-service.ts';

describe('the shares of a listener', () => {
  let server: Server;
  let url: string;
  /** Requests that were let in and wait for `answerAll`. */
  let waiting: (() => void)[] = [];
  const sockets: Socket[] = [];

  beforeEach(async () => {
    waiting = [];
    const app = new Koa<RequestState>();
    app.use(createErrorMiddleware(createLog('silent')));
    const limits = { listenerMax: 4, ownerMax: 3, addressMax: 3, keyMax: 2 };
    const shares = new ListenerShares(limits, ['/livez', '/metrics'], 1);
    app.use(shares.limit);
    app.use(async (ctx) => {
      shares.own(ctx, ctx.get('X-Platform') || null);
      if (ctx.path === '/livez') {
        ctx.body = 'live';
        return;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
      ctx.body = 'answered';
    });
    server = createServer(app.callback());
    url = await listening(server);
  });

  afterEach(async () => {
    answerAll();
    for (const socket of sockets.splice(0)) socket.destroy();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const answerAll = () => {
    for (const answer of waiting.splice(0)) answer();
  };
  const letIn = (count: number) => until(`${count} are under way`, async () => waiting.length === count);
  const ask = (key: string, headers: Readonly<Record<string, string>> = {}, path = '/v1/any') =>
    call<Problem>('GET', `${url}${path}`, { 'X-KA-Access-Key': key, 'X-Platform': 'shop', ...headers });
  const from = (address: string) => ({ 'X-Forwarded-For': `10.0.0.9, ${address}` });

  /** Several requests at once over one connection, whose answers nobody reads. */
  const pipeline = (count: number, localAddress: string, key: string): Socket => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
    // Cut off at the end of the test.
    sockets.push(socket.on('error', () => {}).pause());
    socket.write(
      `GET /v1/any HTTP/1.1\r\nHost: x\r\nX-KA-Access-Key: ${key}\r\nX-Platform: ${key}\r\n\r\n`.repeat(
        count,
      ),
    );
    return socket;
  };

  it('limit the requests under way of a key, and refuse the next with 429', async () => {
    const first = [ask('a'), ask('a')];
    await letIn(2);
    const refused = await ask('a');
    expect([refused.status, refused.headers.get('Retry-After')]).to.deep.equal([429, '1']);
    const detail =
      'Too many requests of this access key are under way; wait for their answers. Nothing was changed.';
    expect(refused.body).to.deep.include({ title: 'too many requests', detail });
    const other = ask('b');
    await letIn(3);
    answerAll();
    for (const answer of await Promise.all([...first, other])) expect(answer.status).to.equal(200);
  });

  it('limit the requests of an address, whatever its keys', async () => {
    const first = [ask('a'), ask('b'), ask('c')];
    await letIn(3);
    const refused = await ask('d');
    expect(refused.status).to.equal(429);
    expect(refused.body.detail).to.match(/^Too many requests of this address are under way/);
    answerAll();
    await Promise.all(first);
  });

  it('limit the requests of a platform, whatever its keys and addresses', async () => {
    const first = ['a', 'b', 'c'].map((key) => ask(key, from(`10.0.1.${key.charCodeAt(0)}`)));
    await letIn(3);
    const refused = await ask('d', from('10.0.2.1'));
    expect(refused.status).to.equal(429);
    expect(refused.body.detail).to.match(/^Too many requests of this platform are under way/);
    const other = ask('e', { ...from('10.0.3.1'), 'X-Platform': 'bank' });
    await letIn(4);
    answerAll();
    await Promise.all([...first, other]);
  });

  it('count all requests that need no key together, whatever key they send and wherever they come from', async () => {
    const open = (key: string) => ask(key, { ...from(`10.0.1.${key.length}`), 'X-Platform': '' });
    const visitors = [open('a'), ask('', from('10.0.4.1'), '/console/page.js'), open('ccc')];
    await letIn(3);
    expect((await open('dddd')).status).to.equal(503);
    const known = ask('known', from('10.0.1.9'));
    await letIn(4);
    answerAll();
    await Promise.all([...visitors, known]);
  });

  it('refuse with 503 what is too many for the listener, whoever asks, but for health checks', async () => {
    pipeline(2, '127.0.0.2', 'a');
    pipeline(2, '127.0.0.3', 'b');
    await letIn(4);
    const refused = await ask('c');
    expect([refused.status, refused.headers.get('Retry-After')]).to.deep.equal([503, '1']);
    expect((await ask('', {}, '/livez')).status).to.equal(200);
    const scraped = ask('', {}, '/metrics');
    await letIn(5);
    answerAll();
    expect((await scraped).status).to.equal(200);
  });

  it('count pipelined requests of a connection, and are free again when it closes', async () => {
    const socket = pipeline(10, '127.0.0.1', 'a');
    await letIn(2);
    expect((await ask('a')).status).to.equal(429);
    socket.destroy();
    await until('the share is free', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const before = waiting.length;
      const asked = ask('a').then(({ status }) => {
        resolve();
        return status;
      });
      await Promise.race([promise, until('it is let in', async () => waiting.length > before)]);
      const isIn = waiting.length > before;
      answerAll();
      return (await asked) === 200 && isIn;
    });
  });
});

describe('many requests for metrics without a key', () => {
  const { service } = serviceOfSuite();

  it('take little memory, however many requests one connection pipelines', async () => {
    const { hostname, port } = new URL(service.application.platformUrl);
    const before = process.memoryUsage().rss;
    const socket = connect(Number(port), hostname);
    // Cut off at the end of the test.
    socket.on('error', () => {}).pause();
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20_000));
    await until('somebody else is answered', async () => {
      const { status } = await call('GET', `${service.application.platformUrl}/livez`, {});
      return status === 200;
    });
    const grownMb = (process.memoryUsage().rss - before) / 1024 ** 2;
    socket.destroy();
    expect(grownMb).to.be.below(200);
  });
});
