import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import { forgiveStandstill, TIMEOUT_CHECK_MS } from '../../../src/http/server/listener.ts';

const LIMIT_MS = 1000;

describe('a process that was paused', () => {
  let server: Server;

  beforeEach(async () => {
    server = createServer({
      headersTimeout: LIMIT_MS,
      requestTimeout: LIMIT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    });
    server.on('request', (req, res) => {
      req.resume().once('end', () => res.end('in time'));
    });
    forgiveStandstill(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function connected() {
    const address = server.address();
    const socket = connect(address === null || typeof address === 'string' ? 0 : address.port, '127.0.0.1');
    socket.on('error', () => {
      // Cut off while it still sends.
    });
    await once(server, 'connection');
    return socket;
  }

  it('answers requests that came in time but could not be read', async () => {
    const socket = await connected();
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    standStill(2 * LIMIT_MS);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).to.include('200 OK').and.to.include('in time');
    socket.destroy();
  });

  it('reads the rest of a request that had begun', async () => {
    const socket = await connected();
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{');
    await once(server, 'request');
    standStill(2 * LIMIT_MS);
    socket.write('}');
    const [answer] = await once(socket, 'data');
    expect(String(answer)).to.include('200 OK');
    socket.destroy();
  });

  it('still cuts off a client that sends too slowly afterwards', async () => {
    const socket = await connected();
    standStill(2 * LIMIT_MS);
    socket.write('GET / HT');
    const [answer] = await once(socket, 'data');
    expect(String(answer)).to.include('408');
  });
});

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
