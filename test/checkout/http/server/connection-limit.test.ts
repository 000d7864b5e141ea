import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { CONNECTIONS_PER_ADDRESS_MAX } from '#application.ts';
import type { RequestState } from '#checkout/http/request/request-state.ts';
import { limitConnectionsPerAddress } from '#checkout/http/server/listener.ts';
import { compressAnswers } from '#workbench/platform/compress-answers.ts';
import { listening, serving } from '../../../servers/listening.ts';
import { until } from '../../../servers/until.ts';
import { serviceOfSuite, startService } from '../../../service/running-service.ts';

const PER_ADDRESS_MAX = 3;

describe('connections of one address', () => {
  let server: Server;
  let port: number;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    server = createServer((_req, res) => res.end('here'));
    limitConnectionsPerAddress(server, PER_ADDRESS_MAX);
    port = Number(new URL(await listening(server)).port);
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const open = (localAddress = '127.0.0.1') => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    // A refused connection may be reset.
    sockets.push(socket.on('error', () => {}));
    return socket;
  };

  /** Whether a request over the connection is answered; otherwise the connection was closed. */
  const isAnswered = async (socket: Socket) => {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const data = once(socket, 'data').then(() => true);
    const closed = once(socket, 'close').then(() => false);
    return Promise.race([data, closed]).catch(() => false);
  };

  it('are accepted up to the limit, closed above it, and do not count against another address', async () => {
    for (let n = 0; n < PER_ADDRESS_MAX; n++) expect(await isAnswered(open())).to.equal(true);
    expect(await isAnswered(open())).to.equal(false);
    expect(await isAnswered(open('127.0.0.2'))).to.equal(true);
    sockets[0]?.destroy();
    await until('a connection is taken', () => isAnswered(open()));
  });

  it('are limited by the service on both listeners', async () => {
    const service = await startService();
    for (const url of [service.application.callerUrl, service.application.platformUrl]) {
      port = Number(new URL(url).port);
      for (let n = 1; n < CONNECTIONS_PER_ADDRESS_MAX; n++) await once(open(), 'connect');
      expect(await isAnswered(open())).to.equal(true);
      expect(await isAnswered(open())).to.equal(false);
      // A reset leaves no port waiting, of which thousands would make the next connections slow.
      for (const socket of sockets.splice(0)) socket.resetAndDestroy();
    }
    await service.stop();
  });
});

const asked = async (url: string, encoding: string, key = '') => {
  const answer = await fetch(url, { headers: { 'X-KA-Access-Key': key, 'Accept-Encoding': encoding } });
  const { headers } = answer;
  return {
    encoding: headers.get('Content-Encoding'),
    vary: headers.get('Vary'),
    length: Number(headers.get('Content-Length')),
    text: await answer.text(),
  };
};

describe('long answers', () => {
  const { shop } = serviceOfSuite();
  before(async () => {
    for (let ask = 0; ask < 20; ask++) await shop.verdict({ clientIdKey: 'ann', orderRef: `order-${ask}` });
  });

  it('of the platform are compressed for clients that accept gzip, with the same content', async () => {
    const decisions = (encoding: string) =>
      asked(`${shop.platformUrl}/v1/platform/decisions?limit=20`, encoding, shop.key);
    const plain = await decisions('identity');
    const compressed = await decisions('gzip, br');
    expect([plain.encoding, plain.vary]).to.deep.equal([null, 'Accept-Encoding']);
    expect([compressed.encoding, compressed.vary]).to.deep.equal(['gzip', 'Accept-Encoding']);
    expect(compressed.length).to.be.below(plain.length / 4);
    expect(compressed.text).to.equal(plain.text);
  });

  it('are sent uncompressed where they have an ETag, and so are short ones', async () => {
    const app = new Koa<RequestState>();
    app.use(compressAnswers());
    app.use((ctx) => {
      ctx.body = 'long '.repeat(ctx.path === '/short' ? 10 : 10_000);
      if (ctx.path === '/named') ctx.set('ETag', '"1"');
    });
    const { url, stop } = await serving(app.callback());
    try {
      const encodings = ['short', 'named', 'long'].map(
        async (path) => (await asked(`${url}/${path}`, 'gzip')).encoding,
      );
      expect(await Promise.all(encodings)).to.deep.equal([null, null, 'gzip']);
    } finally {
      stop();
    }
  });
});
