import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { Type } from '#base/json-schema.ts';
import { createLog } from '#base/log.ts';
import { AccessKeys } from '#checkout/access/access-keys.ts';
import {
  addOperationRoutes,
  createExactPathRouter,
  createSearchQueue,
  createTaggedOperations,
  declareJsonBody,
  mountRoutes,
} from '#checkout/http/operation/operation.ts';
import { createErrorMiddleware } from '#checkout/http/request/refusals.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { cutOffLateBodiesAfterAnswer } from '#checkout/http/server/listener.ts';
import { PLATFORM_LISTENER_LIMITS } from '#workbench/platform/listener-shares.ts';
import { declareKeylessOperation } from '#workbench/platform/open-operation.ts';
import { listening, serving } from '../../../servers/listening.ts';
import { until } from '../../../servers/until.ts';
import { call } from '../../../service/http-call.ts';
import { type RunningService, startService } from '../../../service/running-service.ts';
import { temporarySqlite } from '../../../stores/temporary-store.ts';
import { rawExchange, rawStatus } from '../raw-exchange.ts';

/** More than may be under way at once. */
const SLOW_CALLERS = 400;

describe('callers who send their bodies slowly', () => {
  let service: RunningService;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    service = await startService();
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await service.stop();
  });

  const beginSlowly = async (count: number, url: string, head: string) => {
    const { hostname, port } = new URL(url);
    for (let n = 0; n < count; n++) {
      const socket = connect(Number(port), hostname);
      // Cut off at the end of the test.
      sockets.push(socket.on('error', () => {}));
      await once(socket, 'connect');
      socket.write(`POST ${head}\r\nHost: x\r\nContent-Length: 100\r\n\r\n{`);
    }
  };

  it('do not keep others out', async () => {
    const tenant = await service.tenant();
    const head = `/v1/client/verdict HTTP/1.1\r\nX-KA-Access-Key: ${tenant.key}\r\nContent-Type: application/json`;
    await beginSlowly(SLOW_CALLERS, tenant.callerUrl, head);
    const answer = await tenant.verdict();
    expect(answer.status).to.equal(200);
  });

  it('take no more than their share of the platform listener, and leave its health checks alone', async () => {
    const [slow, other] = [await service.tenant('slow'), await service.tenant('other')];
    for (const { key } of [slow, await service.tenant('slow')]) {
      const head = `/v1/platform/outcomes HTTP/1.1\r\nX-KA-Access-Key: ${key}\r\nContent-Type: application/x-ndjson`;
      await beginSlowly(PLATFORM_LISTENER_LIMITS.ownerMax / 2, slow.platformUrl, head);
    }
    await until('it has its share', async () => (await slow.ask('GET', 'session')).status === 429);
    expect((await slow.ask('GET', 'session')).body.detail).to.match(/^Too many requests of this platform /);
    expect((await other.ask('GET', 'session')).status).to.equal(200);
    expect((await call('GET', `${slow.platformUrl}/readyz`, {})).status).to.equal(200);
  });
});

describe('a request that is answered before its body came', () => {
  it('keeps its connection open for the rest of it, but not for as long as a request may take', async () => {
    const { server, url, stop } = await serving((_req, res) => void res.writeHead(401).end('no'));
    cutOffLateBodiesAfterAnswer(server, 50);
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n';
    // It would be open for 300 s otherwise.
    expect(rawStatus(await rawExchange(url, `${head}{`))).to.equal(401);
    const answers = await rawExchange(url, `${head}{}`, `${head}{`);
    expect(answers.match(/HTTP\/1\.1 401 /g)).to.have.length(2);
    stop();
  });

  it('is closed within seconds on the listener on which a body may take minutes', async function () {
    this.timeout(60_000);
    const service = await startService();
    const refused = await rawExchange(
      service.application.platformUrl,
      'POST /v1/platform/outcomes HTTP/1.1\r\nHost: x\r\nX-KA-Access-Key: nonsense\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    expect(rawStatus(refused)).to.equal(401);
    await service.stop();
  });
});

describe('the body of an operation that needs no key', () => {
  const open = declareKeylessOperation({
    route: 'post /open',
    label: 'open',
    summary: '',
    description: '',
    answers: {},
    refusals: [],
    body: declareJsonBody('Open', Type.Object({}), {}),
    answer: (_ctx, _parts, body) => body(),
  });
  const { store, remove } = temporarySqlite();
  after(remove);

  it('is refused when it does not come in time', async () => {
    const router = createExactPathRouter('');
    addOperationRoutes(router, createTaggedOperations('', { open }), null, {
      keys: new AccessKeys(store.documents, Date.now),
      browsers: null,
      isStrict: false,
      whileReading: (_ctx, read) => read(),
      assignPlatform: () => {},
      openBodyMs: 20,
      searches: createSearchQueue(),
    });
    const app = new Koa<RequestState>();
    app.use(createErrorMiddleware(createLog('silent')));
    mountRoutes(app, router);
    const { url, stop } = await serving(app.callback());
    const answer = await rawExchange(
      url,
      'POST /open HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    stop();
    expect(rawStatus(answer)).to.equal(408);
    expect(answer).to.include('The request did not arrive in time; send it again without pauses.');
  });
});

describe('a connection whose bodies come after the answers', () => {
  it('keeps no listener of the requests that it had', async () => {
    const server = createServer((_req, res) => res.end('refused'));
    cutOffLateBodiesAfterAnswer(server, 60_000);
    const accepted = once(server, 'connection');
    const url = await listening(server);
    const caller = connect(Number(new URL(url).port), '127.0.0.1');
    const [socket]: [Socket] = await accepted.then(([one]) => [one]);
    const asks = async () => {
      caller.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n');
      await once(caller, 'data');
      caller.write('x');
    };
    await asks();
    const before = socket.listenerCount('close');
    for (let n = 0; n < 5; n++) await asks();
    // That of the newest request may still be there.
    expect(socket.listenerCount('close')).to.be.at.most(before + 1);
    caller.destroy();
    server.close();
  });
});
