import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { cutOffSlowReaders } from '../../../src/http/server/listener.ts';
import { until } from '../../servers/until.ts';

/** Sent in parts, like the service's documents, of which only a whole part counts as read. */
const PART = Buffer.alloc(64 * 1024);
/** Together more than the system buffers for a connection. */
const PARTS = 512;
const LIMIT_MS = 1000;

describe('clients that do not read their answers', () => {
  let server: Server;
  let port: number;

  beforeEach(async () => {
    server = createServer((req, res) => {
      Readable.from(req.url === '/large' ? Array<Buffer>(PARTS).fill(PART) : ['small']).pipe(res);
    });
    cutOffSlowReaders(server, LIMIT_MS);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    port = address === null || typeof address === 'string' ? 0 : address.port;
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  it('are cut off', async () => {
    const reader = ask('/large');
    const [atServer]: Socket[] = await once(server, 'connection');
    reader.pause();
    await once(atServer ?? reader, 'close');
    expect(atServer?.destroyed).to.equal(true);
    reader.destroy();
  });

  it('do not include those that read large answers', async () => {
    const reader = ask('/large');
    let taken = 0;
    reader.on('data', (chunk: Buffer) => {
      taken += chunk.length;
    });
    await until('all is taken', async () => taken >= PARTS * PART.length);
    expect(reader.readyState).to.equal('open');
    reader.destroy();
  });

  it('do not include idle ones', async () => {
    const reader = ask('/small');
    let ended = false;
    reader.on('close', () => {
      ended = true;
    });
    await once(reader, 'data');
    await new Promise((resolve) => setTimeout(resolve, 3 * LIMIT_MS));
    expect(ended).to.equal(false);
    reader.destroy();
  });

  function ask(path: string): Socket {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return socket;
  }
});
