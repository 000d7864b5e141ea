import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { pino } from 'pino';
import {
  cutOffSlowReaders,
  extendTimeoutsAfterPause,
  TIMEOUT_CHECK_MS,
} from '#checkout/http/server/listener.ts';
import { FailedRequestLog } from '#checkout/http/server/request-log.ts';
import { listening } from '../../../servers/listening.ts';
import { until } from '../../../servers/until.ts';

const LIMIT_MS = 1000;

describe('a process that was paused', () => {
  let server: Server;
  let url: string;

  beforeEach(async () => {
    server = createServer({
      headersTimeout: LIMIT_MS,
      requestTimeout: LIMIT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    });
    server.on('request', (req, res) => {
      req.resume().once('end', () => res.end('in time'));
    });
    extendTimeoutsAfterPause(server);
    url = await listening(server);
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function connected() {
    // Cut off while it still sends.
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
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

/** Sent in parts, like the service's documents, of which only a whole part counts as read. */
const PART = Buffer.alloc(64 * 1024);
/** Together more than the system buffers for a connection. */
const PARTS = 512;
const READ_LIMIT_MS = 1000;

describe('clients that do not read their answers', () => {
  let server: Server;
  let port: number;

  beforeEach(async () => {
    // Node itself is not to end what is idle.
    server = createServer({ keepAliveTimeout: 0 }, (req, res) => {
      Readable.from(req.url === '/large' ? Array<Buffer>(PARTS).fill(PART) : ['small']).pipe(res);
    });
    cutOffSlowReaders(server, READ_LIMIT_MS);
    port = Number(new URL(await listening(server)).port);
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  it('are cut off, and idle clients are not', async () => {
    const idle = ask('/small');
    const [idleAtServer]: Socket[] = await once(server, 'connection');
    await once(idle, 'data');
    const reader = ask('/large').pause();
    const [atServer]: Socket[] = await once(server, 'connection');
    await once(atServer ?? reader, 'close');
    expect([atServer?.destroyed, idleAtServer?.destroyed]).to.deep.equal([true, false]);
    for (const socket of [reader, idle]) socket.destroy();
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

  function ask(path: string): Socket {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return socket;
  }
});

describe('log lines about failed requests', () => {
  it('are limited to ten of a kind within ten seconds, and one with the number of the others', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
    const refusals = new FailedRequestLog(log, 50);
    for (let n = 0; n < 1000; n++) refusals.write({ operation: 'verdict', status: 503 });
    refusals.write({ operation: 'verdict', status: 500 });
    refusals.write({ operation: 'score', status: 503 });
    expect(lines.map(({ operation, status }) => `${operation} ${status}`)).to.deep.equal([
      ...Array.from({ length: 10 }, () => 'verdict 503'),
      'verdict 500',
      'score 503',
    ]);
    await until('the window is over', async () => lines.length > 12);
    expect(lines.at(-1)).to.deep.equal({
      level: 40,
      operation: 'verdict',
      status: 503,
      more: 990,
      seconds: 0.05,
      msg: 'more requests failed',
    });
    refusals.write({ operation: 'verdict', status: 503 });
    expect(lines.at(-1)).to.include({ msg: 'request failed' });
  });
});
